"""What is wrong with a scenario: the fault of whoever wrote it, never of the runtime that it was to try."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from sapwood.events.errors import SapwoodError
from sapwood.scenario.language import Place
from sapwood.words.wording import named


class ScenarioError(SapwoodError):
    """The scenario cannot be played as it is written. Not a difference: that is a finding, and is no error."""

    def __init__(self, path: str, line: int | None, message: str, *, others: tuple[ScenarioError, ...] = ()) -> None:
        super().__init__(f"{named(path)}: {message}" if line is None else f"{named(path)}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message
        self.others = others
        """What else is wrong with the same file, in its order. Not in the sentence, which is of the first."""


class Misfit(ValueError):
    """A value that does not fit the language. `place` is relative to the value that was being read."""

    def __init__(self, message: str, place: Place = (), *, others: tuple[Misfit, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.others = others
        """What else does not fit, by places relative to the same value."""

    def each(self, outer: Place = ()) -> Iterator[Misfit]:
        """It alone, and each of the others: by their places in a value in which this one stands at `outer`."""
        for one in (self, *self.others):
            yield Misfit(one.message, (*outer, *one.place))


MOST_TOLD: Final = 20
"""Mistakes of one scenario: as many as are shown of its differences."""
ENOUGH: Final = MOST_TOLD + 1
"""Of these it is known that there are more than can be told: who looks for mistakes need look for no more."""


def together(misfits: Iterable[Misfit]) -> Misfit:
    """The first of them, which bears the others: `MOST_TOLD` in all, and a last one that says that there are more."""
    first, *others = islice(misfits, ENOUGH)
    if len(others) == MOST_TOLD:
        others[-1] = Misfit(
            "there is more that does not fit, from here on: it is told when the above is mended", others[-1].place
        )
    return Misfit(first.message, first.place, others=tuple(others))
