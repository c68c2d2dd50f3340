"""Two that want to write one session, by whatever path, in one process and in two; and one that may not write at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from sapwood.events.errors import CannotOpen, NotAnEntry, ReadOnly, SessionInUse, StoreConflict
from sapwood.store.disk import RealDisk
from sapwood.store.jsonl import JsonlStore
from tests.build import TIME
from tests.store.faults import FaultyDisk
from tests.store.mounting import read_only_mount
from tests.store.stores import HEAD, file_of, folder_of, ids_of, line, lines_of, old_file, opened, reread
from tests.store.writer import ROOT, writer

A, B, C = line("a"), line("b", "a"), line("c", "b")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder" / "s.jsonl"


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.let_go()


def names_beside(path: Path) -> set[str]:
    return {one.name for one in path.parent.iterdir()}


def same(path: Path) -> Path:
    return path


def link_to_file(path: Path) -> Path:
    path.with_name("link.jsonl").symlink_to(path)
    return path.with_name("link.jsonl")


def link_to_folder(path: Path) -> Path:
    path.parent.with_name("alias").symlink_to(path.parent)
    return path.parent.with_name("alias") / path.name


def hard_link(path: Path) -> Path:
    path.with_name("hard.jsonl").hardlink_to(path)
    return path.with_name("hard.jsonl")


def relative(path: Path) -> Path:
    return Path(os.path.relpath(path))


ALIASES: Final = [same, link_to_file, link_to_folder, hard_link, relative]


@pytest.mark.parametrize("alias", ALIASES)
def test_in_one_process_the_second_may_only_read(path: Path, disk: FaultyDisk, alias: Callable[[Path], Path]) -> None:
    path.write_bytes(file_of(A))
    other = alias(path)
    first = opened(path, disk)
    first.append([B])
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(SessionInUse) as caught:
            opened(other, disk)
        assert caught.value.path.endswith(str(other))
        owner = caught.value.owner
        assert owner is not None
        assert (owner.pid, owner.host) == (os.getpid(), "here")
        assert owner.since == (None if alias is hard_link else TIME)

    reader = opened(other, disk, read_only=True)
    assert (reader.read_only, lines_of(reader)) == (True, [A, B])
    with pytest.raises(ReadOnly):
        reader.append([C])
    assert path.read_bytes() == before
    first.append([C])
    reader.refresh()
    assert lines_of(reader) == [A, B, C]
    first.close()
    second = opened(other, disk)
    second.append([line("d", "c")])
    reader.refresh()
    assert lines_of(reader) == lines_of(second) == [A, B, C, line("d", "c")]
    for store in (reader, second):
        store.close()
    assert disk.open_descriptors == set()
    assert not [one for one in path.parent.iterdir() if one.suffix == ".lock"]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["close", "kill"])
@pytest.mark.parametrize("alias", ALIASES)
def test_of_two_processes_the_second_comes_when_the_first_has_ended(
    path: Path, alias: Callable[[Path], Path], end: str
) -> None:
    path.write_bytes(file_of(A))
    other = alias(path)
    with writer("hold", path) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"ready\n"
        with pytest.raises(SessionInUse) as caught:
            opened(other)
        owner = caught.value.owner
        assert owner is not None
        assert (owner.pid, owner.host) == (child.pid, "here")
        reader = opened(other, read_only=True)
        assert ids_of(reader) == ["a", "h1"]
        reader.close()

        if end == "close":
            child.stdin.close()
        else:
            child.kill()
        child.wait()
        # S10: a dead owner is recovered in under a second, without manual cleaning; it has left its record
        assert path.with_name("s.jsonl.lock").exists() == (end == "kill")
        ended = time.monotonic()
        store = opened(other)
        assert time.monotonic() - ended < 1
    store.append([B])
    store.close()
    assert ids_of(opened(path)) == ["a", "h1", "b"]


def test_whoever_reads_leaves_no_trace_and_hinders_nobody(path: Path) -> None:
    path.write_bytes(file_of(A))
    readers = [opened(path, read_only=True) for _ in range(3)]
    assert names_beside(path) == {"s.jsonl"}
    store = opened(path)
    for reader in readers:
        reader.close()
    assert names_beside(path) == {"s.jsonl", "s.jsonl.lock"}
    with pytest.raises(SessionInUse):
        opened(path)
    store.append([B])


@pytest.mark.parametrize("alias", [same, link_to_file, link_to_folder, relative])
def test_of_two_that_begin_one_session_the_second_to_append_is_refused(
    path: Path, disk: FaultyDisk, alias: Callable[[Path], Path]
) -> None:
    other = alias(path)
    first, second = opened(path, disk), opened(other, disk)
    second.append([B])
    assert not path.is_symlink()
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(SessionInUse) as caught:
            first.append([A])
        assert caught.value.owner is not None
        assert caught.value.owner.pid == os.getpid()
        assert (path.read_bytes(), len(first.tree)) == (before, 0)
    second.append([C])
    second.close()
    # it is another session than the one that was to be begun
    with pytest.raises(StoreConflict) as conflict:
        first.append([A])
    assert conflict.value.what == "begun"
    first.close()
    assert ids_of(opened(path)) == ["b", "c"]
    assert path.read_bytes().count(HEAD) == 1


@pytest.mark.parametrize("content", [None, b"", file_of(A)])
def test_of_many_threads_one_writes_and_nothing_is_mixed(path: Path, content: bytes | None) -> None:
    """A store is one owner's; each thread opens its own."""
    if content is not None:
        path.write_bytes(content)
    start = threading.Barrier(8)
    all_tried = threading.Barrier(8)
    refused: list[SessionInUse | StoreConflict] = []
    wrote: list[int] = []
    strange: list[BaseException] = []

    def act(n: int) -> None:
        start.wait()
        store = None
        try:
            store = opened(path)
            for k in range(20):
                store.append([line(f"t{n}-{k}", text="x" * 500 * n), line(f"u{n}-{k}")])
            wrote.append(n)
        except SessionInUse as error:
            refused.append(error)
        except StoreConflict as error:  # between the making of the new file and its lock it is begun, and nobody's yet
            (refused if content is None and error.what == "begun" else strange).append(error)
        except BaseException as error:  # noqa: BLE001 - told by the thread that looks
            strange.append(error)
        all_tried.wait()
        if store is not None:
            store.close()

    threads = [threading.Thread(target=act, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert strange == []
    [n] = wrote
    assert len(refused) == 7
    again = opened(path)
    assert not again.damage or [one.kind for one in again.damage] == ["several_roots"]
    wanted = [f"{kind}{n}-{k}" for k in range(20) for kind in "tu"]
    assert ids_of(again) == (["a"] if content else []) + wanted


THEIRS: Final = {
    "a line": (line("t0", "a") + b"\n",),
    "two lines": (line("t0", "a") + b"\n" + line("t1", "t0") + b"\n",),
    "a line without its end": (line("t0", "a"), b"\n"),
    "half a line and its rest": (line("t0", "a")[:30], line("t0", "a")[30:] + b"\n"),
    "an end alone": (b"\n",),
}


@pytest.mark.parametrize("when", ["before", "under way", "staged", "behind"])
@pytest.mark.parametrize("theirs", THEIRS.values(), ids=THEIRS)
@pytest.mark.parametrize("tail", [b"", line("x", "a"), line("x", "a")[:30]], ids=["whole", "unended", "torn"])
def test_whatever_somebody_without_a_lock_appends_the_tree_is_the_files(
    path: Path, disk: FaultyDisk, tail: bytes, theirs: tuple[bytes, ...], when: str
) -> None:
    """As Pi does. Ours used to stand before theirs in the tree, and behind them in the file."""
    path.write_bytes(file_of(A) + tail)
    store = opened(path, disk)

    def grow() -> None:
        with path.open("ab") as other:
            other.write(rest.pop(0))

    def write(descriptor: int, data: bytes) -> int:
        grow()
        return disk.real.write(descriptor, data)

    rest = [*theirs, b""]
    if when == "before":
        grow()
    if when == "under way":
        setattr(disk, "write", write)  # noqa: B010 - a method is not to be assigned, for the type checkers
    try:
        store.stage([B])
    except StoreConflict as error:
        conflict: str | None = error.what
    else:
        conflict = None
    if conflict is not None:
        assert (when, conflict) == ("under way", "changed")
        assert theirs[0][-1:] != b"\n"
        del disk.write
        store.stage([line("again", "a")])
    if when == "under way" and "write" in vars(disk):
        del disk.write
    if when == "staged":
        grow()
    store.commit()
    while rest:
        grow()
        store.refresh()
    store.append([C])
    content, seen = path.read_bytes(), lines_of(store)
    assert content.startswith(file_of(A) + tail)

    store.close()
    again = opened(path)
    assert lines_of(again) == seen
    assert [again.tree.parent(n) for n in range(len(seen))] == [store.tree.parent(n) for n in range(len(seen))]
    assert {"a", "c"} <= {*ids_of(again)}


def test_an_id_that_somebody_without_a_lock_has_taken_meanwhile_is_taken(path: Path) -> None:
    path.write_bytes(file_of(A))
    store = opened(path)
    with path.open("ab") as other:
        other.write(line("b", "a", text="theirs") + b"\n")
    before = path.read_bytes()
    with pytest.raises(NotAnEntry):
        store.append([B])

    assert path.read_bytes() == before
    assert lines_of(store) == [A, line("b", "a", text="theirs")]


def test_what_a_new_session_makes_is_private_whatever_the_umask(tmp_path: Path) -> None:
    for mask in (0, 0o022, 0o777):
        path = tmp_path / f"{mask}" / "deep" / "s.jsonl"
        before = os.umask(mask)
        try:
            store = opened(path)
            store.append([A])
            made = [path.parent.parent, path.parent, path, path.with_name("s.jsonl.lock")]
            assert [stat.S_IMODE(one.stat().st_mode) for one in made] == [0o700, 0o700, 0o600, 0o600]
            path.unlink()
            store.restore()
        finally:
            os.umask(before)
        assert [stat.S_IMODE(one.stat().st_mode) for one in made] == [0o700, 0o700, 0o600, 0o600]
        store.close()


def test_a_later_versions_file_that_nobody_can_write_is_locked_by_nobody(path: Path) -> None:
    path.write_bytes(file_of(A, head=HEAD.replace(b'"version":3', b'"version":4')))
    first, second = opened(path), opened(path)
    assert first.read_only
    assert second.read_only
    assert names_beside(path) == {"s.jsonl"}


def test_a_version_1_file_is_held_until_its_copy_is(path: Path) -> None:
    path.write_bytes(old_file())
    first = opened(path)
    with pytest.raises(SessionInUse):
        opened(path)
    first.append([line("new")])
    with pytest.raises(SessionInUse):
        opened(first.where)
    second = opened(path)  # and begins a copy of its own
    second.append([line("newer")])

    assert second.where != first.where
    assert path.read_bytes() == old_file()


@pytest.mark.parametrize("commit", [False, True])
def test_a_copy_that_is_closed_before_it_is_committed_is_nowhere(path: Path, disk: FaultyDisk, *, commit: bool) -> None:
    """Its descriptors and its lock used to stay."""
    path.write_bytes(old_file())
    store = opened(path, disk)
    store.stage([line("new")])
    if commit:
        store.commit()
    store.close()

    assert disk.open_descriptors == set()
    assert names_beside(path) == ({"s.jsonl", "s.v3.jsonl"} if commit else {"s.jsonl"})


def nothing_may_be_made(path: Path, disk: FaultyDisk, number: int) -> None:
    disk.plan = lambda _number, name: number if name in {"check_folder", "create", "make_folder"} else None


def nothing_may_be_appended(path: Path, disk: FaultyDisk, number: int) -> None:
    disk.plan = lambda _number, name: number if name in {"open_append", "create", "unlink"} else None


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EPERM])
@pytest.mark.parametrize(
    ("content", "refuse"),
    [(None, nothing_may_be_made), (old_file(), nothing_may_be_made)]
    + [(content, nothing_may_be_appended) for content in (b"", file_of(A))],
    ids=["new", "version 1", "empty", "a session"],
)
def test_what_may_not_be_written_is_said_when_it_is_opened(
    path: Path,
    disk: FaultyDisk,
    content: bytes | None,
    refuse: Callable[[Path, FaultyDisk, int], None],
    number: int,
) -> None:
    if content is not None:
        path.write_bytes(content)
    before = folder_of(path)
    refuse(path, disk, number)
    with pytest.raises(CannotOpen) as caught:
        opened(path, disk)
    assert (caught.value.path, caught.value.errno) == (str(path), number)
    assert os.strerror(number) in str(caught.value)
    assert str(path) in str(caught.value)

    if content is None:
        with pytest.raises(CannotOpen, match="ENOENT"):
            opened(path, disk, read_only=True)
    else:
        reader = opened(path, disk, read_only=True)
        assert len(reader.tree) == content.count(b"\n") - (1 if content else 0)
        reader.close()
    assert disk.open_descriptors == set()
    assert folder_of(path) == before


