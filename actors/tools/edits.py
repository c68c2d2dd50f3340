"""Which parts of a text are to be replaced, and by what. No I/O.

1. All edits are of the text as it was: none sees what another one made, and no two may touch the same part.
2. What is to be replaced is there exactly once, unless all places are meant. How often it was found is told, as far as it was counted.
3. The end of a line is the end of a line, with a return or without; what is put in gets the ends that were there.
4. All or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Annotated, Final

import attrs
import msgspec

from sapwood.actors.tools.files import Unfit

_LINE_END: Final = r"(?:\r\n|(?<!\r)\n)"
_NAMED: Final = 5
"""Lines that are named of those where a text was found: enough to see what it has in common."""
MOST_COUNTED: Final = 1000
"""Places that are looked for where one is wanted: whether there are more makes no difference to what is to be done about it."""
MOST_REPLACED: Final = 100_000
"""Places of one edit, each of which takes some 200 bytes while it is made: what is everywhere in a file is a command's work."""


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """A text, and what is to stand in its place."""

    old_text: Annotated[
        str, msgspec.Meta(description="What stands there now, exactly, with so much around it that it is unique.")
    ]
    new_text: Annotated[str, msgspec.Meta(description="What is to stand there instead.")]
    replace_all: Annotated[
        bool, msgspec.Meta(description="Replace it wherever it stands, in up to 100,000 places.")
    ] = False


@attrs.frozen
class Span:
    """A part of the text, and what comes in its place."""

    start: int
    end: int
    new: str
    number: int
    """Which edit this is of, from 1."""


def planned(text: str, edits: Sequence[Edit]) -> tuple[Span, ...]:
    """The parts in their order. Raises `Unfit` if any edit cannot be made."""
    usual = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    spans = sorted(
        (span for number, edit in enumerate(edits, 1) for span in _spans(text, edit, number, len(edits), usual)),
        key=lambda span: (span.start, span.end),
    )
    for one, other in pairwise(spans):
        if other.start < one.end:
            raise Unfit(
                f"Nothing was changed: the edits {one.number} and {other.number} touch the same text in line "
                f"{line_of(text, other.start):,}. Make them one."
            )
    return tuple(spans)


def applied(text: str, spans: Sequence[Span]) -> str:
    """The text with the parts replaced."""
    pieces: list[str] = []
    at = 0
    for span in spans:
        pieces += [text[at : span.start], span.new]
        at = span.end
    return "".join([*pieces, text[at:]])


def line_of(text: str, place: int) -> int:
    """The number of the line that a place is in, from 1."""
    return text.count("\n", 0, place) + 1


def _spans(text: str, edit: Edit, number: int, of: int, usual: str) -> Iterator[Span]:
    which = f"Nothing was changed: old_text of edit {number}" if of > 1 else "Nothing was changed: old_text"
    if not edit.old_text:
        raise Unfit(f"{which} is empty. To add something, replace what stands beside it.")
    lines = edit.old_text.replace("\r\n", "\n").split("\n")
    new = edit.new_text.replace("\r\n", "\n")
    if new == "\n".join(lines):
        raise Unfit(f"{which} and new_text are the same.")
    pattern = re.compile(_LINE_END.join(map(re.escape, lines)))
    found = pattern.finditer(text) if edit.replace_all else _each(pattern, text)
    places = [*islice(found, MOST_REPLACED + 1 if edit.replace_all else MOST_COUNTED)]
    if not places:
        raise Unfit(f"{which} was not found. {_like(text, edit.old_text)}")
    if len(places) > MOST_REPLACED:
        raise Unfit(
            f"{which} was found more than {MOST_REPLACED:,} times, which is too often. Use a command, such as sed."
        )
    if len(places) > 1 and not edit.replace_all:
        numbers = ", ".join(f"{line_of(text, place.start()):,}" for place in places[:_NAMED])
        more = ", ..." if len(places) > _NAMED else ""
        times = f"at least {MOST_COUNTED:,}" if len(places) == MOST_COUNTED else f"{len(places):,}"
        raise Unfit(
            f"{which} was found {times} times, in the lines {numbers}{more}. "
            "Take more of what stands around it, or set replace_all."
        )
    for place in places:
        ending = "\r\n" if "\r\n" in place[0] else "\n" if "\n" in place[0] else usual
        yield Span(place.start(), place.end(), new.replace("\n", ending), number)


def _each(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Every place, those that overlap too: "aa" is in "aaa" twice."""
    place = pattern.search(text)
    while place is not None:
        yield place
        place = pattern.search(text, place.start() + 1)


def _like(text: str, old: str) -> str:
    words = old.split()
    place = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    if place is None:
        return "Read the file again: it may have changed."
    return f"In line {line_of(text, place.start()):,} is the same but for its white space."
