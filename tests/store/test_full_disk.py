"""A session on a disk that is full, or fails at any call: it goes on where it was as soon as the disk is well."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import pytest

from sapwood.events.errors import CannotOpen, CannotWrite
from sapwood.store.jsonl import JsonlStore
from tests.store.faults import ERRNOS, FaultyDisk
from tests.store.mounting import small_disk
from tests.store.stores import file_of, header_of, ids_of, line, lines_of, old_file, opened, shape_of

Plan = Callable[[int, str], int | None]


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.let_go()


def well(_number: int, _name: str) -> None:
    return None


@attrs.define
class Life:
    """A session's life on a disk that fails, and what was acknowledged in it. What was refused is asked for again, on a well disk."""

    path: Path
    disk: FaultyDisk
    plan: Plan
    store: JsonlStore
    held: list[bytes]
    failed: list[int | None] = attrs.field(factory=list[int | None])

    def live(self) -> None:
        """All that a store can be asked."""
        self.append(line("p"))
        self.harden(line("q", "p"), line("r", "q", text="x" * 300))
        self.grow(line("theirs0"))
        self.ask(self.store.refresh)
        self.give_up(line("none", text="y" * 200))
        self.ask(self.store.refresh)  # what could not be cut is cut, before somebody else writes behind it
        self.grow(line("theirs1"))
        self.harden(line("s", "r"))
        Path(self.store.where).unlink()
        self.ask(self.store.restore)
        self.harden(line("t", "s"))
        self.give_up(line("nor"))
        self.append(line("u", "t"), line("v", "u"))

    def grow(self, theirs: bytes) -> None:
        """Somebody else appends."""
        with Path(self.store.where).open("ab") as other:
            other.write(theirs + b"\n")
        self.held.append(theirs)

    def append(self, *lines: bytes) -> None:
        self.ask(partial(self.store.append, lines))
        self.keep(lines)

    def harden(self, *lines: bytes) -> None:
        self.ask(partial(self._harden, lines))
        self.keep(lines)

    def give_up(self, *lines: bytes) -> None:
        self.ask(partial(self._give_up, lines))
        self.keep(())

    def ask(self, act: Callable[[], object]) -> None:
        """Do it; if the disk fails, nothing has changed, and it goes well when the disk is."""
        shape = shape_of(self.store)
        self.disk.plan = self.plan
        try:
            act()
        except (CannotWrite, CannotOpen) as error:
            self.failed.append(error.errno)
        else:
            return
        finally:
            self.disk.plan = well
        now = shape_of(self.store)
        assert now[: len(shape)] == shape
        assert {one[0] for one in now[len(shape) :]} <= {"theirs0", "theirs1"}
        act()

    def keep(self, lines: Sequence[bytes]) -> None:
        self.held += lines
        now = lines_of(self.store)
        self.held += now[len(self.held) :]  # a fork's marker
        assert now == self.held

    def _harden(self, lines: Sequence[bytes]) -> None:
        self.store.stage(lines)
        try:
            self.store.sync()
        except CannotWrite:
            self.store.discard()
            raise
        self.store.commit()

    def _give_up(self, lines: Sequence[bytes]) -> None:
        self.store.stage(lines)
        self.store.discard()

    def end(self) -> None:
        """Nothing is left of what was refused, and nobody is kept out."""
        shape = shape_of(self.store)
        self.store.close()
        assert self.disk.open_descriptors == set()
        again = opened(self.store.where)
        assert (lines_of(again), shape_of(again)) == (self.held, shape)
        again.close()


CONTENTS: Final[dict[str, bytes | None]] = {
    "new": None,
    "empty": b"",
    "a session": file_of(line("a"), line("b", "a")),
    "torn": file_of(line("a")) + line("b")[:-9],
    "version 1": old_file(),
    "version 2": file_of(line("a"), head=header_of(2) + b"\n"),
}


def life(path: Path, disk: FaultyDisk, content: bytes | None, plan: Plan) -> Life:
    path.parent.mkdir(parents=True)
    if content is not None:
        path.write_bytes(content)
    disk.plan = well
    store = opened(path, disk)
    disk.calls.clear()
    return Life(path, disk, plan, store, lines_of(store))


def calls_of(path: Path, disk: FaultyDisk, content: bytes | None) -> list[str]:
    whole = life(path, disk, content, well)
    whole.live()
    calls = list(disk.calls)
    whole.end()
    return calls


def at(nth: int, number: int) -> Plan:
    """This one call."""
    return lambda call, _name: number if call == nth else None


def from_there_on(nth: int, number: int) -> Plan:
    """Till the end of what was asked."""
    return lambda call, _name: number if call >= nth else None


@pytest.mark.slow
@pytest.mark.parametrize("how", [at, from_there_on])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_whatever_call_fails_nothing_is_lost_and_all_goes_well_after_it(
    tmp_path: Path, disk: FaultyDisk, content: bytes | None, how: Callable[[int, int], Plan]
) -> None:
    fail_everywhere(tmp_path, disk, content, how, lambda nth, _call: [(ERRNOS[nth % len(ERRNOS)], 60)])


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("how", [at, from_there_on])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_in_whatever_way_a_call_fails(
    tmp_path: Path, disk: FaultyDisk, content: bytes | None, how: Callable[[int, int], Plan]
) -> None:
    def ways(_nth: int, call: str) -> list[tuple[int, int]]:
        # only a write can have taken something before it failed
        taken = (0, 1, 60, 10_000) if call == "write" else (60,)
        return [(number, bytes_taken) for number in ERRNOS for bytes_taken in taken]

    fail_everywhere(tmp_path, disk, content, how, ways)


