"""Writes down what comes into a session, and what that does with it.

1. One thing at a time: what comes from outside, and each message and operation, waits until nothing else of the process can go on; so the
   order in the file is one in which it can be done again. Where others are busy all the time it waits no longer than `PATIENCE`.
2. The file is new, and its owner's alone. What cannot be written ends the recording, and not the session: `trouble` says so.
3. What is cancelled while it waits for its turn has not come.
4. The session's clock stands still between two things that come: tasks that go on together take the time in any order.
5. What is drawn for what the host does is told with that: which of several that wait for their turn drew first decides nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import trio
from msgspec import to_builtins
from msgspec.json import decode as plain
from trio.testing import wait_all_tasks_blocked

from sapwood.actors.kernel import Loop
from sapwood.actors.tools.results import plain_json
from sapwood.events.base import Json
from sapwood.events.codec import encode_header
from sapwood.events.context import CounterName
from sapwood.events.errors import CannotWrite, Refused
from sapwood.recording.line import CLOCK, apart
from sapwood.recording.opening import Opened, opened_out, told_extension, told_prompt, told_provider, told_tool
from sapwood.recording.tape import VERSION, Kind, Opening, Thing, written
from sapwood.recording.values import error_out
from sapwood.store.disk import Disk, write_all
from sapwood.store.port import Store
from sapwood.wiring import Host

if TYPE_CHECKING:
    from sapwood.lending import Lending
    from sapwood.session import Session

T = TypeVar("T")

PATIENCE: Final = 0.05
"""Seconds of work of the others: what a person does not notice, and far more than a session needs to come to rest."""
LONGEST: Final = 1.0
"""Seconds in all, where a loop is held up without working."""

_COMES: Final[frozenset[Kind]] = frozenset({"came", "host", "lent", "told", "left"})


class Recorder:
    """A `Line` that records."""

    def __init__(self, disk: Disk, path: str) -> None:
        """Makes the file. Raises `OSError`: where there is one already, above all."""
        self._disk = disk
        self._file: int | None = disk.create(path)
        self._turn = trio.Lock()
        self._writing = threading.Lock()
        self._seq = 0
        self._calls = 0
        self._hosting = False
        self._time: Json = None
        self._thread = threading.get_ident()
        self.trouble: str | None = None

    def open(self, opening: Opening) -> None:
        self._write(opening)

    def close(self) -> None:
        """End the recording."""
        self._note("end")
        if self._file is not None:
            self._disk.close(self._file)
            self._file = None

    async def through(
        self,
        key: str,
        work: Callable[[], Awaitable[T]],
        encode: Callable[[T], Json],
        decode: Callable[[Json], T],  # noqa: ARG002 - a replay's
        *,
        deaf: bool = False,
    ) -> T:
        try:
            value = await work()
            told: Json = {"gave": encode(value)}
        except Exception as error:
            await self._wait(key, {"error": error_out(error)}, deaf=deaf)
            raise
        except trio.Cancelled:
            if deaf:
                self._note("left", key)
            raise
        await self._wait(key, told, deaf=deaf)
        return value

    async def _wait(self, key: str, value: Json, *, deaf: bool) -> None:
        try:
            async with self._turn:
                await _rested()
                self._note("came", key, value)
        except trio.Cancelled:
            if deaf:
                self._note("left", key)
            raise

    def drawn(self, key: str, make: Callable[[], Json]) -> Json:
        hosts = self._hosting and threading.get_ident() == self._thread
        if hosts:
            return make()
        value = self._clock(make) if key == CLOCK else make()
        self._note("drawn", key, value)
        return value

    def _clock(self, make: Callable[[], Json]) -> Json:
        """See rule 4."""
        if self._time is None:
            self._time = make()
        return self._time

    async def rest(self) -> None:
        async with self._turn:
            await _rested()

    @property
    def busy(self) -> bool:
        """Whether somebody has the turn, or waits for it."""
        return self._turn.locked()

    @contextmanager
    def hosting(self) -> Generator[None]:
        before, self._hosting = self._hosting, True
        try:
            yield
        finally:
            self._hosting = before

    def host(self, value: object) -> int:
        self._calls += 1
        self._note("host", str(self._calls), to_builtins(value))
        return self._calls

    def lent(self, value: object) -> int:
        self._calls += 1
        self._note("lent", str(self._calls), to_builtins(value))
        return self._calls

    def opened(self, session: Session, lending: Lending) -> None:
        """What it does is heard."""

    def beside(self, key: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
        return apart(self, key, work)

    async def doing(self, value: object, work: Callable[[], Awaitable[T]], *, lent: bool = False) -> T:
        await self.rest()
        number = self.lent(value) if lent else self.host(value)
        came: list[T | Exception] = []

        async def watch() -> None:
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                if (
                    not came
                ):  # what it was done by may take its time to end: all that comes until then comes behind this
                    self._note("left", f"host {number}")
                raise

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            try:
                came.append(await work())
            except Exception as error:  # noqa: BLE001 - it is raised below, without the nursery around it
                came.append(error)
            nursery.cancel_scope.cancel("it is done")
        [one] = came
        if isinstance(one, Exception):
            raise one
        return one

    def progress(self, key: str, tell: Callable[[Json], None]) -> Callable[[Json], None]:
        loop = Loop()

        def told(partial: Json) -> None:
            copy = plain_json(partial)

            def both() -> None:
                self._note("told", key, copy)
                tell(copy)

            loop.call(both)  # a thread's is noted when it is told, and not when it was said

        return told

    def witness(self, kind: Literal["event", "entry"], line: bytes) -> None:
        if kind == "event":
            self._seq += 1
        self._note(kind, value=line.decode())

    def _note(
        self,
        kind: Kind,
        key: str = "",
        value: Json = None,
    ) -> None:
        if kind in _COMES:
            self._time = None
        self._write(Thing(kind=kind, seq=self._seq, key=key, value=value))

    def _write(self, line: Opening | Thing) -> None:
        """From any thread: a line is written as a whole."""
        with self._writing:
            if self._file is None:
                return
            try:
                write_all(self._disk, self._file, written(line))
            except (OSError, ValueError, TypeError, RecursionError) as error:  # the disk, or what JSON cannot hold
                why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                self.trouble = f"the recording ends here: {why}"
                self._disk.close(self._file)
                self._file = None


async def _rested() -> None:
    """Return when nobody else can go on. A machine that is busy elsewhere takes away from the clock, and not from the patience."""
    worked = time.thread_time() + PATIENCE
    latest = trio.current_time() + LONGEST
    while time.thread_time() < worked and trio.current_time() < latest:
        with trio.move_on_after(PATIENCE):
            await wait_all_tasks_blocked()
            return


def begin_recording(path: str | os.PathLike[str], store: Store, host: Host, counter: CounterName) -> Recorder:
    """Begin the recording of a session that is about to be opened. `CannotWrite` for a place that takes none, or has a file already.

    The store is closed where it raises.
    """
    name = os.fspath(path)
    try:
        opened = opened_out(_opened(host, counter))
    except Refused:
        store.close()
        raise
    try:
        recorder = Recorder(host.environment.disk, name)
    except OSError as error:
        store.close()
        raise CannotWrite(name, error) from error
    recorder.open(
        Opening(
            sapwood="recording",
            version=VERSION,
            header=plain(encode_header(store.header)),
            lines=tuple(store.line(at).decode() for at in range(len(store.tree))),
            where=store.where,
            read_only=store.read_only,
            damage=to_builtins(tuple(store.damage)),
            opened=opened,
        )
    )
    return recorder


def _opened(host: Host, counter: CounterName) -> Opened:
    chosen = host.chosen
    return Opened(
        model=chosen.model,
        settings=host.settings,
        counter=counter,
        counter_ready=host.counter.ready,
        durability=host.durability,
        tools=None if chosen.active is None else [told_tool(one) for one in chosen.known.values()],
        prompt=None if host.system_prompt is None else told_prompt(host.system_prompt),
        providers={name: told_provider(one) for name, one in host.providers.items()},
        extensions=[told_extension(one) for one in host.registered.extensions],
        redacts=host.redactor is not None,
    )
