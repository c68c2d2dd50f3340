"""A session's file: opened whatever is in it, read without a trace, and made with its first entries."""

from __future__ import annotations

import errno
import gc
import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from sapwood.events.codec import decode_entry, encode_entry
from sapwood.events.entries import Header, Unknown
from sapwood.events.errors import (
    CannotOpen,
    InvalidSessionId,
    NewerVersion,
    NotASession,
    StoreClosed,
    StoreConflict,
)
from sapwood.events.ids import SessionId
from sapwood.store.repair import BOM
from sapwood.store.testing import odd_line
from tests.build import HEADER, TIME, user
from tests.build import message_entry as message
from tests.store.faults import ERRNOS, FaultyDisk
from tests.store.stores import (
    HEAD,
    Watched,
    file_of,
    folder_of,
    header_of,
    line,
    lines_of,
    old_file,
    opened,
    reread,
    shape_of,
)

A, B, C, D = line("a"), line("b", "a"), line("c", "b"), line("d", "c")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    for descriptor in disk.open_descriptors:
        os.close(descriptor)


NO_SESSIONS: Final = {
    "blank": b" \n\t\r\n ",
    "an image": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "an array": b'[{"type":"session"}]\n',
    "no header": A + b"\n" + B + b"\n",
    "a number as the header's id": b'{"type":"session","version":3,"id":7,"timestamp":"","cwd":""}\n' + A + b"\n",
    "half a header": HEAD[:50],
    "nothing but NULs": b"\0" * 4096,
    "a mark alone": BOM,
}


@pytest.mark.parametrize("content", NO_SESSIONS.values(), ids=NO_SESSIONS)
def test_what_has_no_header_is_refused_and_left_as_it_is(path: Path, disk: FaultyDisk, content: bytes) -> None:
    path.write_bytes(content)
    watched = Watched(path)

    with pytest.raises(NotASession) as caught:
        opened(path, disk)

    assert caught.value.path == str(path)
    assert disk.open_descriptors == set()
    watched.assert_untouched()


@pytest.mark.parametrize("number", ERRNOS)
@pytest.mark.parametrize("name", ["open_read", "status", "read"])
def test_a_file_that_the_disk_does_not_give_cannot_be_opened(
    path: Path, disk: FaultyDisk, name: str, number: int
) -> None:
    path.write_bytes(file_of(A))
    watched = Watched(path)

    with disk.failing(number, names=(name,)), pytest.raises(CannotOpen) as caught:
        opened(path, disk)

    assert (caught.value.path, caught.value.errno) == (str(path), number)
    assert disk.open_descriptors == set()
    watched.assert_untouched()


def test_a_folder_and_a_pipe_are_no_sessions_and_hold_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, number in (("", errno.EISDIR), ("pipe", errno.EINVAL)):
        with pytest.raises(CannotOpen) as caught:
            opened(tmp_path / name)
        assert caught.value.errno == number


@pytest.mark.parametrize("odd", ["a\0b", "\ud800"])
def test_a_path_that_can_be_none_cannot_be_opened(odd: str) -> None:
    with pytest.raises(CannotOpen) as caught:
        opened(odd)

    assert caught.value.errno == errno.EINVAL


def test_a_path_through_a_file_cannot_be_opened(path: Path) -> None:
    path.write_bytes(b"")
    with pytest.raises(CannotOpen) as caught:
        opened(path / "below")

    assert caught.value.errno == errno.ENOTDIR


def test_a_header_that_cannot_be_made_leaves_nothing_open(path: Path, disk: FaultyDisk) -> None:
    """The empty file's descriptor used to stay open."""

    def refuse() -> Header:
        raise InvalidSessionId("?")

    path.write_bytes(b"")
    with pytest.raises(InvalidSessionId):
        opened(path, disk, new=refuse)

    assert disk.open_descriptors == set()


def test_a_new_session_is_nowhere_until_its_first_append(tmp_path: Path) -> None:
    store = opened(tmp_path / "deep" / "er" / "s.jsonl")
    assert (store.header, len(store.tree), [*store.damage], store.read_only) == (HEADER, 0, [], False)
    assert list(tmp_path.iterdir()) == []
    store.append([])
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_its_header_and_first_entries_are_one_write(path: Path, disk: FaultyDisk) -> None:
    opened(path, disk).append([A, B])

    assert path.read_bytes() == file_of(A, B)
    assert disk.calls.count("write") == 2, "one for the session, and one for the record of who writes it"


