"""An answer to the standard output as it comes, and news beside it to the standard error.

1. What a model says reaches a terminal without control characters, however its pieces are cut.
2. A piece is written as soon as it is there. Who reads slowly keeps nobody from stopping it: writing waits in a thread.
3. When nobody reads any more, nothing more is written, and `gone` says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

import click
import trio

from sapwood.actors.kernel import Published, Reader, Resync
from sapwood.cli.news import news_line
from sapwood.cli.printing import unwritable, write_nowhere
from sapwood.cli.trouble import Trouble
from sapwood.events.deltas import TextDelta
from sapwood.events.messages import AssistantMessage
from sapwood.events.runtime import AutoRetryStart, Event, MessageEnd, MessageUpdate
from sapwood.words.wording import visible

LOST: Final = "some of what happened came too fast to be shown: the session has all of it"


class Speaker:
    """Says what a session publishes. `quiet`: no answer, news alone."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._mid_line = False
        self._held = ""
        self.trouble: Trouble | None = None
        """Why the output takes nothing, if its reader did not just go away."""
        self.gone = False

    async def follow(self, reader: Reader, *, lost: Callable[[], None]) -> None:
        """Say all that comes, until cancelled; `lost` is called once nobody reads any more."""
        while True:
            item = await reader.receive()
            with trio.CancelScope(shield=True):  # what was taken from the channel is said
                await trio.to_thread.run_sync(self.say, item)
            if self.gone:
                lost()
                return

    def say(self, item: Published | Resync) -> None:
        """Say one thing."""
        if isinstance(item, Resync):
            self.news(LOST)
            return
        event = cast("Event", item.event)  # what a session publishes
        match event:
            case MessageUpdate(assistant_message_event=TextDelta(delta=text)):
                self._text(text)
            case MessageEnd(message=AssistantMessage()) | AutoRetryStart():
                self.end_line()
            case _:
                pass
        line = news_line(event)
        if line is not None:
            self.news(line)

    def news(self, line: str) -> None:
        """One line beside the answer; a standard error that takes nothing is done without."""
        self.end_line()
        with suppress(OSError):
            click.echo(f"sapwood: {visible(line)}", err=True)

    def end_line(self) -> None:
        """What comes next begins a line."""
        self._held = ""
        if self._mid_line:
            self._write("\n")

    def _text(self, text: str) -> None:
        if self._quiet:
            return
        text, self._held = self._held + text, ""
        if text.endswith("\r"):  # half of a line's end, perhaps
            text, self._held = text[:-1], "\r"
        self._write(visible(text))

    def _write(self, text: str) -> None:
        if self.gone or not text:
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._mid_line = not text.endswith("\n")
        except BrokenPipeError:
            self.gone = True
            write_nowhere()
        except OSError as error:
            self.gone, self.trouble = True, unwritable(error)
            write_nowhere()
