"""A file put back to its path, on a disk that fails at every call; and a session that goes on after it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from sapwood.events.errors import CannotWrite, ReadOnly, SessionInUse, StoreClosed, StoreConflict
from sapwood.store.disk import MOST_NAMES
from sapwood.store.jsonl import JsonlStore
from sapwood.store.restoring import PIECE
from tests.store.faults import ERRNOS, FaultyDisk, error
from tests.store.stores import file_of, header_of, ids_of, line, lines_of, old_file, opened

A, B, C, D = line("a"), line("b", "a"), line("c", "b"), line("d", "c")
THEIRS: Final = file_of(line("theirs"), head=header_of(3, "another") + b"\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "s.jsonl"


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.let_go()


def session(path: Path, disk: FaultyDisk) -> JsonlStore:
    store = opened(path, disk)
    store.append([A])
    store.append([B])
    return store


def files(path: Path) -> dict[str, bytes]:
    """All that stands beside it, but records of locks."""
    return {one.name: one.read_bytes() for one in path.parent.iterdir() if one.suffix != ".lock"}


def delete(path: Path) -> None:
    path.unlink()


def delete_all(path: Path) -> None:
    for one in path.parent.iterdir():
        one.unlink()
    path.parent.rmdir()


def replace(path: Path) -> None:
    """As an editor does."""
    path.with_name("new").write_bytes(THEIRS)
    path.with_name("new").rename(path)


def replace_by_nothing(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"")


def move(path: Path) -> None:
    path.rename(path.with_name("moved"))


LOST: Final[dict[str, tuple[Callable[[Path], None], str]]] = {
    "deleted": (delete, "deleted"),
    "deleted with its folder": (delete_all, "deleted"),
    "replaced": (replace, "replaced"),
    "replaced by an empty file": (replace_by_nothing, "replaced"),
    "moved away": (move, "deleted"),
}


@pytest.mark.parametrize(("act", "what"), LOST.values(), ids=LOST)
def test_a_session_that_was_taken_away_is_put_back_whole_and_goes_on(
    path: Path, disk: FaultyDisk, act: Callable[[Path], None], what: str
) -> None:
    store = session(path, disk)
    before = path.read_bytes()
    for round_ in range(1, 4):
        act(path)
        theirs = path.read_bytes() if path.exists() else None
        lost = files(path) if path.parent.exists() else {}
        for _ in range(2):
            with pytest.raises(StoreConflict) as caught:
                store.append([C])
            assert (caught.value.path, caught.value.what) == (str(path), what)
        assert (files(path) if path.parent.exists() else {}) == lost  # never a headless file

        moved = store.restore()
        assert path.read_bytes() == before
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        if theirs is None:
            assert moved is None
        else:
            aside = path.with_name(f"s.jsonl.replaced-{round_}")
            assert moved == str(aside)
            assert aside.read_bytes() == theirs
        assert not [name for name in files(path) if "restoring" in name]
        assert opened_elsewhere_is_refused(path)

        last = line(f"x{round_}", ids_of(store)[-1])
        store.append([last])
        before += last + b"\n"
        assert path.read_bytes() == before
        store.sync()
    lines = lines_of(store)
    store.close()
    assert disk.open_descriptors == set()
    again = opened(path, disk)
    assert lines_of(again) == lines == [A, B, line("x1", "b"), line("x2", "x1"), line("x3", "x2")]


def opened_elsewhere_is_refused(path: Path) -> bool:
    with pytest.raises(SessionInUse) as caught:
        opened(path)
    return caught.value.owner is not None and caught.value.owner.pid == os.getpid()


def shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def regrow(path: Path) -> None:
    content = path.read_bytes()
    os.truncate(path, len(content) - 70)
    with path.open("ab") as other:
        other.write(line("z", "a", text="x" * 99) + b"\n")


@pytest.mark.parametrize(
    ("act", "what"),
    [(shorten, "shortened"), (empty, "shortened"), (regrow, "changed")],
    ids=["a byte", "all", "regrown"],
)
def test_what_was_taken_out_of_a_file_cannot_be_put_back(
    path: Path, disk: FaultyDisk, act: Callable[[Path], None], what: str
) -> None:
    """A file without its header used to be put to the path."""
    store = session(path, disk)
    act(path)
    theirs = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreConflict) as caught:
            store.append([C])
        assert caught.value.what == what
    path.rename(path.with_name("moved"))
    with pytest.raises(StoreConflict) as caught:
        store.restore()

    assert caught.value.what == what
    assert files(path) == {"moved": theirs}
    assert ids_of(store) == ["a", "b"]


def test_a_file_that_stands_where_it_stood_is_left_as_it_is(path: Path, disk: FaultyDisk) -> None:
    """The lock used to be lost on the way."""
    store = session(path, disk)
    inode = path.stat().st_ino
    assert store.restore() is None
    assert path.stat().st_ino == inode
    assert list(files(path)) == ["s.jsonl"]
    assert opened_elsewhere_is_refused(path)
    store.append([C])
    assert lines_of(store) == [A, B, C]


def test_a_session_that_was_never_written_has_nothing_to_put_back(path: Path, disk: FaultyDisk) -> None:
    store = opened(path, disk)
    assert store.restore() is None
    assert not path.parent.exists()
    store.append([A])


def test_an_empty_file_of_ours_that_was_deleted_is_no_dead_end(path: Path, disk: FaultyDisk) -> None:
    """Nothing was put back, and every append was refused for ever."""
    path.parent.mkdir()
    path.write_bytes(b"")
    store = opened(path, disk)
    path.unlink()
    with pytest.raises(StoreConflict):
        store.append([A])
    assert store.restore() is None
    store.append([A])

    assert path.read_bytes() == file_of(A)


def test_only_who_may_write_may_put_back(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    reader = opened(path, read_only=True)
    path.unlink()
    with pytest.raises(ReadOnly):
        reader.restore()
    reader.close()
    store.close()
    for one in (reader, store):
        with pytest.raises(StoreClosed):
            one.restore()
    assert not path.exists()


def test_a_session_that_somebody_else_writes_in_its_place_is_theirs(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    path.unlink()
    theirs = opened(path)
    theirs.append([line("theirs")])
    before = path.read_bytes()

    with pytest.raises(SessionInUse) as caught:
        store.restore()
    assert caught.value.path == str(path)
    assert caught.value.owner is not None
    assert files(path) == {"s.jsonl": before}
    theirs.append([line("more", "theirs")])
    theirs.close()

    moved = store.restore()
    assert moved is not None
    assert Path(moved).read_bytes() == before + line("more", "theirs") + b"\n"
    assert path.read_bytes() == file_of(A, B)


def test_nobody_begins_to_write_what_is_being_replaced(path: Path, disk: FaultyDisk) -> None:
    """Between the look and the step their appends would have gone to a file that is moved away under them."""
    store = session(path, disk)
    replace(path)
    sync = disk.sync

    def sync_while_others_try(descriptor: int) -> None:
        with pytest.raises(SessionInUse):
            opened(path)
        sync(descriptor)

    setattr(disk, "sync", sync_while_others_try)  # noqa: B010 - a method is not to be assigned, for the type checkers
    assert store.restore() is not None
    assert path.read_bytes() == file_of(A, B)


def test_a_link_leads_to_what_was_put_back(path: Path, disk: FaultyDisk) -> None:
    """The link itself used to be replaced by a file, and its target was nowhere still."""
    target = path.with_name("target.jsonl")
    path.parent.mkdir()
    path.symlink_to(target)
    store = session(path, disk)
    target.unlink()
    assert store.restore() is None

    assert path.is_symlink()
    assert target.read_bytes() == path.read_bytes() == file_of(A, B)
    store.append([C])
    assert target.read_bytes() == file_of(A, B, C)


def test_a_link_that_leads_to_another_session_now_is_set_aside_and_the_session_stays(
    path: Path, disk: FaultyDisk
) -> None:
    target, another = path.with_name("target.jsonl"), path.with_name("another.jsonl")
    path.parent.mkdir()
    path.symlink_to(target)
    store = session(path, disk)
    another.write_bytes(THEIRS)
    path.unlink()
    path.symlink_to(another)
    moved = store.restore()

    aside = path.with_name("s.jsonl.replaced-1")
    assert moved == str(aside)
    assert another.read_bytes() == aside.read_bytes() == THEIRS
    assert path.read_bytes() == target.read_bytes() == file_of(A, B)


def test_a_folder_at_the_path_is_left_alone(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreConflict) as conflict:
        store.append([C])
    assert conflict.value.what == "replaced"
    with pytest.raises(CannotWrite) as caught:
        store.restore()

    assert caught.value.errno == errno.EISDIR
    assert {one.name for one in path.parent.iterdir()} == {"s.jsonl", "s.jsonl.lock"}
    path.rmdir()
    store.restore()
    assert path.read_bytes() == file_of(A, B)


def test_a_version_1_file_is_put_back_too(path: Path, disk: FaultyDisk) -> None:
    path.parent.mkdir()
    path.write_bytes(old_file())
    store = opened(path, disk)
    path.unlink()
    with pytest.raises(StoreConflict):
        store.append([C])
    store.restore()

    assert path.read_bytes() == old_file()
    store.append([line("new")])
    assert path.read_bytes() == old_file()
    assert store.where == str(path.with_suffix(".v3.jsonl"))


def test_names_that_are_taken_are_passed_over(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    replace(path)
    taken = {f"s.jsonl.{kind}": kind.encode() for kind in ("restoring-0", "restoring-1", "replaced-1", "replaced-2")}
    for name, content in taken.items():
        path.with_name(name).write_bytes(content)

    assert store.restore() == f"{path}.replaced-3"
    assert files(path) == {**taken, "s.jsonl": file_of(A, B), "s.jsonl.replaced-3": THEIRS}


def test_there_is_an_end_to_the_names(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    replace(path)
    for name in ("create", "link"):
        tried = disk.calls.count(name)
        with disk.failing(errno.EEXIST, names=(name,)), pytest.raises(CannotWrite) as caught:
            store.restore()
        assert caught.value.errno == errno.EEXIST
        assert MOST_NAMES - 1 <= disk.calls.count(name) - tried <= MOST_NAMES
    assert files(path) == {"s.jsonl": THEIRS}


def test_a_file_of_many_pieces_is_copied_in_pieces(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    store.append([line("long", "b", text="x" * (2 * PIECE + 99))])
    before = path.read_bytes()
    path.unlink()
    disk.takes = PIECE - 7
    disk.read_lengths.clear()
    store.restore()

    assert path.read_bytes() == before
    assert max(disk.read_lengths) == PIECE


def test_it_is_on_the_medium_before_it_is_at_the_path(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    store.sync()
    for take_away, folders in ((delete, [path.parent]), (delete_all, [path.parent.parent, path.parent])):
        take_away(path)
        disk.calls.clear()
        disk.synced_folders.clear()
        store.restore()

        order = [name for name in disk.calls if name in {"write", "sync", "rename", "sync_folder"}]
        assert order[:3] == ["write", "sync", "rename"]
        assert disk.synced_folders == [*map(str, folders)]


def test_a_name_that_could_not_be_hardened_then_is_with_the_next_sync(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    store.sync()
    path.unlink()
    with disk.failing(errno.EIO, names=("sync_folder",)):
        store.restore()
        store.stage([C])
        with pytest.raises(CannotWrite):
            store.sync()
    store.discard()
    disk.synced_folders.clear()
    store.append([C])
    store.sync()
    assert disk.synced_folders == [str(path.parent)]


def test_what_a_failed_append_left_is_not_put_back(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    disk.takes_before_failing = 30
    with disk.failing(errno.EIO, names=("write", "truncate")), pytest.raises(CannotWrite):
        store.append([C])
    assert path.read_bytes() == file_of(A, B) + C[:30]
    path.unlink()
    with disk.failing(errno.EIO, names=("truncate",)), pytest.raises(CannotWrite):
        store.restore()
    assert not path.exists()
    store.restore()

    assert path.read_bytes() == file_of(A, B)


def test_what_is_staged_meanwhile_can_still_be_taken_back(path: Path, disk: FaultyDisk) -> None:
    store = session(path, disk)
    store.stage([C])
    replace(path)
    store.restore()
    assert path.read_bytes() == file_of(A, B, C)
    store.discard()
    store.append([D])

    assert lines_of(store) == [A, B, D]
    assert path.read_bytes() == file_of(A, B, D)


CALLS: Final = 40


@pytest.mark.parametrize("act", [delete, delete_all, replace], ids=["deleted", "with its folder", "replaced"])
def test_a_putting_back_makes_fewer_calls_than_are_failed_below(
    path: Path, disk: FaultyDisk, act: Callable[[Path], None]
) -> None:
    store = session(path, disk)
    act(path)
    disk.calls.clear()
    store.restore()
    assert CALLS - 20 < len(disk.calls) < CALLS


@pytest.mark.parametrize("and_on", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("nth", range(CALLS))
@pytest.mark.parametrize("act", [delete, delete_all, replace], ids=["deleted", "with its folder", "replaced"])
def test_whatever_call_fails_both_files_stand_somewhere_and_the_next_try_works(
    act: Callable[[Path], None], nth: int, and_on: bool, tmp_path: Path, disk: FaultyDisk
) -> None:
    for number in ERRNOS:
        path = tmp_path / str(number) / "s.jsonl"
        path.parent.mkdir()
        store = session(path, disk)
        ours = path.read_bytes()
        act(path)
        theirs = path.read_bytes() if path.exists() else None
        disk.takes_before_failing = 50

        with disk.failing(number, only=nth, and_on=and_on):
            try:
                store.restore()
            except CannotWrite as caught:
                failed: int | None = caught.errno
            else:
                failed = None

        assert failed in {None, number}
        assert lines_of(store) == [A, B]  # from what is open
        now = files(path) if path.parent.exists() else {}
        assert theirs is None or theirs in now.values()
        if failed is None:
            assert path.read_bytes() == ours
            assert opened_elsewhere_is_refused(path)
        elif not and_on:
            # as if nothing had been
            assert now == ({} if theirs is None else {"s.jsonl": theirs})
        else:
            assert now.get("s.jsonl") == theirs
            assert set(now) <= {"s.jsonl", "s.jsonl.restoring-0", "s.jsonl.replaced-1"}
        if failed is not None and theirs is not None:
            opened(path).close()  # nobody is kept out of it

        store.restore()
        store.append([C])
        assert path.read_bytes() == ours + C + b"\n"
        assert theirs is None or theirs in files(path).values()
        store.close()
        assert disk.open_descriptors == set()
        assert lines_of(opened(path)) == [A, B, C]


def test_a_rename_that_is_told_to_have_failed_and_has_not_loses_nothing(path: Path, disk: FaultyDisk) -> None:
    """As over a network."""
    store = session(path, disk)
    replace(path)

    def rename(old: str, new: str) -> None:
        disk.real.rename(old, new)
        raise error(errno.EIO)

    setattr(disk, "rename", rename)  # noqa: B010 - a method is not to be assigned, for the type checkers
    with pytest.raises(CannotWrite):
        store.restore()
    del disk.rename
    assert files(path) == {"s.jsonl": file_of(A, B), "s.jsonl.replaced-1": THEIRS}
    store.restore()
    store.append([C])
    assert path.read_bytes() == file_of(A, B, C)
    assert THEIRS in files(path).values()
