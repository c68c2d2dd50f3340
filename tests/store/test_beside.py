"""A version 1 session copied to a version 3 one: what stands in the copy, and under which name."""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec
import pytest

from sapwood.events.codec import Envelope, decode_entry, decode_header
from sapwood.events.entries import FORK_MARKER, Custom, Header
from sapwood.events.errors import CannotWrite
from sapwood.events.ids import EntryId
from sapwood.store import beside
from sapwood.store.beside import Makers, Raised, made_beside, raised
from sapwood.store.growing import GrowingFile
from sapwood.store.lock import WriterLock
from sapwood.store.scan import scan
from sapwood.store.scanned import Scanned
from tests.build import HEADER, TIME
from tests.store.faults import FaultyDisk
from tests.store.stores import first_free, line, me, old_file

MAKERS = Makers(header=lambda: HEADER, entry_id=first_free, now=lambda: TIME)
OLD = scan(old_file())
NEW = [Envelope("custom", EntryId("n0")), Envelope("custom", EntryId("x"), EntryId("n0"))]


def copy(path: str = "/home/dev/s.jsonl", old: Header | None = None) -> Raised:
    held = OLD if old is None else Scanned(old, OLD.tree)
    return raised(held, path, [b"one", b"two"], NEW, MAKERS)


def test_a_copy_is_the_lines_and_a_marker_that_tells_what_was_copied() -> None:
    made = copy()

    assert [*made.lines[:-1]] == [b"one", b"two"]
    assert decode_entry(made.lines[-1]) == Custom(
        id=EntryId("n1"),  # n0 is one of the new entries
        parent_id=EntryId("x"),
        timestamp=TIME,
        custom_type=FORK_MARKER,
        data={"parentId": "old", "parentPath": "/home/dev/s.jsonl", "entries": 3, "copied": "tree"},
    )
    assert made.marker == Envelope("custom", EntryId("n1"), EntryId("x"))


def test_its_header_is_a_new_one_that_names_its_parent_and_keeps_what_others_wrote() -> None:
    old = msgspec.structs.replace(OLD.header, cwd="/elsewhere", extra={"provider": "p"})

    made = copy(old=old)

    assert made.header == msgspec.structs.replace(
        HEADER, cwd="/elsewhere", parent_session="/home/dev/s.jsonl", extra={"provider": "p"}
    )
    assert made.head == made.bytes.split(b"\n")[0] + b"\n"
    assert decode_header(made.head.strip()) == made.header


def test_its_bytes_are_one_line_an_entry() -> None:
    made = copy()

    assert made.bytes.split(b"\n")[1:] == [*made.lines, b""]


def test_a_path_that_is_no_text_is_told_as_well_as_can_be() -> None:
    assert copy("/home/\udcff/s.jsonl").header.parent_session == "/home/\N{REPLACEMENT CHARACTER}/s.jsonl"


def growing(disk: FaultyDisk, path: Path) -> GrowingFile:
    return GrowingFile(str(path), disk, WriterLock(disk, me))


@pytest.mark.parametrize(
    ("taken", "name"),
    [([], "s.v3.jsonl"), (["s.v3.jsonl"], "s.v3-2.jsonl"), (["s.v3.jsonl", "s.v3-2.jsonl"], "s.v3-3.jsonl")],
)
def test_it_stands_under_the_first_free_name(tmp_path: Path, taken: list[str], name: str) -> None:
    disk = FaultyDisk()
    for one in taken:
        (tmp_path / one).write_bytes(b"theirs\n")

    said, file, start = made_beside(
        growing(disk, tmp_path / "s.jsonl"), "s.jsonl", b"ours\n", lambda path: growing(disk, Path(path))
    )

    assert (said, file.path, start) == (name, str(tmp_path / name), 0)
    assert (tmp_path / name).read_bytes() == b"ours\n"
    assert [(tmp_path / one).read_bytes() for one in taken] == [b"theirs\n"] * len(taken)
    file.close()
    assert disk.open_descriptors == set()


def test_one_that_somebody_writes_is_left_to_them(tmp_path: Path) -> None:
    disk = FaultyDisk()
    theirs = growing(disk, tmp_path / "s.v3.jsonl")
    theirs.append(line("a") + b"\n")

    said, file, _ = made_beside(
        growing(disk, tmp_path / "s.jsonl"), "s.jsonl", b"ours\n", lambda path: growing(disk, Path(path))
    )

    assert said == "s.v3-2.jsonl"
    file.close()
    theirs.close()


def test_what_the_disk_says_is_told_with_the_name_of_the_copy(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with disk.failing(errno.ENOSPC, names=("write",)), pytest.raises(CannotWrite) as caught:
        made_beside(growing(disk, tmp_path / "s.jsonl"), "s.jsonl", b"ours\n", lambda path: growing(disk, Path(path)))

    assert (caught.value.path, caught.value.errno) == ("s.v3.jsonl", errno.ENOSPC)
    assert list(tmp_path.iterdir()) == []
    assert disk.open_descriptors == set()


def test_there_is_an_end_to_the_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FaultyDisk()
    monkeypatch.setattr(beside, "MOST_COPIES", 2)
    for name in ("s.v3.jsonl", "s.v3-2.jsonl"):
        (tmp_path / name).write_bytes(b"theirs\n")

    with pytest.raises(
        CannotWrite, match=r"s\.jsonl: EEXIST \(2 version 3 copies stand beside it: .*move some away"
    ) as caught:
        made_beside(growing(disk, tmp_path / "s.jsonl"), "s.jsonl", b"ours\n", lambda path: growing(disk, Path(path)))

    assert caught.value.path == "s.jsonl"
    assert disk.open_descriptors == set()
