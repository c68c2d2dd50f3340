"""A session that a person talks to: opened as was asked, and one thing done at a time, until it is done or stopped.

1. Ctrl-C stops what is under way, once, and what came of it is recorded (R4). A second one ends the process as it is.
2. An answer that nobody reads any more is stopped as well: what it says on would be paid for.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeVar

import attrs
import click
import trio

from sapwood.actors.kernel import Reader
from sapwood.actors.tools.builtin import builtin_tools
from sapwood.cli.choosing import Choice
from sapwood.cli.finding import path_of
from sapwood.cli.local import chosen
from sapwood.cli.speaking import Speaker
from sapwood.cli.trouble import NoSession, Trouble
from sapwood.events.commands import Delivered
from sapwood.events.errors import NotASession, SapwoodError
from sapwood.extending import load_extension
from sapwood.places import new_place
from sapwood.runtime import open_session
from sapwood.session import Session

T = TypeVar("T")

STOPPING: Final = "stopping: what there is of the answer is kept"


@attrs.frozen(kw_only=True)
class Wanted:
    """What was typed."""

    model: str
    session: str | None
    keep: bool = False
    tools: str | None
    extensions: tuple[str, ...] = ()
    base_url: str | None
    record: str | None = None
    key_env: str | None
    window: int | None
    as_json: bool


class Talk:
    """An open session and who says what it does."""

    def __init__(self, session: Session, speaker: Speaker, reader: Reader) -> None:
        self.session = session
        self.speaker = speaker
        self._reader = reader

    async def prompt(self, text: str) -> Delivered:
        """Say something to the model, and return when all has settled and was said. `Trouble` where it did not reach the log."""
        return await self.do(lambda: self.session.prompt(text))

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do one thing to its end, or until it is stopped. What the session refuses is raised as it is."""
        done: list[T] = []
        failed: list[SapwoodError] = []

        async with trio.open_nursery() as nursery:

            def lost() -> None:
                nursery.start_soon(self._stop)

            nursery.start_soon(self._interrupted)
            following = await nursery.start(self._follow, lost)
            try:
                done.append(await work())
            except SapwoodError as error:
                failed.append(error)
            following.cancel(reason="it is done")
            nursery.cancel_scope.cancel(reason="it is done")
        self._say_the_rest()
        if failed:
            raise failed[0]
        return done[0]

    async def _follow(
        self, lost: Callable[[], None], task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED
    ) -> None:
        with trio.CancelScope() as scope:
            task_status.started(scope)
            await self.speaker.follow(self._reader, lost=lost)

    def _say_the_rest(self) -> None:
        while True:
            try:
                self.speaker.say(self._reader.receive_nowait())
            except (trio.WouldBlock, trio.EndOfChannel):
                self.speaker.end_line()
                return

    async def _interrupted(self) -> None:
        with trio.open_signal_receiver(signal.SIGINT) as signals:
            await anext(signals)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            self.speaker.news(STOPPING)
            await self._stop()
            await trio.sleep_forever()  # the receiver puts back who heard of interrupts before

    async def _stop(self) -> None:
        await self.session.abort()


@asynccontextmanager
async def talking(wanted: Wanted, choice: Choice) -> AsyncGenerator[Talk]:
    """The session that was asked for, open."""
    speaker = Speaker(quiet=wanted.as_json)
    if choice.note is not None:
        speaker.news(choice.note)
    path, session_id = _place(wanted)
    async with open_session(
        path,
        session_id=session_id,
        model=choice.model,
        providers=[choice.provider],
        tools=builtin_tools() if wanted.tools == "builtin" else None,
        extensions=[load_extension(path) for path in wanted.extensions],
        record=wanted.record,
    ) as session:
        yield Talk(session, speaker, session.events(since=0))


def _place(wanted: Wanted) -> tuple[str | None, str | None]:
    """The file of the session, and the id of one that begins where sessions stand by default."""
    if not wanted.keep:
        return wanted.session, None
    place = new_place()
    return place.path, place.session_id


def talk(wanted: Wanted, work: Callable[[Talk], Awaitable[int]]) -> int:
    """Open the session, work with it, and give the exit code. What cannot be done is `Trouble`."""
    if wanted.keep and wanted.session is not None:
        raise Trouble("--keep finds a place for a new session, and --session names one: give one of the two")
    if wanted.session is not None:
        wanted = attrs.evolve(wanted, session=path_of(wanted.session))
    who = partial(chosen, wanted.model, base_url=wanted.base_url, key_env=wanted.key_env, window=wanted.window)

    async def main() -> int:
        async with who() as choice, talking(wanted, choice) as one:
            return await work(one)

    try:
        return trio.run(main)
    except SapwoodError as error:
        raise told(error, wanted.session) from error
    except BaseExceptionGroup as group:
        if group.split(KeyboardInterrupt)[1] is None:
            raise click.Abort from group
        raise


def told(error: SapwoodError, path: str | None) -> Trouble:
    """What a person is told where a session cannot be had, or does not take what was said."""
    if isinstance(error, NotASession):
        return NoSession(path)
    return Trouble(str(error))
