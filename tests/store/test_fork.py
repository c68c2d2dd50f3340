"""The steps of a fork: what is refused before the first, and what each leaves."""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec
import pytest

from sapwood.events.entries import Header
from sapwood.events.errors import NewerVersion, Refused
from sapwood.events.ids import EntryId
from sapwood.store.copying import copy_of_tree
from sapwood.store.fork import UNSAVED, place_to_fork, steps
from sapwood.store.memory import MemoryStore
from sapwood.store.new_file import NewFile
from tests.build import HEADER
from tests.store.faults import FaultyDisk
from tests.store.stores import line

LINES = [line("a"), line("b", "a"), line("x", "a")]


def store(header: Header = HEADER) -> MemoryStore:
    return MemoryStore(header, LINES)


def test_it_stands_at_the_entry_or_at_the_leaf() -> None:
    assert place_to_fork(store(), EntryId("b"), "path", "p") == 1
    assert place_to_fork(store(), None, "path", "p") == 2
    assert place_to_fork(store(), None, "tree", "p") == 2


def test_an_entry_that_there_is_not_is_refused_in_pis_words() -> None:
    with pytest.raises(Refused, match=r"^Entry nope not found$") as caught:
        place_to_fork(store(), EntryId("nope"), "path", "p")

    assert caught.value.reason == "unknown-entry"


def test_a_session_without_entries_is_refused_in_pis_words() -> None:
    with pytest.raises(Refused) as caught:
        place_to_fork(MemoryStore(HEADER), None, "path", "p")

    assert (caught.value.reason, str(caught.value)) == ("nothing-to-do", UNSAVED)


def test_a_whole_tree_stands_where_its_parent_does() -> None:
    with pytest.raises(Refused, match="name an entry, or the whole tree"):
        place_to_fork(store(), EntryId("a"), "tree", "p")


def test_what_a_later_release_wrote_is_not_written_by_us() -> None:
    later = msgspec.structs.replace(HEADER, version=9)

    with pytest.raises(NewerVersion) as caught:
        place_to_fork(store(later), None, "path", "/p.jsonl")

    assert (caught.value.path, caught.value.version) == ("/p.jsonl", 9)


def test_there_is_no_file_under_the_name_before_the_last_step(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    copy = copy_of_tree(store(), HEADER, EntryId("mark"), None)
    file = NewFile(FaultyDisk(), str(path))
    seen: list[bool] = []

    for step in steps(copy, file):
        seen.append(path.exists())
        step()
    file.end()

    assert seen == [False, False, False]
    assert path.read_bytes() == b"".join(copy.blocks())


@pytest.mark.parametrize("nth", range(6))
def test_a_full_disk_at_any_step_leaves_nothing(nth: int, tmp_path: Path) -> None:
    disk = FaultyDisk()
    file = NewFile(disk, str(tmp_path / "f.jsonl"))
    copy = copy_of_tree(store(), HEADER, EntryId("mark"), None)

    def fork() -> None:
        try:
            for step in steps(copy, file):
                step()
        finally:
            file.end()

    with disk.failing(errno.ENOSPC, only=nth + 1), pytest.raises(OSError, match="No space"):
        fork()

    assert list(tmp_path.iterdir()) == []
    assert disk.open_descriptors == set()
