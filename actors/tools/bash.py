"""The tool `bash`: a command in a shell, in the session's folder. What becomes of its processes stands in `processes`.

1. The model is told both ends of what it said, how it ended, and where the whole is if that is not all.
2. Those who watch are shown the latest lines, not more often than anybody can read them.
3. One that takes too long is ended with all that it began, and what it had said is told. One that is cancelled leaves no file behind.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Final, TypeVar

import attrs
import msgspec
import trio

from sapwood.actors.tools.files import Unfit, refused
from sapwood.actors.tools.output import Ends, Shown
from sapwood.actors.tools.processes import Finished, run_group
from sapwood.actors.tools.results import ToolResult
from sapwood.actors.tools.spool import Spool
from sapwood.actors.tools.tool import ToolContext, tool

SHELLS: Final = ("bash", "sh")
"""The first that is there."""
MOST_SECONDS: Final = 86_400
"""A day: what takes longer is to be put into the background."""
TOLD_EVERY: Final = 0.25
"""Seconds between two looks at what is said: it can be followed, and costs those who watch nothing."""
UNLINK: Final = 0.05
"""Seconds that a cancelled call waits until its file is gone. A disk that does not answer keeps it."""

T = TypeVar("T")


@tool(name="bash")
async def run_bash(
    command: Annotated[str, msgspec.Meta(description="What the shell is to run.")],
    ctx: ToolContext,
    timeout: Annotated[  # noqa: ASYNC109 - the model gives it; inside it is a scope
        float,
        msgspec.Meta(gt=0, le=MOST_SECONDS, description="Seconds after which it is stopped; no limit if left out."),
    ]
    | None = None,
) -> ToolResult:
    """Run a command with bash in the working folder. What it writes to stdout and stderr comes back as one text; it has no input.

    Of long output both ends are shown, 1,000 lines or 32 KiB together; the whole is then in a file that is named.
    """
    heard = _Heard(ctx)
    try:
        arguments = await heard.in_thread(partial(_arguments, command))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(heard.tell)
            with trio.move_on_after(math.inf if timeout is None else timeout):
                heard.ended = await _ended(arguments, heard)
            nursery.cancel_scope.cancel()
        return await heard.in_thread(partial(_result, heard, timeout))
    except BaseException:
        with trio.move_on_after(UNLINK, shield=True):
            await heard.in_thread_or_not(heard.spool.discard)
        raise


@attrs.define
class _Heard:
    """What a command said so far, and how it ended."""

    ctx: ToolContext
    ends: Ends = attrs.field(factory=Ends)
    spool: Spool = attrs.field(factory=Spool)
    ended: Finished | Unfit | None = None
    """None if it was stopped."""
    news: trio.Event = attrs.field(factory=trio.Event)
    limiter: trio.CapacityLimiter = attrs.field(factory=lambda: trio.CapacityLimiter(1))
    """Its own: it must not wait behind tools that fill all threads. And of one: what a disk holds up is not overtaken."""

    async def in_thread(self, function: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(function, limiter=self.limiter)

    async def in_thread_or_not(self, function: Callable[[], None]) -> None:
        """The same, but a cancellation does not wait for it."""
        await trio.to_thread.run_sync(function, limiter=self.limiter, abandon_on_cancel=True)

    async def take(self, data: bytes) -> None:
        before = self.ends.held if self.ends.is_short else b""
        self.ends.add(data)
        if not self.ends.is_short:
            await self.in_thread_or_not(partial(self.spool.write, before + data))
        self.news.set()

    async def tell(self) -> None:
        while True:
            await self.news.wait()
            self.news = trio.Event()
            self.ctx.progress({"output": self.ends.latest(), "lines": self.ends.lines, "bytes": self.ends.size})
            await trio.sleep(TOLD_EVERY)


def _arguments(command: str) -> list[str] | Unfit:
    try:
        if b"\0" in os.fsencode(command):
            return Unfit("The command was not run: there is a NUL in it.")
    except UnicodeEncodeError:
        return Unfit("The command was not run: there is half a character in it.")
    shell = next(filter(None, map(shutil.which, SHELLS)), None)
    if shell is None:
        return Unfit("The command was not run: there is neither bash nor sh on this machine's PATH.")
    # what begins with a sign would be taken for an option; and one found by a relative path is not where the command is to run
    return [os.path.abspath(shell), "-c", f" {command}" if command[:1] in {"-", "+"} else command]  # noqa: PTH100 - a plain path


async def _ended(arguments: list[str] | Unfit, heard: _Heard) -> Finished | Unfit:
    if isinstance(arguments, Unfit):
        return arguments
    cwd = heard.ctx.cwd
    try:
        return await run_group(arguments, cwd=cwd, take=heard.take)
    except OSError as error:
        why = error.strerror or str(error)
        if error.filename == cwd:
            return Unfit(f"The command was not run: the working folder {cwd} cannot be entered: {why}.")
        if error.errno == errno.E2BIG:
            size = len(os.fsencode(arguments[-1]))
            return Unfit(
                f"The command was not run: {size:,} bytes are more than the system takes. Put it into a file, and run that."
            )
        return Unfit(f"The command was not run: {why}.")


def _result(heard: _Heard, timeout: float | None) -> ToolResult:
    ended, ends, spool = heard.ended, heard.ends, heard.spool
    if isinstance(ended, Unfit):
        return refused(ended)
    shown = ends.shown()
    if shown.whole:  # more bytes than are shown, but those were for a terminal
        spool.discard()
    elif spool.path is None:
        spool.write(ends.held)
    spool.close()
    notes = [*_kept(shown, spool), *_ending(ended, timeout)]
    return ToolResult(
        content="\n".join([shown.text, *notes] if shown.text else notes or ["[No output.]"]),
        details={
            "exitCode": None if ended is None else ended.code,
            "timedOut": ended is None,
            "bytes": ends.size,
            "lines": ends.lines,
            "truncated": not shown.whole,
            "fullOutputPath": spool.path,
        },
        is_error=ended is None or ended.code != 0,
    )


def _kept(shown: Shown, spool: Spool) -> Iterator[str]:
    if spool.trouble is not None and not shown.whole:
        yield f"[The whole output could not be kept: {spool.trouble}.]"
    elif spool.left_out:
        yield f"[The beginning of the output is in {spool.path}; the last {spool.left_out:,} bytes are not.]"
    elif not shown.whole:
        yield f"[The whole output is in {spool.path}.]"


def _ending(ended: Finished | None, timeout: float | None) -> Iterator[str]:
    if ended is None:
        yield f"[Stopped after {timeout:g} s, with all that it began. It may have had effects in part.]"
        return
    if ended.code:
        yield f"[Exit code {ended.code}.]" if ended.code > 0 else f"[Ended by {_signal_name(-ended.code)}.]"
    unheard = "" if ended.heard_all else " What it writes from now on is not read, and may end it."
    if ended.runs_on:
        yield f"[It left something in the background. kill -- -{ended.group} ends that.{unheard}]"
    elif unheard:
        yield f"[It left something in the background, out of reach.{unheard}]"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
