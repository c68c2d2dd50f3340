"""Lines to the standard output: in colour on a terminal, plain in a pipe.

1. Colours are rich's, and so is the decision whether there are any (a terminal, NO_COLOR, TERM).
2. When nobody reads any more, nothing more is written, and the command still ends with its own exit code.
3. An output that cannot be written for any other reason is `Trouble`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Final

import click

from sapwood.cli.session_file import session_at
from sapwood.cli.trouble import Trouble, Unreadable
from sapwood.events.base import Json
from sapwood.events.context import DEFAULT_COUNTER, CounterName
from sapwood.reading import ReadSession
from sapwood.words.wording import Line, Style, plain

_STYLES: Final[dict[Style, str]] = {
    "": "",
    "dim": "dim",
    "bold": "bold",
    "good": "green",
    "bad": "bold red",
    "name": "cyan",
    "accent": "blue",
}


class Printer:
    """Prints lines until nobody reads them any more."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(file=sys.stdout)
        self.gone = False
        """Whether nobody reads any more."""

    def lines(self, lines: Iterable[Line], *, at_once: bool = False) -> None:
        """Print each line, until nobody reads them any more."""
        coloured = self._console.color_system is not None
        for one in lines:
            self.text(self._coloured(one) if coloured else plain(one), at_once=at_once)
            if self.gone:
                return

    def json(self, value: Json) -> None:
        """Print one JSON document."""
        self.text(json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace").decode())

    def text(self, text: str, *, at_once: bool = False) -> None:
        """Print a line as it is; `at_once`: whoever reads it has it now, and not when there are more."""
        self._write(f"{text}\n", flush=at_once)

    def flush(self) -> None:
        """Let whoever reads have what is printed by now."""
        self._write("", flush=True)

    def _write(self, text: str, *, flush: bool = False) -> None:
        if self.gone:
            return
        try:
            sys.stdout.write(text)
            if flush:
                sys.stdout.flush()
        except BrokenPipeError:
            self.gone = True
            write_nowhere()
        except OSError as error:
            write_nowhere()
            raise unwritable(error) from error

    def _coloured(self, pieces: Line) -> str:
        from rich.text import Text

        with self._console.capture() as capture:
            self._console.print(
                Text.assemble(*((piece.text, _STYLES[piece.style]) for piece in pieces)), soft_wrap=True, end=""
            )
        return capture.get()


@contextmanager
def session_shown(
    path: str, printer: Printer, *, as_json: bool, counter: CounterName = DEFAULT_COUNTER
) -> Generator[ReadSession]:
    """The session in a file, to be shown. What is wrong with the file is `Unreadable`; in JSON it is printed there, and there alone."""
    with told_in_json(path, printer, as_json=as_json), session_at(path, counter) as session:
        yield session


@contextmanager
def told_in_json(path: str, printer: Printer, *, as_json: bool) -> Generator[None]:
    """What is wrong with the file at a path is printed in JSON, where that is wanted."""
    try:
        yield
    except Unreadable as trouble:
        if as_json:
            printer.json({"path": path, "status": trouble.status, "error": trouble.format_message()})
            raise click.exceptions.Exit(trouble.exit_code) from trouble
        raise


def unwritable(error: OSError) -> Trouble:
    """What to say of a standard output that takes nothing: a full disk, most likely."""
    return Trouble(f"the standard output cannot be written: {(error.strerror or str(error)).lower()}")


def write_nowhere() -> None:
    """From now on what is written to the standard output goes nowhere: its reader is gone, and Python's last flush must not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
