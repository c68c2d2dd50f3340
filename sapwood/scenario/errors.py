"""What is wrong with a scenario: the fault of whoever wrote it, never of the runtime that it was to try."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sapwood.events.errors import SapwoodError
from sapwood.scenario.language import Place
from sapwood.words.wording import LONGEST_VALUE, named, quoted


class ScenarioError(SapwoodError):
    """The scenario cannot be played as it is written. Not a difference: that is a finding, and is no error."""

    def __init__(self, path: str, line: int | None, message: str) -> None:
        super().__init__(f"{named(path)}: {message}" if line is None else f"{named(path)}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message


class Misfit(ValueError):
    """A value that does not fit the language. `place` is relative to the value that was being read."""

    def __init__(self, message: str, place: Place = ()) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


LISTED = 12
"""Right names that a message can show at once and still be read."""


def hint(word: str, known: Iterable[str]) -> str:
    """`: did you mean 'prompt'?` for a word near a known one; else the known ones, if they are few."""
    known = sorted(known)
    near = get_close_matches(word[:LONGEST_VALUE], known, n=1)
    if near:
        return f": did you mean {near[0]!r}?"
    return f" (there are: {', '.join(known)})" if len(known) <= LISTED else ""


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """`unknown key 'promt': did you mean 'prompt'?`"""
    return f"unknown {what} {quoted(word)}{hint(word, known)}"
