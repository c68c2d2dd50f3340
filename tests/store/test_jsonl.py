"""A session's file: opened whatever is in it, appended to or left as it was."""

from __future__ import annotations

import errno
import gc
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.codec import decode_entry, decode_header
from sapwood.events.entries import FORK_MARKER, Custom, Header, MessageEntry, Unknown
from sapwood.events.errors import (
    CannotOpen,
    CannotWrite,
    InvalidSessionId,
    NewerVersion,
    NotAnEntry,
    NotASession,
    StoreClosed,
    Unencodable,
)
from sapwood.events.ids import EntryId, SessionId
from sapwood.events.messages import CustomMessage
from sapwood.store import jsonl
from sapwood.store.jsonl import JsonlStore
from sapwood.store.memory import MemoryStore
from sapwood.store.scan import BOM
from sapwood.store.testing import odd_line
from tests.build import HEADER, TIME, user
from tests.build import message_entry as message
from tests.store.faults import ERRNOS, FaultyDisk
from tests.store.stores import (
    DATA,
    HEAD,
    Watched,
    file_of,
    header_of,
    ids_of,
    line,
    lines_of,
    opened,
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


# what is no session, and what cannot be opened


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


# a new session


def test_a_new_session_is_nowhere_until_its_first_append(tmp_path: Path) -> None:
    store = opened(tmp_path / "deep" / "er" / "s.jsonl")
    assert (store.header, len(store.tree), store.unread, store.read_only) == (HEADER, 0, (), False)
    assert list(tmp_path.iterdir()) == []
    store.append([])
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_its_header_and_first_entries_are_one_write(path: Path, disk: FaultyDisk) -> None:
    opened(path, disk).append([A, B])

    assert path.read_bytes() == file_of(A, B)
    assert disk.calls.count("write") == 1


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
        with pytest.raises(CannotWrite) as caught:
            store.append([A])
        assert caught.value.errno == errno.EEXIST

    assert path.read_bytes() == file_of(C)
    assert len(store.tree) == 0
    assert lines_of(opened(path)) == [C]


def test_a_file_of_a_new_session_that_was_deleted_is_not_made_again_without_its_past(path: Path) -> None:
    store = opened(path)
    store.append([A])
    path.unlink()

    with pytest.raises(CannotWrite) as caught:
        store.append([B])

    assert caught.value.errno == errno.ENOENT
    assert not path.exists()
    assert lines_of(store) == [A]  # the descriptor still has it


# reading


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
    opened(path)
    assert gc.isenabled()
    gc.disable()
    try:
        opened(path)
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
    assert lines_of(opened(path)) == lines_of(store)
    assert isinstance(decode_entry(store.line(1)), Unknown)


def test_two_equal_entries_are_two_and_two_equal_ids_are_one(path: Path) -> None:
    path.write_bytes(file_of(A, line("x"), line("x", note="second"), B))
    store = opened(path)

    assert lines_of(store) == [A, line("x"), B]
    assert [(one.why, one.length) for one in store.unread] == [("duplicate id", len(line("x", note="second")))]


ODD_FILES: Final[dict[str, tuple[bytes, Sequence[bytes], Sequence[str]]]] = {
    "blank lines before the header": (b"\n \r\n\n" + file_of(A, B), [A, B], []),
    "rubbish before the header": (b"\x89PNG\r\n\x1a\n" + file_of(A, B), [A, B], ["not an entry"] * 2),
    "an entry before the header": (A + b"\n" + file_of(B), [A, B], []),
    "CRLF": (file_of(A, B).replace(b"\n", b"\r\n"), [A, B], []),
    "a byte order mark": (BOM + file_of(A, B), [A, B], []),
    "a second header": (file_of(A, header_of(3), B), [A, B], ["second header"]),
    "a line that cannot be read": (file_of(A, b'{"type":"cus', B), [A, B], ["not an entry"]),
    "scalars": (file_of(b"5", A, b"null", b'"x"', b"[1]", B), [A, B], ["not an entry"] * 4),
    "a number as id, and no id": (file_of(A, b'{"type":"x","id":5}', b'{"type":"x"}', B), [A, B], ["not an entry"] * 2),
    "NULs": (file_of(b"\0" * 99, A, B, b"\0"), [A, B], ["not an entry"] * 2),
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
    "an abyss": (file_of(A, b'{"type":"x","id":"z","t":' + b"[" * 50_000, B), [A, B], ["not an entry"]),
    "a very long line": (
        file_of(A, line("b", "a", text="x" * 5_000_000)),
        [A, line("b", "a", text="x" * 5_000_000)],
        [],
    ),
    "spaces behind a line": (file_of(A + b"  ", B + b"\t"), [A + b"  ", B + b"\t"], []),
    "nothing but a header": (HEAD, [], []),
    "a header without its line feed": (HEAD.strip(), [], []),
    "a torn tail": (file_of(A) + B[:-9], [A], ["not an entry"]),
    "a tail without its line feed": (file_of(A) + B, [A, B], []),
    "NULs as tail": (file_of(A) + b"\0" * 4096, [A], ["not an entry"]),
    "a carriage return as tail": (file_of(A) + B + b"\r", [A, B], []),
}


@pytest.mark.parametrize(("content", "lines", "unread"), ODD_FILES.values(), ids=ODD_FILES)
def test_an_odd_file_opens_and_is_appended_to_on_a_fresh_line(
    path: Path, content: bytes, lines: Sequence[bytes], unread: Sequence[str]
) -> None:
    path.write_bytes(content)
    store = opened(path)
    assert lines_of(store) == list(lines)
    assert [one.why for one in store.unread] == list(unread)

    store.append([line("y", "a"), line("z", "y")])
    now = path.read_bytes()
    assert now.startswith(content)
    assert now[len(content) :].strip(b"\n") == line("y", "a") + b"\n" + line("z", "y")
    again = opened(path)
    assert lines_of(store) == lines_of(again) == [*lines, line("y", "a"), line("z", "y")]
    assert shape_of(store) == shape_of(again)
    assert [one.why for one in again.unread] == list(unread)


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


# paths


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


# appending on a disk that fails


@attrs.frozen
class Scene:
    """A session before an append."""

    content: bytes | None
    earlier: Sequence[bytes] = ()

    def play(self, path: Path, disk: FaultyDisk) -> JsonlStore:
        if self.content is not None:
            path.write_bytes(self.content)
        store = opened(path, disk)
        for one in self.earlier:
            store.append([one])
        return store


def old_file(*more: bytes) -> bytes:
    """A version 1 session of three entries."""
    old = [b'{"type":"message","timestamp":"t","n":%d}' % number for number in range(3)]
    return file_of(*old, *more, head=header_of(None) + b"\n")


SCENES: Final = {
    "no file": Scene(None),
    "no file, second append": Scene(None, [A]),
    "an empty file": Scene(b""),
    "a file": Scene(file_of(A, B)),
    "a file, second append": Scene(file_of(A), [B]),
    "a torn file": Scene(file_of(A) + B[:-5]),
    "version 1": Scene(old_file()),
    "version 2": Scene(file_of(A, head=header_of(2) + b"\n")),
}
BATCH: Final = [line("x"), line("y", "x")]
CALLS: Final = 15
"""More than any first append makes: three lines are read of a version 1 file."""


def folder_of(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in path.parent.iterdir()}


@pytest.mark.parametrize("undo_fails", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("nth", range(CALLS))
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_whatever_call_fails_memory_does_not_run_ahead_and_the_next_append_works(
    scene: Scene, nth: int, undo_fails: bool, tmp_path: Path, disk: FaultyDisk
) -> None:
    number = ERRNOS[nth % len(ERRNOS)]
    path = tmp_path / "folder" / "s.jsonl"
    path.parent.mkdir()
    store = scene.play(path, disk)
    before, shape, where, files = lines_of(store), shape_of(store), store.where, folder_of(path)
    disk.takes_before_failing = 70

    with disk.failing(number, only=nth, and_on=undo_fails):
        try:
            store.append(BATCH)
        except CannotWrite as caught:
            failed: int | None = caught.errno
        else:
            failed = None

    if failed is None:
        before = lines_of(store)
        assert before[len(shape) :][:2] == BATCH
    else:
        assert failed == number
        assert (lines_of(store), shape_of(store), store.where) == (before, shape, where)
        if not undo_fails:
            assert folder_of(path) == files
    for name, content in files.items():
        assert folder_of(path)[name].startswith(content)

    # and everything is right again
    last = line("z", "a")
    store.append([last])
    assert lines_of(store)[: len(before) + 1] == [*before, last]
    again = opened(store.where)
    assert (lines_of(again), shape_of(again)) == (lines_of(store), shape_of(store))
    again.close()
    store.close()
    assert disk.open_descriptors == set()


def test_no_append_makes_more_calls_than_are_failed_above(tmp_path: Path, disk: FaultyDisk) -> None:
    for number, scene in enumerate(SCENES.values()):
        store = scene.play(tmp_path / f"{number}.jsonl", disk)
        first = len(disk.calls)
        store.append(BATCH)
        assert len(disk.calls) - first < CALLS


def test_a_refused_line_calls_nothing(path: Path, disk: FaultyDisk) -> None:
    store = opened(path, disk)
    disk.calls.clear()
    with pytest.raises(NotAnEntry):
        store.append([A, b"rubbish"])

    assert disk.calls == []


@pytest.mark.parametrize("theirs", [D + b"\n", D, D[:9]])
def test_a_file_that_somebody_else_let_grow_keeps_every_line(path: Path, theirs: bytes) -> None:
    """Our line used to be glued to what they had not finished, and was lost."""
    store = opened(path)
    store.append([A])
    with path.open("ab") as other:
        other.write(theirs)
    store.append([B, C])
    store.append([line("e", "c")])

    assert lines_of(store) == [A, B, C, line("e", "c")]
    assert [one for one in ids_of(opened(path)) if one != "d"] == ["a", "b", "c", "e"]


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: os.truncate(path, 9)])
def test_a_session_that_was_taken_away_is_not_begun_again_headless(path: Path, change: Callable[[Path], None]) -> None:
    path.write_bytes(file_of(A))
    store = opened(path)
    change(path)
    files = folder_of(path)

    with pytest.raises(CannotWrite):
        store.append([B])

    assert folder_of(path) == files
    assert len(store.tree) == 1


