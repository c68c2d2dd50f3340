"""Appending on a disk that fails, and to a file that somebody else has changed: memory never runs ahead of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs
import pytest

from sapwood.events.errors import (
    CannotWrite,
    NotAnEntry,
    StoreConflict,
)
from sapwood.store.jsonl import JsonlStore
from tests.store.faults import ERRNOS, FaultyDisk
from tests.store.stores import (
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
CALLS: Final = 30
"""More than any first append makes: three lines are read of a version 1 file."""


@pytest.mark.parametrize("undo_fails", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("nth", range(CALLS))
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_whatever_call_fails_memory_does_not_run_ahead_and_the_next_append_works(
    scene: Scene, nth: int, undo_fails: bool, tmp_path: Path, disk: FaultyDisk
) -> None:
    fail_at(nth, ERRNOS[nth % len(ERRNOS)], scene, tmp_path, disk, undo_fails=undo_fails)


@pytest.mark.full
@pytest.mark.parametrize("undo_fails", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("nth", range(CALLS))
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_whatever_call_fails_in_whatever_way(
    scene: Scene, nth: int, undo_fails: bool, tmp_path: Path, disk: FaultyDisk
) -> None:
    for number in ERRNOS:
        for taken in (0, 1, 40, 120, 10_000):
            folder = tmp_path / f"{number}-{taken}"
            folder.mkdir()
            fail_at(nth, number, scene, folder, disk, undo_fails=undo_fails, taken=taken)


def fail_at(
    nth: int, number: int, scene: Scene, tmp_path: Path, disk: FaultyDisk, *, undo_fails: bool, taken: int = 70
) -> None:
    """One append, whose nth call fails."""
    path = tmp_path / "folder" / "s.jsonl"
    path.parent.mkdir()
    store = scene.play(path, disk)
    before, shape, where, files = lines_of(store), shape_of(store), store.where, folder_of(path)
    disk.takes_before_failing = taken

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
    again = reread(store.where)
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

    joined = [D] if theirs.startswith(D) else []
    assert lines_of(store) == lines_of(reread(path)) == [A, *joined, B, C, line("e", "c")]
    assert [one.kind for one in store.damage if one.length] == ([] if joined else ["cut_line"])


def shorten(path: Path) -> None:
    os.truncate(path, 9)


@pytest.mark.parametrize("change", [Path.unlink, shorten])
def test_a_session_that_was_taken_away_is_not_begun_again_headless(path: Path, change: Callable[[Path], None]) -> None:
    path.write_bytes(file_of(A))
    store = opened(path)
    change(path)
    files = folder_of(path)

    with pytest.raises(StoreConflict):
        store.append([B])

    assert folder_of(path) == files
    assert len(store.tree) == 1


def test_appending_does_not_read_the_session_again(path: Path, disk: FaultyDisk) -> None:
    path.write_bytes(file_of(A))
    store = opened(path, disk)
    store.append([B])
    disk.calls.clear()
    store.append([C])

    assert disk.calls == ["status_at", "read", "write", "position"]