@pytest.mark.parametrize("mask", [0, 0o077, 0o277])
def test_it_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    path = tmp_path / "a" / "b" / "s.jsonl"
    before = os.umask(mask)
    try:
        opened(path).append([A])
    finally:
        os.umask(before)

    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path.parent.parent, path.parent, path)]
    assert modes == [0o700, 0o700, 0o600]


def test_an_empty_file_becomes_a_new_session(path: Path) -> None:
    path.write_bytes(b"")
    watched = Watched(path)
    store = opened(path)
    assert (store.header, len(store.tree)) == (HEADER, 0)
    store.close()
    watched.assert_untouched()

    store = opened(path)
    store.append([A])
    store.append([B])
    assert path.read_bytes() == file_of(A, B)
    assert lines_of(store) == [A, B]


@pytest.mark.parametrize("there", [None, b""])
def test_a_session_that_somebody_else_began_meanwhile_is_left_to_them(path: Path, there: bytes | None) -> None:
    if there is not None:
        path.write_bytes(there)
    store = opened(path)
    path.write_bytes(file_of(C))

    for _ in range(2):
        with pytest.raises(StoreConflict) as caught:
            store.append([A])
        assert caught.value.what == "begun"
        with pytest.raises(StoreConflict) as caught:  # there is nothing of ours to put back
            store.restore()
        assert caught.value.what == "begun"

    assert path.read_bytes() == file_of(C)
    assert len(store.tree) == 0
    assert lines_of(reread(path)) == [C]


def test_a_file_of_a_new_session_that_was_deleted_is_not_made_again_without_its_past(path: Path) -> None:
    store = opened(path)
    store.append([A])
    path.unlink()

    with pytest.raises(StoreConflict) as caught:
        store.append([B])

    assert caught.value.what == "deleted"
    assert not path.exists()
    assert lines_of(store) == [A]  # the descriptor still has it


def test_opening_reading_and_closing_change_neither_bytes_nor_time(path: Path) -> None:
    for content in (file_of(A, B), file_of(A)[:-1], file_of(A, b"rubbish", b"\0\0"), b""):
        path.write_bytes(content)
        watched = Watched(path)
        store = opened(path)
        lines_of(store)
        store.close()
        store.close()
        watched.assert_untouched()


def test_collecting_garbage_is_as_it_was_after_an_opening(path: Path) -> None:
    path.write_bytes(file_of(A))
    reread(path)
    assert gc.isenabled()
    gc.disable()
    try:
        reread(path)
        assert not gc.isenabled()
    finally:
        gc.enable()


UNKNOWN: Final = [
    odd_line("b", "a"),
    b'{"id":"c","type":"message","message":{"role":"user","content":"hi","timestamp":1.50,"new":{}},"parentId":"b"}',
    b'{"type":"label","id":"d","parentId":"c","timestamp":"t","targetId":"a","label":null,"extra":[1e2]} ',
]


def test_unknown_kinds_and_fields_stay_byte_for_byte(path: Path) -> None:
    path.write_bytes(file_of(A, *UNKNOWN))
    store = opened(path)
    store.append([line("e", "d")])

    assert lines_of(store) == [A, *UNKNOWN, line("e", "d")]
    assert lines_of(reread(path)) == lines_of(store)
    assert isinstance(decode_entry(store.line(1)), Unknown)


def test_two_equal_entries_are_two_and_two_equal_ids_are_one(path: Path) -> None:
    path.write_bytes(file_of(A, line("x"), line("x", note="second"), B))
    store = opened(path)

    assert lines_of(store) == [A, line("x"), B]
    assert ("duplicate_id", "x") in [(one.kind, one.entry_id) for one in store.damage]


def test_an_entry_that_another_program_writes_a_second_time_is_told_as_that(path: Path) -> None:
    path.write_bytes(file_of(A, B))
    store = reread(path)
    with path.open("ab") as file:
        file.write(A + b"\n" + line("b", "a", note="another") + b"\n")
    store.refresh()

    assert [(one.kind, one.entry_id) for one in store.damage] == [("repeated_entry", "a"), ("duplicate_id", "b")]