def test_appending_does_not_read_the_session_again(path: Path, disk: FaultyDisk) -> None:
    path.write_bytes(file_of(A))
    store = opened(path, disk)
    store.append([B])
    disk.calls.clear()
    store.append([C])

    assert disk.calls == ["status", "status_at", "status", "read", "write", "status"]


# version 2


def test_version_2_is_raised_on_reading_and_appended_to_in_place(path: Path) -> None:
    content = (DATA / "v2.jsonl").read_bytes()
    path.write_bytes(content)
    store = opened(path)
    raised = lines_of(store)
    assert raised == lines_of(store) == lines_of(opened(path))
    original = content.split(b"\n")[1:-1]
    assert [one for one in raised if one not in original] == [
        one.replace(b'"role":"hookMessage"', b'"role":"custom"') for one in original if b'"hookMessage"' in one
    ]
    hook = [decode_entry(one) for one in raised if one not in original]
    assert all(isinstance(one, MessageEntry) and isinstance(one.message, CustomMessage) for one in hook)
    assert hook

    store.append([C])

    assert (store.header.version, store.where) == (2, str(path))
    assert path.read_bytes() == content + C + b"\n"
    assert lines_of(store) == lines_of(opened(path)) == [*raised, C]
    assert shape_of(store) == shape_of(opened(path))


