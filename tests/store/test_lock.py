"""One writer a session: the lock, and the record that tells others of it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs
import pytest

from sapwood.events.base import Json
from sapwood.events.errors import SessionInUse, Writer
from sapwood.store.disk import RealDisk
from sapwood.store.lock import LONGEST, SUFFIX, WriterLock
from tests.build import TIME
from tests.store.faults import ERRNOS, FaultyDisk
from tests.store.stores import file_of, line
from tests.store.writer import running

ME: Final = Writer(pid=os.getpid(), host="here", since=TIME)
SINCE: Final = "2020-02-02T00:00:00.000Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    return path


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.let_go()


class Holder:
    """A file that is open, and its lock."""

    def __init__(self, disk: FaultyDisk, path: Path, me: Writer = ME) -> None:
        self.disk = disk
        self.path = path
        self.lock = WriterLock(disk, lambda: me)
        self.descriptor = disk.open_read(str(path))

    def take(self) -> Holder:
        self.lock.take(self.descriptor, str(self.path))
        return self

    def refused(self) -> Writer | None:
        """Who is named when the lock is not to be had."""
        with pytest.raises(SessionInUse) as caught:
            self.take()
        assert caught.value.path == str(self.path)
        return caught.value.owner

    def let_go(self) -> None:
        self.lock.give_back()
        self.disk.close(self.descriptor)


def record_of(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)


def test_the_second_is_told_of_the_first_and_comes_after_it(path: Path, disk: FaultyDisk) -> None:
    first, second = Holder(disk, path).take(), Holder(disk, path)
    assert second.refused() == second.refused() == ME
    first.let_go()
    assert not record_of(path).exists()
    second.take().let_go()
    assert [one.name for one in path.parent.iterdir()] == ["s.jsonl"]


def test_who_is_refused_leaves_the_record_to_its_owner(path: Path, disk: FaultyDisk) -> None:
    Holder(disk, path).take()
    before = record_of(path).read_bytes()
    second = Holder(disk, path)
    second.refused()
    second.let_go()

    assert record_of(path).read_bytes() == before


def test_the_record_says_who_holds_it(path: Path, disk: FaultyDisk) -> None:
    Holder(disk, path).take()

    record = json.loads(record_of(path).read_bytes())
    assert record.pop("process") == disk.real.process(os.getpid())
    assert record == {"pid": os.getpid(), "host": "here", "since": TIME}


def test_the_number_of_the_process_is_the_systems_whatever_is_said_of_it(path: Path, disk: FaultyDisk) -> None:
    holder = Holder(disk, path, attrs.evolve(ME, pid=0)).take()

    holder.lock.keep_children_out(str(path))
    assert Holder(disk, path).refused() == ME


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_the_record_is_private_whatever_the_umask(path: Path, disk: FaultyDisk, mask: int) -> None:
    before = os.umask(mask)
    try:
        Holder(disk, path).take()
    finally:
        os.umask(before)

    assert stat.S_IMODE(record_of(path).stat().st_mode) == 0o600


def link_to_file(path: Path) -> Path:
    link = path.with_name("link")
    link.symlink_to(path)
    return link


def link_to_folder(path: Path) -> Path:
    (path.parent.parent / "folder").unlink(missing_ok=True)
    (path.parent.parent / "folder").symlink_to(path.parent)
    return path.parent.parent / "folder" / path.name


def roundabout(path: Path) -> Path:
    return path.parent / ".." / path.parent.name / path.name


def relative(path: Path) -> Path:
    return Path(os.path.relpath(path))


def hard_link(path: Path) -> Path:
    (path.parent / "other").mkdir()
    (path.parent / "other" / "hard").hardlink_to(path)
    return path.parent / "other" / "hard"


@pytest.mark.parametrize("alias", [link_to_file, link_to_folder, roundabout, relative])
def test_the_lock_is_one_for_all_paths_of_a_file(path: Path, disk: FaultyDisk, alias: Callable[[Path], Path]) -> None:
    other = alias(path)
    for one, two in ((path, other), (other, path)):
        first = Holder(disk, one).take()
        assert record_of(path).exists()
        assert Holder(disk, two).refused() == ME
        first.let_go()
        Holder(disk, two).take().let_go()
        assert not record_of(path).exists()


def test_of_a_hard_link_the_kernel_knows_who_holds_it(path: Path, disk: FaultyDisk) -> None:
    """No record lies beside it."""
    other = hard_link(path)
    for one, two in ((path, other), (other, path)):
        first = Holder(disk, one).take()
        assert Holder(disk, two).refused() == Writer(pid=os.getpid(), host="here")
        first.let_go()
        Holder(disk, two).take().let_go()
    assert not record_of(path).exists()
    assert not record_of(other).exists()


def record(**fields: Json) -> bytes:
    process = RealDisk().process(os.getpid())
    return json.dumps({"pid": os.getpid(), "host": "here", "since": SINCE, "process": process, **fields}).encode()


RECORDS: Final[dict[str, tuple[bytes, str | None]]] = {
    "empty": (b"", None),
    "garbage": (b"4711 somewhere\n", None),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\xff\xfe", None),
    "cut": (record()[:-9], None),
    "an array": (b"[1]", None),
    "another shape": (b'{"pid":"1","host":"here"}', None),
    "more fields": (record(colour="red"), None),
    "an abyss": (b'{"pid":' + b"[" * 4000, None),
    "an abyss in a field": (record()[:-1] + b',"x":' + b"[" * 3000, None),
    "too long": (b" " * LONGEST + record(), None),
    "no UTF-8": (b'{"pid":1,"host":"\xff","since":"","process":""}', None),
    "a process that is dead": (record(pid=2**22 + 1), None),
    "a process with another start": (record(process="1"), None),
    "a process that was none": (record(process=""), None),
    "a negative process": (record(pid=-1), None),
    "a long number": (b'{"pid":' + b"9" * 400 + b',"host":"here","since":"","process":""}', None),
    "another machine": (record(host="there", process="1"), "there"),
    "this process": (record(), "here"),
}
"""What may lie there while somebody else holds the lock, and which host is named by it, if it is believed."""


@pytest.mark.parametrize(("text", "host"), RECORDS.values(), ids=RECORDS)
def test_a_record_decides_nothing(path: Path, disk: FaultyDisk, text: bytes, host: str | None) -> None:
    first, second = Holder(disk, path).take(), Holder(disk, path)
    record_of(path).write_bytes(text)
    kernels_word = Writer(pid=os.getpid(), host="here")
    assert second.refused() == (kernels_word if host is None else Writer(pid=os.getpid(), host=host, since=SINCE))

    first.let_go()
    record_of(path).write_bytes(text)  # as a dead owner leaves it
    second.take()
    if len(text) > LONGEST or not text.startswith(b'{"pid":'):  # no record of ours, and no business of ours
        assert Holder(disk, path).refused() == kernels_word
        second.let_go()
        assert record_of(path).read_bytes() == text
        return
    assert Holder(disk, path).refused() == ME
    second.let_go()
    assert not record_of(path).exists()


@pytest.mark.parametrize("theirs", [file_of(line("a")), b"my own file\n", b"", b'{"pi":3}'])
def test_what_somebody_else_calls_like_a_record_is_left_alone(path: Path, disk: FaultyDisk, theirs: bytes) -> None:
    """It used to be deleted: sessions at first, and then whatever was short."""
    record_of(path).write_bytes(theirs)

    holder = Holder(disk, path).take()
    assert Holder(disk, path).refused() == Writer(pid=os.getpid(), host="here")
    holder.let_go()

    assert record_of(path).read_bytes() == theirs


def test_a_forked_child_gives_nothing_away(path: Path, disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exit used to give the lock of its parent away."""
    owner = WriterLock(disk, lambda: ME)
    descriptor = disk.open_append(str(path))
    owner.take(descriptor, str(path))

    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: ME.pid + 1)
        with pytest.raises(SessionInUse) as caught:
            owner.keep_children_out(str(path))
        assert caught.value.owner == ME
        owner.give_back()
    owner.keep_children_out(str(path))

    assert record_of(path).exists()
    assert not disk.real.lock(disk.open_append(str(path)))