ODD_FILES: Final[dict[str, tuple[bytes, Sequence[bytes], Sequence[str]]]] = {
    "blank lines before the header": (b"\n \r\n\n" + file_of(A, B), [A, B], ["blank_line"]),
    "rubbish before the header": (b"\x89PNG\r\n\x1a\n" + file_of(A, B), [A, B], ["garbage"] * 2),
    "an entry before the header": (A + b"\n" + file_of(B), [A, B], []),
    "CRLF": (file_of(A, B).replace(b"\n", b"\r\n"), [A, B], []),
    "a byte order mark": (BOM + file_of(A, B), [A, B], ["bom"]),
    "a second header": (file_of(A, header_of(3), B), [A, B], ["second_header"]),
    "a line that cannot be read": (file_of(A, b'{"type":"cus', B), [A, B], ["cut_line"]),
    "scalars": (file_of(b"5", A, b"null", b'"x"', b"[1]", B), [A, B], ["not_an_object"] * 4),
    "a number as id, and no id": (file_of(A, b'{"type":"x","id":5}', b'{"type":"x"}', B), [A, B], ["bad_envelope"] * 2),
    "NULs": (file_of(b"\0" * 99, A, B, b"\0"), [A, B], ["nul_run"] * 2),
    "U+2028 in a text": (
        file_of(A, '{"type":"x","id":"b","t":"\u2028"}'.encode()),
        [A, '{"type":"x","id":"b","t":"\u2028"}'.encode()],
        [],
    ),
    "a lone surrogate": (
        file_of(A, b'{"type":"x","id":"b","t":"\\ud800"}'),
        [A, b'{"type":"x","id":"b","t":"\\ud800"}'],
        [],
    ),
    "an abyss": (file_of(A, b'{"type":"x","id":"z","t":' + b"[" * 50_000, B), [A, B], ["cut_line"]),
    "a very long line": (
        file_of(A, line("b", "a", text="x" * 5_000_000)),
        [A, line("b", "a", text="x" * 5_000_000)],
        [],
    ),
    "spaces behind a line": (file_of(A + b"  ", B + b"\t"), [A + b"  ", B + b"\t"], []),
    "nothing but a header": (HEAD, [], []),
    "a header without its line feed": (HEAD.strip(), [], []),
    "a torn tail": (file_of(A) + B[:-9], [A], ["torn_tail"]),
    "a tail without its line feed": (file_of(A) + B, [A, B], []),
    "NULs as tail": (file_of(A) + b"\0" * 4096, [A], ["nul_run"]),
    "a carriage return as tail": (file_of(A) + B + b"\r", [A, B], []),
}


@pytest.mark.parametrize(("content", "lines", "damage"), ODD_FILES.values(), ids=ODD_FILES)
def test_an_odd_file_opens_and_is_appended_to_on_a_fresh_line(
    path: Path, content: bytes, lines: Sequence[bytes], damage: Sequence[str]
) -> None:
    path.write_bytes(content)
    store = opened(path)
    assert lines_of(store) == list(lines)
    assert [one.kind for one in store.damage if one.length] == list(damage)

    store.append([line("y", "a"), line("z", "y")])
    now = path.read_bytes()
    assert now.startswith(content)
    assert now[len(content) :].strip(b"\n") == line("y", "a") + b"\n" + line("z", "y")
    again = reread(path)
    assert lines_of(store) == lines_of(again) == [*lines, line("y", "a"), line("z", "y")]
    assert shape_of(store) == shape_of(again)
    kept = [one if one != "torn_tail" else "cut_line" for one in damage]
    assert [one.kind for one in again.damage if one.length] == kept


def test_a_later_version_is_for_reading_only(path: Path) -> None:
    path.write_bytes(file_of(A, B, head=header_of(4) + b"\n"))
    watched = Watched(path)
    store = opened(path)

    assert (store.read_only, store.header.version, lines_of(store)) == (True, 4, [A, B])
    for batch in ([C], [], [b"rubbish"]):
        with pytest.raises(NewerVersion) as caught:
            store.append(batch)
        assert (caught.value.path, caught.value.version, caught.value.known) == (str(path), 4, 3)
    assert len(store.tree) == 2
    watched.assert_untouched()


def test_a_session_whose_header_lost_its_version_goes_on_beside_it_with_its_own_tree(path: Path) -> None:
    path.write_bytes(file_of(A, line("b", "a"), line("c", "a"), head=header_of(None) + b"\n"))
    watched = Watched(path)
    store = opened(path)
    store.append([line("d", "c")])
    watched.assert_untouched()
    again = reread(Path(store.where))

    assert store.where == str(path.with_name("s.v3.jsonl"))
    assert (again.header.version, again.damage) == (3, ())
    assert [(one[0], one[2]) for one in shape_of(again)][:4] == [("a", None), ("b", 0), ("c", 0), ("d", 2)]
    assert shape_of(store) == shape_of(again)


def test_a_bridge_over_a_lost_line_is_kept_in_the_session_beside(path: Path) -> None:
    """The lost line, which alone showed the bridge, is not copied: what was above it used to be gone once the copy was opened again."""
    lost = line("b", "a").replace(b'"type"', b'"\x01type"')
    path.write_bytes(file_of(A, lost, line("c", "b"), line("d", "a"), head=header_of(None) + b"\n"))
    store = opened(path)
    assert store.tree.path(1) == [0, 1]
    store.append([line("e", "c")])
    again = reread(Path(store.where))

    assert again.damage == ()
    assert shape_of(again) == shape_of(store)
    assert again.tree.path(3) == [0, 1, 3]


