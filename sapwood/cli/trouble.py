"""What a command cannot do: one line on the standard error that says what to do, and an exit code. Never a traceback.

A path and a foreign sentence are shown without control characters. A standard error that takes nothing changes no exit code.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import IO, Any, ClassVar, Final, Literal

import click

from sapwood.cli.progress import said_if_slow
from sapwood.events.context import DEFAULT_COUNTER, CounterName
from sapwood.events.errors import CannotOpen, NotASession, StoreError
from sapwood.reading import ReadSession, read
from sapwood.words.paths import NOT_THERE, missing
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


def complain(sentence: str, *, file: IO[Any] | None = None) -> None:
    """One line on the standard error, if it takes it."""
    with suppress(OSError):
        click.echo(f"sapwood: {one_line(sentence, LONGEST_SENTENCE)}", err=True, file=file)


@contextmanager
def session_at(path: str, counter: CounterName = DEFAULT_COUNTER) -> Generator[ReadSession]:
    """The session at a path, or with an id, for reading; whatever is wrong with it is `Unreadable`."""
    from sapwood.cli.finding import path_of

    path = path_of(path)
    with readable(path):
        with said_if_slow(f"reading {named(path)}"):
            opened = read(path, counter=counter)
        with opened as session:
            yield session


@contextmanager
def readable(path: str) -> Generator[None]:
    """What reads the session at a path stands in it: whatever is wrong with the file is `Unreadable`."""
    try:
        yield
    except NotASession as error:
        why = "is no session, for it has no session header: name a .jsonl file of Pi or Sapwood"
        raise NoSession(f"{named(path)} {why}") from error
    except CannotOpen as error:
        raise Unreadable(_spoken(path, error)) from error
    except StoreError as error:
        raise Unreadable(str(error)) from error


def _spoken(path: str, error: CannotOpen) -> str:
    why, name = missing(path), named(path)
    if not path:
        return "the name of the file is empty: name a .jsonl file"
    if os.path.isdir(path):  # noqa: PTH112 - the path may be any text
        return f"{name} is a folder: name one of the .jsonl files in it"
    if why == NOT_THERE:
        return f"{name} is not there: check the spelling, or give the path from here"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"{name} may not be read: ask its owner, or copy it to where you may (chmod u+r)"
    return f"{name} cannot be read: {why or error}"