def test_who_holds_it_is_one_and_the_same_for_all_who_are_told(
    path: Path, disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It used to be asked for at each turn, and a child was told another time than the record."""
    asked = iter(attrs.evolve(ME, since=f"2026-01-01T00:00:0{n}.000Z") for n in range(9))
    owner, new = WriterLock(disk, lambda: next(asked)), path.with_name("new")
    owner.take(disk.open_append(str(path)), str(path))
    told = [Holder(disk, path).refused()]
    new.write_bytes(b"")
    descriptor = disk.open_read(str(new))
    assert disk.lock(descriptor)
    owner.move(descriptor, str(new))

    told.append(Holder(disk, new).refused())
    monkeypatch.setattr(os, "getpid", lambda: ME.pid + 1)
    with pytest.raises(SessionInUse) as caught:
        owner.keep_children_out(str(path))

    assert [*told, caught.value.owner] == [attrs.evolve(ME, since="2026-01-01T00:00:00.000Z")] * 3


@pytest.mark.parametrize("since", ["9999-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", ""])
def test_a_clock_that_is_set_back_or_forward_changes_nothing(path: Path, disk: FaultyDisk, since: str) -> None:
    other = Writer(pid=os.getpid(), host="here", since=since)
    first, second = Holder(disk, path, other).take(), Holder(disk, path)
    os.utime(record_of(path), (4e9, 4e9))
    assert second.refused() == other
    first.let_go()
    second.take()


def test_the_record_of_another_process_is_believed_as_long_as_it_lives(path: Path, disk: FaultyDisk) -> None:
    Holder(disk, path).take()
    with running("cat") as child:
        record_of(path).write_bytes(record(pid=child.pid, process=disk.real.process(child.pid)))
        assert Holder(disk, path).refused() == Writer(pid=child.pid, host="here", since=SINCE)
    assert Holder(disk, path).refused() == Writer(pid=os.getpid(), host="here")


def test_what_else_lies_at_the_records_name_does_not_matter(path: Path, disk: FaultyDisk) -> None:
    def folder(name: Path) -> None:
        name.mkdir()
        (name / "full").write_bytes(b"")

    def pipe(name: Path) -> None:
        os.mkfifo(name)

    def nowhere(name: Path) -> None:
        name.symlink_to("nowhere")

    for make in (folder, pipe, nowhere):
        make(record_of(path))
        first = Holder(disk, path).take()
        assert Holder(disk, path).refused() == Writer(pid=os.getpid(), host="here")
        first.let_go()
        record_of(path).lstat()  # it is there still
        if record_of(path).is_dir():
            (record_of(path) / "full").unlink()
            record_of(path).rmdir()
        else:
            record_of(path).unlink()
    assert [one.name for one in path.parent.iterdir()] == ["s.jsonl"]


def test_what_a_record_links_to_is_not_written(path: Path, disk: FaultyDisk) -> None:
    target = path.with_name("precious")
    target.write_bytes(b"precious")
    record_of(path).symlink_to(target)
    Holder(disk, path).take().let_go()

    assert target.read_bytes() == b"precious"


def test_a_record_that_somebody_else_has_put_there_is_not_taken_away(path: Path, disk: FaultyDisk) -> None:
    first = Holder(disk, path).take()
    path.rename(path.with_name("moved"))
    path.write_bytes(b"")
    other = attrs.evolve(ME, since=SINCE)
    second = Holder(disk, path, other).take()
    theirs = record_of(path).read_bytes()
    first.let_go()

    assert record_of(path).read_bytes() == theirs
    assert Holder(disk, path).refused() == other
    second.let_go()


CALLS: Final = ["lock", "real_path", "process", "open_read", "create", "write", "close"]


def test_taking_the_lock_makes_these_calls(path: Path, disk: FaultyDisk) -> None:
    holder = Holder(disk, path)
    disk.calls.clear()
    holder.take()
    assert disk.calls == CALLS
    disk.calls.clear()
    holder.lock.give_back()
    assert disk.calls == ["open_read", "read", "close", "unlink", "unlock"]


@pytest.mark.parametrize("and_on", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("nth", range(1, len(CALLS)))
def test_a_record_that_cannot_be_written_does_not_matter(path: Path, disk: FaultyDisk, nth: int, and_on: bool) -> None:
    for number in ERRNOS:
        for taken in (0, 9, 10_000):
            holder = Holder(disk, path)
            disk.takes_before_failing = taken
            with disk.failing(number, only=nth, and_on=and_on):
                holder.take()
            other = Holder(disk, path)
            owner = other.refused()
            assert owner is not None
            assert owner.pid == os.getpid()
            other.let_go()
            holder.let_go()
            assert disk.open_descriptors == set()
            assert [one.name for one in path.parent.iterdir()] == ["s.jsonl"]


def test_a_record_that_is_taken_in_parts_is_whole(path: Path, disk: FaultyDisk) -> None:
    disk.takes = 7
    Holder(disk, path).take()

    assert Holder(disk, path).refused() == ME


@pytest.mark.parametrize("number", ERRNOS)
def test_a_lock_that_cannot_be_asked_for_is_not_had(path: Path, disk: FaultyDisk, number: int) -> None:
    holder = Holder(disk, path)
    with disk.failing(number, names=("lock",)), pytest.raises(OSError, match=os.strerror(number)):
        holder.take()

    assert not record_of(path).exists()
    Holder(disk, path).take()


@pytest.mark.parametrize("nth", range(6))
def test_whoever_is_refused_hears_so_even_if_nothing_can_be_learnt_of_the_owner(
    path: Path, disk: FaultyDisk, nth: int
) -> None:
    first = Holder(disk, path).take()
    for number in ERRNOS:
        second = Holder(disk, path)
        with disk.failing(number, only=1 + nth, and_on=True):
            owner = second.refused()
        assert owner in {None, ME} or owner == Writer(pid=os.getpid(), host="here")
        second.let_go()
    first.let_go()
    assert disk.open_descriptors == set()


def test_an_owner_of_whom_nothing_is_known_is_still_an_owner(path: Path, disk: FaultyDisk) -> None:
    Holder(disk, path).take()
    names = ("open_read", "lock_holder")
    second = Holder(disk, path)
    with disk.failing(5, names=names):
        assert second.refused() is None


def test_giving_back_never_fails_and_twice_does_nothing(path: Path, disk: FaultyDisk) -> None:
    for nth in range(5):
        for and_on in (False, True):
            holder = Holder(disk, path).take()
            with disk.failing(5, only=nth, and_on=and_on):
                holder.lock.give_back()
            disk.calls.clear()
            holder.lock.give_back()
            assert disk.calls == []
            disk.close(holder.descriptor)
            assert disk.open_descriptors == set()
            Holder(disk, path).take().let_go()
            assert not record_of(path).exists()


def test_others_are_kept_out_of_a_file_for_a_while(path: Path, disk: FaultyDisk) -> None:
    lock, other = WriterLock(disk, lambda: ME), Holder(disk, path)
    with lock.keeping_out(str(path)):
        assert other.refused() == Writer(pid=os.getpid(), host="here")
    other.take()
    with pytest.raises(SessionInUse) as caught, lock.keeping_out(str(path)):
        pytest.fail("it is held")
    assert caught.value.owner == ME
    other.let_go()
    assert disk.open_descriptors == set()

    path.unlink()
    with lock.keeping_out(str(path)):
        pass
    with pytest.raises(KeyError), lock.keeping_out(str(path)):
        raise KeyError


def test_a_lock_moves_to_another_file(path: Path, disk: FaultyDisk) -> None:
    holder = Holder(disk, path).take()
    new = path.with_name("new")
    new.write_bytes(b"")
    descriptor = disk.open_read(str(new))
    assert disk.lock(descriptor)
    holder.lock.move(descriptor, str(new))

    assert Holder(disk, new).refused() == ME
    assert not record_of(path).exists()
    Holder(disk, path).take().let_go()
    holder.lock.give_back()
    assert not record_of(new).exists()
    Holder(disk, new).take()


def test_a_child_that_has_the_descriptor_from_us_does_not_keep_the_lock(path: Path, disk: FaultyDisk) -> None:
    """As a forked one has. The lock is the open file's, which is not closed before theirs is."""
    holder = Holder(disk, path).take()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[holder.descriptor]):
        assert Holder(disk, path).refused() == ME
        holder.let_go()
        Holder(disk, path).take()