# version 1


def made_old(path: Path, content: bytes) -> JsonlStore:
    path.write_bytes(content)
    return opened(path)


OLD_FILES: Final = {
    "by hand": (DATA / "v1.jsonl").read_bytes(),
    "made here": old_file(
        b'{"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":2,"tokensBefore":9}',
        b"rubbish",
        b'{"type":"message","timestamp":"t","message":{"role":"hookMessage","content":"","customType":"x","display":true,"timestamp":1}}',
        b'{"type":"message","timestamp":"t","text":"\\ud800"}',
        b'{"type":"message","timestamp":"t","id":5,"parentId":"mine"}',
        b'{"type":"mess',
    ),
    "a header alone": old_file().split(b"\n")[0],
}


@pytest.mark.parametrize("content", OLD_FILES.values(), ids=OLD_FILES)
def test_version_1_reads_the_same_each_time(path: Path, content: bytes) -> None:
    store = made_old(path, content)
    again = opened(path)

    assert (lines_of(store), shape_of(store)) == (lines_of(again), shape_of(again))
    assert lines_of(store) == lines_of(store)
    assert [decode_entry(one).id for one in lines_of(store)] == ids_of(store)
    assert [decode_entry(one).parent_id for one in lines_of(store)] == [None, *ids_of(store)][: len(store.tree)]
    assert store.tree.path(store.tree.leaf) == list(range(len(store.tree)))