def test_a_path_below_a_file_is_none(path: Path) -> None:
    path.write_bytes(file_of(A))
    for read_only in (False, True):
        with pytest.raises(CannotOpen) as caught:
            opened(path / "s.jsonl", read_only=read_only)
        assert (caught.value.path, caught.value.errno) == (str(path / "s.jsonl"), errno.ENOTDIR)


def test_on_a_file_system_that_is_read_only_sessions_are_read(path: Path) -> None:
    path.write_bytes(file_of(A, B))
    path.with_name("old.jsonl").write_bytes(old_file())
    with read_only_mount(path.parent):
        for name in ("s.jsonl", "new.jsonl", "old.jsonl", "deep/er/new.jsonl"):
            with pytest.raises(CannotOpen) as caught:
                opened(path.parent / name)
            assert caught.value.errno == errno.EROFS
        reader = opened(path, read_only=True)
        assert lines_of(reader) == [A, B]
        reader.close()
    assert names_beside(path) == {"s.jsonl", "old.jsonl"}


AS_NOBODY: Final = """
import errno, os, sys
folder, = sys.argv[1:]
os.setgid(65534)
os.setgroups([])
os.setuid(65534)
for name in ("0444.jsonl", "0555/new.jsonl", "0555/deep/er.jsonl", "0555/v1.jsonl", "0000/s.jsonl", "0000/s/s.jsonl"):
    try:
        opened(os.path.join(folder, name))
    except CannotOpen as error:
        print(name, errno.errorcode[error.errno], error.path == os.path.join(folder, name))
for name in ("0444.jsonl", "0555/s.jsonl", "0555/v1.jsonl"):
    print(name, len(opened(os.path.join(folder, name), read_only=True).tree))
store = opened(os.path.join(folder, "0555/s.jsonl"))
store.append([line("more")])
print(len(store.tree))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody whom modes bind")
def test_modes_that_forbid_it_are_told_when_it_is_opened_for_writing() -> None:
    """In a process of somebody else, since nothing is forbidden to root."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "0444.jsonl").write_bytes(file_of(A))
        for name in ("0555", "0000"):
            (folder / name).mkdir()
        for name, content in (("s", file_of(A)), ("v1", old_file())):
            (folder / "0555" / f"{name}.jsonl").write_bytes(content)
            (folder / "0555" / f"{name}.jsonl").chmod(0o666)
        for name in ("0444.jsonl", "0555", "0000"):
            (folder / name).chmod(int(name[:4], 8))
        folder.chmod(0o755)
        imports = "from sapwood.events.errors import CannotOpen\nfrom tests.store.stores import line, opened\n"
        done = subprocess.run(
            [sys.executable, "-c", imports + AS_NOBODY, str(folder)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        assert done.stdout.splitlines() == [
            "0444.jsonl EACCES True",
            "0555/new.jsonl EACCES True",
            "0555/deep/er.jsonl EACCES True",
            "0555/v1.jsonl EACCES True",
            "0000/s.jsonl EACCES True",
            "0000/s/s.jsonl EACCES True",
            "0444.jsonl 1",
            "0555/s.jsonl 1",
            "0555/v1.jsonl 3",
            "2",
        ]
        assert sorted(one.name for one in (folder / "0555").iterdir()) == ["s.jsonl", "v1.jsonl"]


def test_a_forked_child_is_a_second_writer(path: Path) -> None:
    """It used to write behind its parent's back: both appended under the same leaf."""
    store = opened(path)
    store.append([A])
    before = path.read_bytes()
    child = os.fork()
    if child == 0:
        refused = 0
        for act in (lambda: store.append([B]), store.restore):
            try:
                act()
            except SessionInUse as error:
                refused += error.owner is not None and error.owner.pid == os.getppid()
        os._exit(refused)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert path.read_bytes() == before
    store.append([B])
    assert ids_of(store) == ["a", "b"]


@pytest.mark.parametrize("written", [False, True])
def test_a_forked_child_that_closes_takes_nothing_back(path: Path, written: bool) -> None:
    """It used to cut off, or to unlink, what its parent had staged and then acknowledged."""
    store = opened(path)
    if written:
        store.append([A])
    store.stage([B])
    store.sync()
    child = os.fork()
    if child == 0:
        store.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.commit()

    assert lines_of(store) == lines_of(reread(path)) == ([A, B] if written else [B])
    store.append([C])


class Crowded(RealDisk):
    """Before and after each call that opens or closes something, a stranger's file takes the number that is free, and a line is read."""

    def __init__(self, other: Path) -> None:
        self._other = other
        self.store: JsonlStore | None = None
        self.seen: list[bytes] = []

    def _look(self) -> None:
        if self.store is not None:
            with self._other.open("rb"):
                self.seen.append(self.store.line(0))

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self._look()

    def exchange(self, descriptor: int, new: int) -> None:
        self._look()
        super().exchange(descriptor, new)
        self._look()


def test_what_is_read_while_the_file_is_put_back_is_the_sessions(path: Path) -> None:
    """A descriptor used to be closed under whoever read by it: bytes of the next file that was opened came back."""
    other = path.with_name("other.jsonl")
    other.write_bytes(file_of(*([C] * 20)))
    disk = Crowded(other)
    store = opened(path, disk)
    store.append([A, B])
    path.unlink()
    disk.store = store
    store.restore()

    assert len(disk.seen) > 3
    assert {*disk.seen} == {A}
