"""Old versions: read as the present one, the same each time; version 2 is appended to in place, version 1 never."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from sapwood.events.codec import decode_entry, decode_header
from sapwood.events.entries import FORK_MARKER, Custom, MessageEntry
from sapwood.events.errors import (
    CannotWrite,
    Unencodable,
)
from sapwood.events.ids import EntryId
from sapwood.events.messages import CustomMessage
from sapwood.store import beside
from sapwood.store.jsonl import JsonlStore
from tests.build import HEADER, TIME
from tests.store.faults import FaultyDisk
from tests.store.stores import (
    DATA,
    Watched,
    folder_of,
    header_of,
    ids_of,
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


def test_version_2_is_raised_on_reading_and_appended_to_in_place(path: Path) -> None:
    content = (DATA / "v2.jsonl").read_bytes()
    path.write_bytes(content)
    store = opened(path)
    raised = lines_of(store)
    assert raised == lines_of(store) == lines_of(reread(path))
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
    assert lines_of(store) == lines_of(reread(path)) == [*raised, C]
    assert shape_of(store) == shape_of(reread(path))


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
    "a last line without its end": old_file().removesuffix(b"\n"),
}


@pytest.mark.parametrize("content", OLD_FILES.values(), ids=OLD_FILES)
def test_version_1_reads_the_same_each_time(path: Path, content: bytes) -> None:
    store = made_old(path, content)
    again = reread(path)

    assert (lines_of(store), shape_of(store)) == (lines_of(again), shape_of(again))
    assert lines_of(store) == lines_of(store)
    assert [decode_entry(one).id for one in lines_of(store)] == ids_of(store)
    assert [decode_entry(one).parent_id for one in lines_of(store)] == [None, *ids_of(store)][: len(store.tree)]
    assert store.tree.path(store.tree.leaf) == list(range(len(store.tree)))


def test_the_last_line_of_version_1_needs_no_end_to_be_read_and_copied(path: Path) -> None:
    whole = lines_of(made_old(path.with_name("whole.jsonl"), old_file()))

    store = made_old(path, old_file().removesuffix(b"\n"))
    assert (lines_of(store), store.damage) == (whole, ())
    store.append([line("x", store.tree.id(len(store.tree) - 1))])

    assert lines_of(store)[: len(whole)] == whole
    assert path.read_bytes() == old_file().removesuffix(b"\n")


def test_a_compaction_of_version_1_names_its_first_kept_entry(path: Path) -> None:
    store = made_old(path, OLD_FILES["made here"])

    assert json.loads(store.line(3))["firstKeptEntryId"] == store.tree.id(1)
    store.close()
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
        data={
            "parentId": decode_header(content.split(b"\n")[0]).id,
            "parentPath": str(path),
            "entries": len(before),
            "copied": "tree",
        },
    )
    assert stat.S_IMODE(Path(store.where).stat().st_mode) == 0o600

    store.append([line("z", "n0")])
    again = reread(store.where)
    assert (lines_of(again), shape_of(again), again.header) == (lines_of(store), shape_of(store), store.header)
    assert [*again.damage, *store.damage] == []
    assert ids_of(again) == [*ids, "x", "y", "n0", "z"]
    assert folder_of(path).keys() == {"s.jsonl", "s.v3.jsonl"}


def test_what_others_put_into_an_old_header_goes_along(path: Path) -> None:
    store = made_old(path, header_of(None)[:-1] + b', "provider": "p", "modelId": "m"}\n')
    store.append([A])

    assert store.header.extra == reread(store.where).header.extra == {"provider": "p", "modelId": "m"}


def test_an_old_header_that_had_to_be_bent_leaves_a_sound_one_in_the_copy(path: Path) -> None:
    store = made_old(path, b'{"type":"session","version":null,"id":"old","cwd":null,"zeta":1}\n{"type":"custom"}\n')
    store.append([A])

    assert (store.header.version, store.header.cwd, store.header.extra) == (3, "", {"zeta": 1})
    assert reread(store.where).header == store.header


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
    monkeypatch.setattr(beside, "MOST_COPIES", 2)
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

    assert ids_of(store)[3:] == ids_of(reread(store.where))[3:] == ["n0", "n1", "n2", "n3"]


def test_a_failure_while_the_copy_is_made_leaves_no_copy(path: Path, disk: FaultyDisk) -> None:
    path.write_bytes(old_file())
    watched = Watched(path)
    store = opened(path, disk)
    before = lines_of(store)
    disk.takes_before_failing = 100

    for name in ("make_folder", "create", "open_read", "write", "read"):
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


def test_a_copy_that_cannot_be_looked_at_is_left_and_another_is_made(path: Path, disk: FaultyDisk) -> None:
    """It used to be unlinked unseen, whoever had written into it by then."""
    path.write_bytes(old_file())
    store = opened(path, disk)
    with disk.failing(errno.EIO, names=("status",)), pytest.raises(CannotWrite):
        store.append([A])
    assert folder_of(path)["s.v3.jsonl"] == b""

    store.append([A])

    assert Path(store.where).name == "s.v3-2.jsonl"


def test_no_copy_is_made_while_the_old_file_cannot_be_looked_at(path: Path, disk: FaultyDisk) -> None:
    path.write_bytes(old_file())
    store = opened(path, disk)
    with disk.failing(errno.EIO, names=("status_at",)), pytest.raises(CannotWrite):
        store.append([A])
    assert folder_of(path).keys() == {"s.jsonl"}

    store.append([A])

    assert Path(store.where).name == "s.v3.jsonl"


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