def test_a_compaction_of_version_1_names_its_first_kept_entry(path: Path) -> None:
    store = made_old(path, OLD_FILES["made here"])

    assert json.loads(store.line(3))["firstKeptEntryId"] == store.tree.id(1)
    expected = json.loads((DATA / "v1.expected.json").read_bytes())["selected"][1]
    store = made_old(path, OLD_FILES["by hand"])
    compaction = next(json.loads(one) for one in lines_of(store) if b'"compaction"' in one)
    assert compaction["firstKeptEntryId"] == store.tree.id(int(expected.removeprefix("#")) - 1)


@pytest.mark.parametrize("content", OLD_FILES.values(), ids=OLD_FILES)
def test_the_first_append_to_version_1_goes_to_a_version_3_session_beside_it(path: Path, content: bytes) -> None:
    store = made_old(path, content)
    watched = Watched(path)
    before, ids, tree = lines_of(store), ids_of(store), store.tree
    leaf = ids[-1] if ids else None
    new = [line("x", leaf), line("y", "x")]

    store.append(new)

    watched.assert_untouched()
    assert store.where == str(path.with_name("s.v3.jsonl"))
    assert (store.header.version, store.header.id, store.header.cwd) == (
        3,
        HEADER.id,
        decode_header(content.split(b"\n")[0]).cwd,
    )
    assert store.header.parent_session == str(path)
    assert store.tree is tree
    assert lines_of(store)[:-1] == [*before, *new]
    marker = decode_entry(store.line(len(before) + 2))
    assert marker == Custom(
        id=EntryId("n0"),
        parent_id=EntryId("y"),
        timestamp=TIME,
        custom_type=FORK_MARKER,
        data={"parentId": decode_header(content.split(b"\n")[0]).id, "parentPath": str(path), "entries": len(before)},
    )
    assert stat.S_IMODE(Path(store.where).stat().st_mode) == 0o600

    store.append([line("z", "n0")])
    again = opened(store.where)
    assert (lines_of(again), shape_of(again), again.header) == (lines_of(store), shape_of(store), store.header)
    assert (again.unread, store.unread) == ((), ())
    assert ids_of(again) == [*ids, "x", "y", "n0", "z"]
    assert folder_of(path).keys() == {"s.jsonl", "s.v3.jsonl"}


def test_what_others_put_into_an_old_header_goes_along(path: Path) -> None:
    store = made_old(path, header_of(None)[:-1] + b', "provider": "p", "modelId": "m"}\n')
    store.append([A])

    assert store.header.extra == opened(store.where).header.extra == {"provider": "p", "modelId": "m"}


def test_a_version_3_session_that_stands_beside_it_already_is_left_alone(path: Path) -> None:
    for number, name in enumerate(["s.v3.jsonl", "s.v3-2.jsonl", "s.v3-3.jsonl"]):
        store = made_old(path, old_file())
        store.append([line(f"x{number}")])
        assert Path(store.where).name == name
        store.close()
    assert [
        b"x0" in path.with_name("s.v3.jsonl").read_bytes(),
        b"x2" in path.with_name("s.v3-3.jsonl").read_bytes(),
    ] == [True, True]


def test_a_name_without_the_usual_end_gets_one(tmp_path: Path) -> None:
    store = made_old(tmp_path / "old", old_file())
    store.append([A])

    assert Path(store.where).name == "old.v3.jsonl"


