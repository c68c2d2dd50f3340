"""Text for a terminal: safe, short, and in pieces that may be coloured. No I/O.

1. What a session, a scenario or a path holds never reaches the terminal as a control character: each shows as `�`.
2. A line is a tuple of pieces; joined they are the line as it goes into a pipe.
3. A value in a message is short however large it is, and it costs no more to say it.
"""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import Repr
from typing import Final, Literal, TypeAlias

import attrs

Style = Literal["", "dim", "bold", "good", "bad", "name", "accent"]

WIDTH: Final = 100
"""Characters of somebody's text in one line: a line with what stands before it still fits a wide terminal."""
MARK: Final = "…"
LONGEST_VALUE: Final = 80
"""Characters of a value in a message: the sentence around it is still read."""
LONGEST_LINE: Final = 300
"""Characters of a path or a foreign sentence in a message: longer ones are no names that a person reads to their end."""
_KEPT: Final = frozenset("\n\t")
_REPR: Final = Repr()
_REPR.maxstring = _REPR.maxother = LONGEST_VALUE


@attrs.frozen
class Piece:
    """Some text in one style."""

    text: str
    style: Style = ""


Line: TypeAlias = tuple[Piece, ...]


def line(*parts: str | Piece) -> Line:
    """A line of pieces; plain text is a piece without a style."""
    return tuple(Piece(part) if isinstance(part, str) else part for part in parts)


def plain(pieces: Iterable[Piece]) -> str:
    """The line without its styles."""
    return "".join(piece.text for piece in pieces).rstrip()


def visible(text: str) -> str:
    """The text with every character that is not for the eye replaced; line breaks and tabs stay."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(one if one in _KEPT or one.isprintable() else "�" for one in text)


def cut(text: str, width: int = WIDTH) -> str:
    """The first line that says something, and `…` if there is more."""
    first, _, rest = text.strip()[: 4 * width].partition("\n")
    first = visible(first).replace("\t", " ").rstrip()
    if len(first) > width:
        return first[: width - 1].rstrip() + MARK
    return f"{first} {MARK}" if rest.strip() else first


def one_line(text: str, width: int = LONGEST_LINE) -> str:
    """The text as a part of one line, whatever is in it: no breaks, no tabs, and its middle left out if it is long."""
    if len(text) > width:
        half = (width - 1) // 2
        text = text[:half] + MARK + text[-half:]
    return text if text.isprintable() else "".join(one if one.isprintable() else "�" for one in text)


def named(path: object) -> str:
    """A path as a message names it."""
    return one_line(str(path)) or "''"


def quoted(value: object) -> str:
    """A value as a message shows it, cut to `LONGEST_VALUE`."""
    return one_line(_REPR.repr(value), LONGEST_VALUE)


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 entry`, `1,018 entries`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