def fail_everywhere(
    tmp_path: Path,
    disk: FaultyDisk,
    content: bytes | None,
    how: Callable[[int, int], Plan],
    ways: Callable[[int, str], list[tuple[int, int]]],
) -> None:
    calls = calls_of(tmp_path / "whole" / "s.jsonl", disk, content)
    assert {"write", "sync", "sync_folder", "status", "truncate", "rename", "read"} <= {*calls}
    told = 0
    for nth in range(len(calls)):
        for number, taken in ways(nth, calls[nth]):
            disk.takes_before_failing = taken
            one = life(tmp_path / f"{nth}-{number}-{taken}" / "s.jsonl", disk, content, how(nth, number))
            one.live()
            one.end()
            assert set(one.failed) <= {number}
            told += len(one.failed)
    assert told > len(calls) // 3  # the others are made by whoever looks, or their failing does not matter


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_write_that_is_short_or_interrupted_is_gone_on_with(
    tmp_path: Path, disk: FaultyDisk, content: bytes | None
) -> None:
    def interrupted(number: int, name: str) -> int | None:
        return errno.EINTR if name == "write" and number % 2 else None

    for takes in (7, 100):
        disk.takes = takes
        one = life(tmp_path / f"{takes}" / "s.jsonl", disk, content, interrupted)
        one.live()
        assert one.failed == []
        one.end()


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_closing_on_a_disk_that_fails_lets_everything_go(
    tmp_path: Path, disk: FaultyDisk, content: bytes | None
) -> None:
    for nth in range(12):
        for how in (at, from_there_on):
            one = life(tmp_path / f"{nth}-{how.__name__}" / "s.jsonl", disk, content, well)
            one.append(line("p"))
            one.store.stage([line("none")])
            disk.plan = how(len(disk.calls) + nth, errno.EIO)
            one.store.close()
            disk.plan = well
            assert disk.open_descriptors == set()
            again = opened(one.store.where)
            assert lines_of(again)[: len(one.held)] == one.held
            assert {*ids_of(again)[len(one.held) :]} <= {"none"}  # where it could not be cut
            again.close()


@pytest.mark.parametrize("content", [one for name, one in CONTENTS.items() if name != "version 1"])
def test_what_was_refused_is_not_there_when_the_session_is_opened_again(
    tmp_path: Path, disk: FaultyDisk, content: bytes | None
) -> None:
    """A look that fails behind a write that went well, a cut that fails, and a close on a disk that is well."""
    one = life(tmp_path / "folder" / "s.jsonl", disk, content, well)
    folder = tmp_path / "folder"
    before = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.suffix == ".jsonl"}

    def plan(_number: int, name: str) -> int | None:
        written = any(b'"refused"' in entry.read_bytes() for entry in folder.iterdir())
        return errno.EIO if written and name != "write" else None

    disk.plan = plan
    with pytest.raises(CannotWrite):
        one.store.append([line("refused")])
    assert any(b'"refused"' in entry.read_bytes() for entry in folder.iterdir())
    disk.plan = well
    one.store.close()

    assert disk.open_descriptors == set()
    for entry in folder.iterdir():
        assert entry.read_bytes() == before.get(entry.name, b"")


@pytest.mark.parametrize("durability", ["os", "disk"])
def test_a_disk_that_is_really_full(tmp_path: Path, durability: str) -> None:
    with small_disk(tmp_path / "small", "64k"):
        path, ballast = tmp_path / "small" / "s.jsonl", tmp_path / "small" / "ballast"
        ballast.write_bytes(b"x" * 20_000)
        store = opened(path)
        told: list[bytes] = []

        def append(one: bytes) -> None:
            store.stage([one])
            if durability == "disk":
                store.sync()
            store.commit()
            told.append(one)

        def fill() -> None:
            for n in range(1000):
                append(line(f"e{len(told)}-{n}", text="y" * 1500))

        for _ in range(2):
            with pytest.raises(CannotWrite) as caught:
                fill()
            assert caught.value.errno == errno.ENOSPC
            assert caught.value.path == str(path)
            # nothing is left of the one that was refused, and all others are read
            assert path.read_bytes() == file_of(*told)
            assert lines_of(store) == told
            reader = opened(path, read_only=True)
            assert lines_of(reader) == told
            reader.close()
            os.truncate(ballast, ballast.stat().st_size - 8_192)
            append(line(f"free{len(told)}", text="z" * 3000))
        store.close()
        assert lines_of(opened(path)) == told


def test_a_new_session_on_a_disk_that_is_really_full_waits_for_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "64k"):
        path, ballast = tmp_path / "small" / "deep" / "s.jsonl", tmp_path / "small" / "ballast"
        with pytest.raises(OSError, match="No space"):
            ballast.write_bytes(b"x" * 100_000)
        store = opened(path)
        for _ in range(2):
            with pytest.raises(CannotWrite) as caught:
                store.append([line("a")])
            assert caught.value.errno == errno.ENOSPC
            assert not path.exists()
        ballast.unlink()
        store.append([line("a")])
        assert path.read_bytes() == file_of(line("a"))
        store.close()