def test_a_bridge_changes_nothing_of_a_line_but_its_parent(path: Path) -> None:
    """A compaction used to keep the entry on another line, as if the file were of version 1."""
    lost = line("b", "a").replace(b'"type"', b'"\x01type"')
    kept = line("c", "b", "compaction", firstKeptEntryId="a", firstKeptEntryIndex=2)
    path.write_bytes(file_of(A, lost, kept, head=header_of(None) + b"\n"))
    store = opened(path)
    store.append([line("e", "c")])

    assert json.loads(store.line(1)) == {**json.loads(kept), "parentId": "a"}


def test_a_later_version_is_not_put_back_over_what_stands_at_its_path(path: Path) -> None:
    path.write_bytes(file_of(A, head=header_of(4) + b"\n"))
    store = opened(path)
    path.rename(path.with_name("moved.jsonl"))
    path.write_bytes(b"a stranger's\n")
    before = folder_of(path)

    with pytest.raises(NewerVersion):
        store.restore()
    store.close()
    assert folder_of(path) == before


@pytest.mark.parametrize("number", ERRNOS)
def test_a_line_that_the_disk_does_not_give_is_asked_for_again(path: Path, disk: FaultyDisk, number: int) -> None:
    path.write_bytes(file_of(A, B))
    store = opened(path, disk)

    with disk.failing(number), pytest.raises(CannotOpen) as caught:
        store.line(1)

    assert caught.value.errno == number
    assert store.line(1) == B


def test_a_line_that_somebody_has_cut_off_is_not_given_in_part(path: Path) -> None:
    path.write_bytes(file_of(A, B))
    store = opened(path)
    os.truncate(path, len(file_of(A, B)) - 5)

    with pytest.raises(CannotOpen) as caught:
        store.line(1)

    assert caught.value.errno == errno.ESTALE
    assert store.line(0) == A


def test_there_are_only_the_lines_that_the_tree_has(path: Path) -> None:
    store = opened(path)
    with pytest.raises(IndexError):
        store.line(0)
    store.append([A])
    with pytest.raises(IndexError):
        store.line(1)


def test_a_closed_store_says_so(path: Path) -> None:
    path.write_bytes(file_of(A))
    store = opened(path)
    store.close()
    store.close()

    for act in (lambda: store.line(0), lambda: store.append([B]), lambda: store.append([])):
        with pytest.raises(StoreClosed) as caught:
            act()
        assert caught.value.path == str(path)
    assert (store.where, store.header, len(store.tree)) == (str(path), HEADER, 1)


def test_a_path_may_be_text_or_a_path(path: Path) -> None:
    for one in (str(path), path):
        store = opened(one)
        assert store.where == str(path)
        store.close()


def test_a_relative_path_means_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = opened("s.jsonl")
    old = opened("old.jsonl") if (tmp_path / "old.jsonl").write_bytes(old_file()) else store
    monkeypatch.chdir(tmp_path / "elsewhere")

    store.append([A])
    store.append([B])
    old.append([C])

    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (store.where, (tmp_path / "s.jsonl").read_bytes()) == ("s.jsonl", file_of(A, B))
    assert old.where == "old.v3.jsonl"
    assert old.header.parent_session == str(tmp_path / "old.jsonl")
    assert (tmp_path / "old.v3.jsonl").exists()


def test_where_a_path_with_dots_leads_only_the_system_knows(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    opened(tmp_path / "link" / ".." / "s.jsonl").append([A])

    assert (tmp_path / "real" / "s.jsonl").read_bytes() == file_of(A)


def test_a_link_leads_to_its_file(path: Path, tmp_path: Path) -> None:
    path.write_bytes(file_of(A))
    (tmp_path / "link.jsonl").symlink_to(path)
    store = opened(tmp_path / "link.jsonl")
    store.append([B])

    assert path.read_bytes() == file_of(A, B)


def test_entries_of_ours_come_back(path: Path) -> None:
    store = opened(path, new=lambda: Header(version=3, id=SessionId("s9"), timestamp=TIME, cwd="/home/dev"))
    entry = message("a", user("föö\u2028bar"))
    store.append([encode_entry(entry)])
    store.close()

    again = opened(path)
    assert decode_entry(again.line(0)) == entry
    assert again.header.id == "s9"
