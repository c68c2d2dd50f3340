"""Plays a recording: what came from outside comes again, in its order, and what the session does is held against what it did.

1. Everything on the tape has its turn as it had it; in between the session comes to rest. Time is virtual, and the clock is the tape's.
2. The first thing that is another one than on the tape, or is missing, ends the comparison: `Replayed.difference` has both.
3. No network, no tool and no file is touched but the recording itself; sections, handlers and the person answer as they did.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Final, Literal, TypeVar

import attrs
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sapwood.events.base import Json
from sapwood.events.errors import SapwoodError, SessionBroken
from sapwood.lending import Lending
from sapwood.recording.errors import BadRecording
from sapwood.recording.line import apart
from sapwood.recording.redoing import redo, redo_lent
from sapwood.recording.reopening import reopened
from sapwood.recording.tape import Thing, parse
from sapwood.recording.values import error_in
from sapwood.session import Session
from sapwood.store.disk import RealDisk

T = TypeVar("T")

STUCK: Final = 30 * 86_400.0
"""Virtual seconds after which what should come will not: longer than any wait of the runtime."""
CUT: Final = "the recording is cut: it has no end"


@attrs.frozen(kw_only=True)
class Departure:
    """The first place where a replay does something else."""

    line: int
    """Of the recording's file."""
    what: str
    expected: str | None
    """What stands there."""
    seen: str | None


@attrs.frozen(kw_only=True)
class Replayed:
    """What came of a replay."""

    path: str
    events: int
    entries: int
    """How many were the same, byte for byte."""
    difference: Departure | None
    cut: bool
    """Whether the recording has no end: what there is of it was compared."""

    @property
    def same(self) -> bool:
        """Whether the whole recording was reproduced."""
        return self.difference is None and not self.cut


@attrs.define(eq=False)
class _Item:
    """Something on the tape that somebody waits for."""

    line: int
    thing: Thing
    arrived: trio.Event = attrs.field(factory=trio.Event)
    granted: trio.Event = attrs.field(factory=trio.Event)


