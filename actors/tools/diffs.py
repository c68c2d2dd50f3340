"""What a change of a text looks like, in the form that everybody knows. No I/O.

1. It is made of the parts that were replaced, so that it costs what was changed, however long the text is.
2. Lines are shown that changed, and `CONTEXT` around them. What is too much is counted.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

import attrs

from sapwood.actors.tools.edits import Span, applied

CONTEXT: Final = 3
"""Lines before and after: as everybody does."""
MOST_LINES: Final = 200
"""What a person looks through. The log has the call itself, and so all of the change."""
LONGEST_LINE: Final = 400
"""Characters of a line: wider than any screen."""


_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


@attrs.frozen
class _Change:
    """Whole lines, their ends with them, that others come in the place of."""

    first: int
    """The first of them, from 0."""
    old: Sequence[str]
    new: Sequence[str]

    @property
    def end(self) -> int:
        """The line behind the last."""
        return self.first + len(self.old)


def diff(text: str, spans: Sequence[Span]) -> str:
    """The change of a text by parts that are in order, as unified hunks."""
    lines = _hunks(text, spans)
    shown = [*islice(lines, MOST_LINES)]
    left_out = sum(1 for _ in lines)
    return "\n".join([*shown, f"[... {left_out:,} more lines ...]"] if left_out else shown)


def _hunks(text: str, spans: Sequence[Span]) -> Iterator[str]:
    starts = array(
        "q", (place.start() for place in _LINE.finditer(text))
    )  # 8 bytes a line, not 36: there may be millions

    def kept(first: int, end: int) -> Iterator[str]:
        begin, behind = (starts[one] if one < len(starts) else len(text) for one in (first, end))
        return (_shown(" ", line) for line in _LINE.findall(text[begin:behind]))

    moved = 0
    for hunk in _near(_changes(text, spans, starts)):
        first, end = max(0, hunk[0].first - CONTEXT), min(len(starts), hunk[-1].end + CONTEXT)
        grown = sum(len(change.new) - len(change.old) for change in hunk)
        yield f"@@ -{_range(first, end - first)} +{_range(first + moved, end - first + grown)} @@"
        moved += grown
        for change in hunk:
            yield from kept(first, change.first)
            yield from (_shown("-", line) for line in change.old)
            yield from (_shown("+", line) for line in change.new)
            first = change.end
        yield from kept(first, end)


def _changes(text: str, spans: Sequence[Span], starts: Sequence[int]) -> Iterator[_Change]:
    """The spans as whole lines; those that share a line are one change."""
    together: list[Span] = []
    first = end = 0
    for span in spans:
        its_first, its_end = bisect_right(starts, span.start) - 1, bisect_right(starts, span.end)
        if together and its_first >= end:
            yield _change(text, together, starts, first, end)
            together = []
        first = first if together else its_first
        end = its_end
        together.append(span)
    yield _change(text, together, starts, first, end)


def _change(text: str, spans: Sequence[Span], starts: Sequence[int], first: int, end: int) -> _Change:
    """Without the lines at its ends that stay as they are."""
    begin = starts[first]
    region = text[begin : starts[end] if end < len(starts) else len(text)]
    moved = [Span(span.start - begin, span.end - begin, span.new, span.number) for span in spans]
    old, new = _LINE.findall(region), _LINE.findall(applied(region, moved))
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    return _Change(first + head, old[head : len(old) - tail], new[head : len(new) - tail])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are the same from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _near(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    """Those whose context would meet, together."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change.first - hunk[-1].end > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    yield hunk


def _range(first: int, count: int) -> str:
    return f"{first + 1 if count else first},{count}"


def _shown(mark: str, line: str) -> str:
    bare = line.rstrip("\r\n")
    bare = bare if len(bare) <= LONGEST_LINE else f"{bare[:LONGEST_LINE]} ..."
    return f"{mark}{bare}" if line.endswith("\n") else f"{mark}{bare}\n\\ No newline at end of file"
