"""What a command cannot do: one line on the standard error that says what to do, and an exit code. Never a traceback.

A path and a foreign sentence are shown without control characters. A standard error that takes nothing changes no exit code.
"""

from __future__ import annotations

from contextlib import suppress
from typing import IO, Any, ClassVar, Final, Literal

import click

from sapwood.words.wording import named, one_line

DIFFERENT: Final = 1
CANNOT: Final = 2
DAMAGED: Final = 3
NO_SESSION: Final = 4
FileStatus = Literal["clean", "damaged", "no-session", "unreadable"]
"""What a file may be, in JSON."""
LONGEST_SENTENCE: Final = 1000
"""Characters of a complaint: two paths and what is wrong."""


class Trouble(click.ClickException):
    """What was asked for cannot be done: a sentence for the person at the terminal."""

    exit_code = CANNOT

    def show(self, file: IO[Any] | None = None) -> None:
        complain(self.format_message(), file=file)


class Unreadable(Trouble):
    """There is no session to be read at a path."""

    status: ClassVar[FileStatus] = "unreadable"


class NoSession(Unreadable):
    """The file is there and is no session."""

    exit_code = NO_SESSION
    status = "no-session"

    def __init__(self, path: str | None) -> None:
        super().__init__(
            f"{named(path)} is no session, for it has no session header: name a .jsonl file of Pi or Sapwood"
        )


def fault_of_ours(fault: Exception) -> str:
    """Why a story is not played that nothing is wrong with."""
    why = one_line(f"{type(fault).__name__}: {fault}", LONGEST_SENTENCE)
    return f"cannot be played, by a fault of sapwood's own: please report it ({why})"


def complain(sentence: str, *, file: IO[Any] | None = None) -> None:
    """One line on the standard error, if it takes it."""
    with suppress(OSError):
        click.echo(f"sapwood: {one_line(sentence, LONGEST_SENTENCE)}", err=True, file=file)