class Replayer:
    """A `Line` that gives what a recording has."""

    def __init__(self, things: Sequence[Thing], *, whole: bool) -> None:
        self._whole = whole
        self._items = [_Item(line, thing) for line, thing in enumerate(things, 2)]
        self._came: dict[str, deque[_Item]] = defaultdict(deque)
        self._drawn: dict[str, deque[_Item]] = defaultdict(deque)
        self._expected: deque[_Item] = deque()
        for item in self._items:
            kind, key = item.thing.kind, item.thing.key
            if kind == "came" or (kind == "left" and not key.startswith("host ")):
                self._came[key].append(item)
            elif kind == "drawn":
                self._drawn[key].append(item)
            elif kind in {"event", "entry"}:
                self._expected.append(item)
        self._session: list[tuple[Session, Lending]] = []
        self._tellers: dict[str, Callable[[Json], None]] = {}
        self._scopes: dict[str, trio.CancelScope] = {}
        self._ended = trio.Event()
        self._left = trio.Event()
        self._happened = trio.Event()
        self._over = False
        self._seq = 0
        self.counts = {"event": 0, "entry": 0}
        self.difference: Departure | None = None

    async def through(
        self,
        key: str,
        work: Callable[[], Awaitable[T]],  # noqa: ARG002 - a recorder's
        encode: Callable[[T], Json],  # noqa: ARG002 - as above
        decode: Callable[[Json], T],
        *,
        deaf: bool = False,
    ) -> T:
        item = self._came[key].popleft() if self._came[key] and not self._over else None
        if item is None or item.thing.kind == "left":
            if deaf:
                await trio.sleep_forever()
            await self._ended.wait()
            return decode(None)
        item.arrived.set()
        self._wake()
        with trio.CancelScope(shield=deaf):
            await item.granted.wait()
        value = item.thing.value
        if "error" in value:
            raise error_in(value["error"])
        return decode(value["gave"])

    def drawn(self, key: str, make: Callable[[], Json]) -> Json:
        queue = self._drawn[key]
        return queue.popleft().thing.value if queue else make()

    async def rest(self) -> None:
        """It has, where a host's turn comes."""

    def hosting(self) -> AbstractContextManager[None]:
        """What a host does has on the tape what was drawn for it."""
        return nullcontext()

    def host(self, value: object) -> int:  # noqa: ARG002 - a recorder's
        return 0

    def lent(self, value: object) -> int:  # noqa: ARG002 - a recorder's
        return 0

    async def doing(self, value: object, work: Callable[[], Awaitable[T]], *, lent: bool = False) -> T:  # noqa: ARG002 - a recorder's
        return await work()

    def opened(self, session: Session, lending: Lending) -> None:
        self._session.append((session, lending))
        self._wake()

    def beside(self, key: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
        return apart(self, key, work)

    def progress(self, key: str, tell: Callable[[Json], None]) -> Callable[[Json], None]:
        self._tellers[key] = tell
        self._wake()
        return lambda _: None

    def witness(self, kind: Literal["event", "entry"], line: bytes) -> None:
        self._seq += kind == "event"
        self._wake()
        if self._over:
            return
        item = self._expected.popleft() if self._expected else None
        if item is None and not self._whole:
            self._end()  # it did more, and nobody wrote it down
            return
        seen = line.decode()
        if item is None or (item.thing.kind, item.thing.value) != (kind, seen):
            last = self._items[-1].line + 1 if self._items else 2
            self._depart(
                last if item is None else item.line,
                f"{kind} {self.counts[kind] + 1}",
                None if item is None else f"{item.thing.kind} {item.thing.value}",
                f"{kind} {seen}",
            )
        else:
            self.counts[kind] += 1

    def close(self) -> None:
        """Nothing is held."""

    async def left(self) -> None:
        """Return when the host left its session, or nothing more is to come."""
        await self._left.wait()

    async def drive(self) -> None:
        """Give everything its turn; returns when all is done, or at the first difference."""
        async with trio.open_nursery() as nursery:
            for item in self._items:
                if not self._over:
                    await self._turn(item, nursery)
            if self.difference is None and self._expected:
                with trio.move_on_after(STUCK):
                    await self._until(lambda: not self._expected)
            if self.difference is None and self._expected and self._whole:
                item = self._expected[0]
                told = f"{item.thing.kind} {item.thing.value}"
                self._depart(item.line, f"{item.thing.kind} {self.counts[item.thing.kind] + 1}", told, None)
            self._end()
            nursery.cancel_scope.cancel("the recording is played")

    async def _turn(self, item: _Item, nursery: trio.Nursery) -> None:
        thing = item.thing
        if thing.kind in {"drawn", "event", "entry"} or (thing.kind == "left" and not thing.key.startswith("host ")):
            return
        with trio.move_on_after(STUCK) as limit:
            await self._until(lambda: self._seq >= thing.seq)
            if thing.kind == "came":
                await self._until(item.arrived.is_set)
            elif thing.kind == "told":
                await self._until(lambda: thing.key in self._tellers)
            elif thing.kind in {"host", "lent"}:
                await self._until(lambda: bool(self._session))
            await wait_all_tasks_blocked()
        if limit.cancelled_caught:
            self._depart(item.line, thing.key or thing.kind, f"{thing.kind} {thing.key}", None)
        elif not self._over:
            self._give(item, nursery)
            await wait_all_tasks_blocked()

    def _give(self, item: _Item, nursery: trio.Nursery) -> None:
        thing = item.thing
        match thing.kind:
            case "came":
                item.granted.set()
            case "told":
                self._tellers[thing.key](thing.value)
            case "host" if thing.value["type"] == "leave":
                self._left.set()
            case "left":
                if (scope := self._scopes.get(thing.key)) is not None:
                    scope.cancel("the host has left")
            case _:
                scope = self._scopes[f"host {thing.key}"] = trio.CancelScope()
                nursery.start_soon(self._redo, thing, scope)

    async def _redo(self, thing: Thing, scope: trio.CancelScope) -> None:
        [(session, lending)] = self._session
        with scope, suppress(SapwoodError):  # who had done it was told so, then as now
            await (redo_lent(lending, thing.value) if thing.kind == "lent" else redo(session, thing.value))

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done() and not self._over:
            await self._happened.wait()

    def _wake(self) -> None:
        self._happened.set()
        self._happened = trio.Event()

    def _depart(self, line: int, what: str, expected: str | None, seen: str | None) -> None:
        if self.difference is None:
            self.difference = Departure(line=line, what=what, expected=expected, seen=seen)
            self._end()

    def _end(self) -> None:
        """Nothing is compared or held any more: the session winds down as it can."""
        self._over = True
        self._ended.set()
        self._left.set()
        for item in self._items:
            item.granted.set()
        self._wake()


def replay_recording(path: str | os.PathLike[str]) -> Replayed:
    """Play a recording, in virtual time. Not to be called from within trio.

    Raises `BadRecording` for a file that is none, is of another version, or cannot be read.
    """
    name = os.fspath(path)
    opening, things, whole = parse(name, _read(name))
    replayer = Replayer(things, whole=whole)

    reopening = reopened(name, opening, replayer)

    async def main() -> None:
        begun = trio.Event()
        async with trio.open_nursery() as nursery:

            async def drive() -> None:
                await replayer.drive()
                if not begun.is_set():
                    begins.cancel("the recording is played")  # a handler of the beginning may have no limit

            nursery.start_soon(drive)
            with trio.CancelScope() as begins, suppress(SessionBroken):  # it broke when it was recorded
                async with reopening:
                    begun.set()
                    await replayer.left()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    counts = replayer.counts
    return Replayed(
        path=name, events=counts["event"], entries=counts["entry"], difference=replayer.difference, cut=not whole
    )


def _read(path: str) -> bytes:
    disk = RealDisk()
    try:
        descriptor = disk.open_read(path)
        try:
            return disk.read(descriptor, 0, disk.status(descriptor).size)
        finally:
            disk.close(descriptor)
    except OSError as error:
        raise BadRecording(path, None, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
