"""What a command cannot do: one line on the standard error that says what to do, and an exit code. Never a traceback."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import click

from sapwood.events.errors import CannotOpen, NotASession, StoreError
from sapwood.reading import ReadSession, read

DIFFERENT: Final = 1
CANNOT: Final = 2
NO_SESSION: Final = 4


class Trouble(click.ClickException):
    """What was asked for cannot be done: a sentence for the person at the terminal."""

    exit_code = CANNOT

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"sapwood: {self.format_message()}", err=True, file=file)


class NoSession(Trouble):
    """The file is there and is no session."""

    exit_code = NO_SESSION


@contextmanager
def session_at(path: str) -> Generator[ReadSession]:
    """The session in a file, for reading; whatever is wrong with it is a `Trouble`."""
    try:
        with read(path) as session:
            yield session
    except NotASession as error:
        why = "is no session, for its first line is no session header: name a .jsonl file of Pi or Sapwood"
        raise NoSession(f"{path} {why}") from error
    except CannotOpen as error:
        raise Trouble(_spoken(path, error)) from error
    except StoreError as error:
        raise Trouble(str(error)) from error


def _spoken(path: str, error: CannotOpen) -> str:
    if Path(path).is_dir():
        return f"{path} is a folder: name one of the .jsonl files in it"
    if isinstance(error.__cause__, FileNotFoundError) or not os.path.lexists(path):
        return f"{path} is not there: check the spelling, or give the path from here"
    if isinstance(error.__cause__, PermissionError):
        return f"{path} may not be read: ask its owner, or copy it to where you may (chmod u+r)"
    return f"{path} cannot be read: {error}"