def test_there_is_an_end_to_the_names(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MOST_COPIES", 3)
    for name in ("s.v3.jsonl", "s.v3-2.jsonl"):
        path.with_name(name).write_bytes(b"")
    store = made_old(path, old_file())

    with pytest.raises(CannotWrite) as caught:
        store.append([A])

    assert caught.value.errno == errno.EEXIST
    assert (store.where, len(store.tree)) == (str(path), 3)


def test_the_markers_id_is_not_that_of_another_new_entry(path: Path) -> None:
    """It used to be checked against the last new entry alone, and the marker was lost as a duplicate."""
    store = made_old(path, old_file())
    store.append([line("n0"), line("n1", "n0"), line("n2", "n1")])

    assert ids_of(store)[3:] == ids_of(opened(store.where))[3:] == ["n0", "n1", "n2", "n3"]


def test_a_failure_while_the_copy_is_made_leaves_no_copy(path: Path, disk: FaultyDisk) -> None:
    path.write_bytes(old_file())
    watched = Watched(path)
    store = opened(path, disk)
    before = lines_of(store)
    disk.takes_before_failing = 100

    for name in ("make_folder", "create", "open_read", "status", "status_at", "write", "read"):
        with disk.failing(errno.ENOSPC, names=(name,)), pytest.raises(CannotWrite) as caught:
            store.append([A])
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.path == str(path if name == "read" else path.with_name("s.v3.jsonl"))
        assert folder_of(path).keys() == {"s.jsonl"}
        assert (lines_of(store), store.where, store.header.version) == (before, str(path), 1)
    watched.assert_untouched()
    assert len(disk.open_descriptors) == 1

    store.append([A])
    assert lines_of(store)[:4] == [*before, A]


def test_a_copy_that_cannot_be_taken_away_again_is_left_empty_and_another_is_made(path: Path, disk: FaultyDisk) -> None:
    path.write_bytes(old_file())
    store = opened(path, disk)
    disk.takes_before_failing = 100
    with disk.failing(errno.EIO, names=("write", "unlink")), pytest.raises(CannotWrite):
        store.append([A])
    assert folder_of(path)["s.v3.jsonl"] == b""

    store.append([A])

    assert Path(store.where).name == "s.v3-2.jsonl"


def test_a_folder_whose_name_is_no_text_is_named_as_well_as_can_be(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(folder).mkdir()
    store = made_old(Path(folder) / "s.jsonl", old_file())
    try:
        store.append([A])
    except Unencodable as caught:
        raise AssertionError("a session in such a folder could never be appended to") from caught

    assert store.header.parent_session == f"{tmp_path}/\N{REPLACEMENT CHARACTER}/s.jsonl"


# any program, on both stores


NAMES: Final = st.sampled_from([*"abcdefghij"])
LINES: Final = st.builds(
    lambda entry_id, parent, kind, text: line(entry_id, parent, kind, text=text),
    NAMES,
    st.none() | NAMES | st.just("nowhere"),
    st.sampled_from(["message", "label", "custom", "from.tomorrow"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
STEPS: Final = st.lists(st.just("reopen") | st.lists(LINES | st.just(b"rubbish"), max_size=3), max_size=8)


@given(steps=STEPS)
def test_any_program_gives_the_same_in_memory_and_in_a_file(
    steps: list[str | list[bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("program") / "s.jsonl"
    file, memory, content = opened(path), MemoryStore(HEADER), b""
    for step in steps:
        if isinstance(step, str):
            file.close()
            file = opened(path)
        else:
            assert told(file, step) == told(memory, step)
        now = path.read_bytes() if path.exists() else b""
        assert now.startswith(content)
        content = now
        assert (lines_of(file), shape_of(file), file.tree.leaf) == (
            lines_of(memory),
            shape_of(memory),
            memory.tree.leaf,
        )
        assert list(file.tree.children(None)) == list(memory.tree.children(None))
    file.close()
    assert content == (file_of(*lines_of(memory)) if len(memory.tree) else b"")


def told(store: JsonlStore | MemoryStore, lines: Sequence[bytes]) -> str:
    try:
        store.append(lines)
    except NotAnEntry as refusal:
        return str(refusal)
    return "taken"


@given(
    st.lists(LINES | st.binary(max_size=20), max_size=6),
    st.binary(max_size=10),
    st.lists(LINES, min_size=1, max_size=2),
)
def test_whatever_stood_there_stays_as_a_prefix(
    lines: list[bytes], tail: bytes, new: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("prefix") / "s.jsonl"
    content = file_of(*lines) + tail
    path.write_bytes(content)
    store = opened(path)
    taken = told(store, new) == "taken"
    shown = lines_of(store), shape_of(store)
    store.close()

    assert path.read_bytes().startswith(content)
    assert taken or path.read_bytes() == content
    again = opened(path)
    assert (lines_of(again), shape_of(again)) == shown
    again.close()


def test_entries_of_ours_come_back(path: Path) -> None:
    store = opened(path, new=lambda: Header(version=3, id=SessionId("s9"), timestamp=TIME, cwd="/home/dev"))
    entry = message("a", user("föö\u2028bar"))
    store.append([jsonl.encode_entry(entry)])
    store.close()

    assert decode_entry(opened(path).line(0)) == entry
    assert opened(path).header.id == "s9"
