"""What a command cannot do: one line on the standard error that says what to do, and an exit code. Never a traceback."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
    """A sentence for the person at the terminal, and the exit code."""

    def __init__(self, message: str, code: int = CANNOT) -> None:
        super().__init__(message)
        self.exit_code = code

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"sapwood: {self.format_message()}", err=True, file=file)


@contextmanager
def session_at(path: str) -> Iterator[ReadSession]:
    """The session in a file, for reading; whatever is wrong with it is a `Trouble`."""
    try:
        with read(path) as session:
            yield session
    except NotASession as error:
        raise Trouble(
            f"{path} is no session: its first line is no session header. Name a .jsonl file of Pi or Sapwood",
            NO_SESSION,
        ) from error
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
