"""A command as a group of processes: run, heard, and when it is cancelled ended with all that it began. POSIX only.

1. It has a session of its own: no terminal to ask at, and one signal reaches it and whatever it began, but what left for another session.
2. What it says, on both streams in one, is handed on as it comes, and no faster than it is taken: the rest waits in the pipe.
3. Cancelled, the group is told to end, given `GRACE`, and killed. Nobody waits for one that got away, though it holds the pipe.
4. The group's first process is reaped after the last signal: until then its number is nobody else's, and no stranger is hit.
5. However it ends, the first process is reaped, and the pipe is closed. What it left in the background when it ended by itself runs on.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import attrs
import trio

GRACE: Final = 0.05
"""Seconds between being told to end and being killed: enough to remove a lock file, and a quarter of what an abort may take (R4)."""
DYING: Final = 0.1
"""Seconds that a killed process is waited for. One that waits for a disk that does not answer dies when that does."""
LAST_WORDS: Final = 0.02
"""Seconds for what a killed group had said: it is in the pipe, and the end of it too unless somebody got away."""
QUIET: Final = 0.1
"""Seconds without a word, after the first process has ended, after which what it left behind is taken to run on."""
LINGER: Final = 1.0
"""Seconds that they are listened to at most: the end of a pipeline gets its words out, and one who talks on for ever holds up nobody."""
_CHUNK: Final = 1 << 16
"""Bytes: what a pipe holds."""


Take = Callable[[bytes], Awaitable[None]]


@attrs.frozen(kw_only=True)
class Finished:
    """How a group ended by itself."""

    code: int
    """The first process's exit code; negative: the signal that ended it."""
    group: int
    runs_on: bool
    """Whether something of the group is left."""
    heard_all: bool
    """Whether nobody holds its output open."""


async def run_group(arguments: Sequence[str], *, cwd: str, take: Take) -> Finished:
    """Run a command until it has ended. `take` is given what it says, and is waited for. Raises `OSError` if it cannot be begun."""
    reading, writing = os.pipe()
    hearing = trio.lowlevel.FdStream(reading)
    try:
        try:
            # a limiter of its own: it must not wait behind tools that fill all threads
            first = await trio.to_thread.run_sync(
                partial(_begin, arguments, cwd, writing), limiter=trio.CapacityLimiter(1)
            )
        finally:
            os.close(writing)
        return await _Group(first, hearing, take).run()
    finally:
        hearing.close()


def _begin(arguments: Sequence[str], cwd: str, writing: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - to run what is asked for is what this is for
        arguments, cwd=cwd, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing, start_new_session=True
    )


@attrs.define
class _Group:
    first: subprocess.Popen[bytes]
    hearing: trio.lowlevel.FdStream
    take: Take
    listening: trio.CancelScope = attrs.field(factory=lambda: trio.CancelScope(shield=True))
    """Shielded: it ends when we say so, after the group."""
    patience: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    """Ends `QUIET` after the last word."""
    heard_all: trio.Event = attrs.field(factory=trio.Event)

    async def run(self) -> Finished:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.listen)
            try:
                await self.first_ends()
                with trio.move_on_after(LINGER), self.patience:
                    self.patience.deadline = trio.current_time() + QUIET
                    await self.heard_all.wait()
            except BaseException:
                with trio.CancelScope(shield=True):
                    await self.end()
                raise
            finally:
                self.listening.cancel()
        code = self.first.wait()  # at once: it has ended
        heard_all = self.heard_all.is_set()
        with trio.CancelScope(shield=True):  # it ended by itself, and that is what is told
            runs_on = await self.runs_on()
            if runs_on and heard_all:  # most likely it is ending: its output is closed a moment before
                await trio.sleep(QUIET)
                runs_on = await self.runs_on()
        return Finished(code=code, group=self.first.pid, runs_on=runs_on, heard_all=heard_all)

    async def runs_on(self) -> bool:
        """Whether something of the group is left, the first process being gone."""
        return self.signal(0) and await trio.to_thread.run_sync(
            _any_runs, self.first.pid, limiter=trio.CapacityLimiter(1)
        )

    async def listen(self) -> None:
        with self.listening:
            while said := await self.hearing.receive_some(_CHUNK):
                self.patience.deadline = trio.current_time() + QUIET
                await self.take(said)
            self.heard_all.set()

    async def end(self) -> None:
        """Rule 3, in at most `GRACE`, `DYING` and `LAST_WORDS`."""
        self.signal(signal.SIGTERM)
        with trio.move_on_after(GRACE):
            await self.first_ends()
            await self.heard_all.wait()
        self.signal(signal.SIGKILL)
        with trio.move_on_after(DYING):
            await self.first_ends()
        with trio.move_on_after(LAST_WORDS):
            await self.heard_all.wait()
        self.first.poll()

    async def first_ends(self) -> None:
        """Wait until the first process has ended. It is not reaped by that, where the system has a way."""
        try:
            descriptor = os.pidfd_open(self.first.pid)
        except (AttributeError, OSError):  # no Linux, an old one, or no descriptors left
            await trio.to_thread.run_sync(self.first.wait, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))
            return
        try:
            await trio.lowlevel.wait_readable(descriptor)
        finally:
            os.close(descriptor)

    def signal(self, number: int) -> bool:
        """Signal the group; whether there is one. One that we may not signal is one."""
        with suppress(PermissionError):
            try:
                os.killpg(self.first.pid, number)
            except ProcessLookupError:
                return False
        return True


def _any_runs(group: int) -> bool:
    """Whether something of a group runs: what has ended is of it too, until whoever adopted it has reaped it."""
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - a plain path
    except OSError:  # no Linux
        return True
    return any(_runs(number, group) for number in numbers)


def _runs(number: str, group: int) -> bool:
    try:
        with open(f"/proc/{number}/stat", "rb") as file:  # noqa: PTH123 - as above
            # behind the name, which may hold anything
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while we read
        return False
    return int(fields[2]) == group and fields[0] not in b"ZX"
