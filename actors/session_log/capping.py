"""A text that is too long keeps its head and its tail, and a line between them tells how much is gone (S12). No I/O.

1. What comes out has at most as many bytes of UTF-8 as it may have, the line included; what is short enough is not touched.
2. No character that a reader sees is cut: a head ends, and a tail begins, between two grapheme clusters. A cluster of more than
   `WIDEST` code points is none that anybody meant, and may be cut.
3. The line says the truth: the bytes of the text that are neither in the head nor in the tail, and all the bytes it had.
4. Only what stands near a cut is looked at closely: 100 MB take as long as copying them does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from sapwood.events.base import Json
from sapwood.events.models import LEAST_TEXT_BYTES

MOST_BYTES: Final = 1 << 20
"""1 MiB: a whole source file or log of 250,000 tokens fits, more than most windows hold; and a line of the file stays quick to read."""
WIDEST: Final = 128
"""Code points of a cluster that is never cut: a family of four takes 7, a flag of Scotland 7, the wildest stack of accents about 60."""

_MARKER: Final = "[... {left_out:,} of {size:,} bytes left out ...]"
_FLAG_LETTERS: Final = "".join(map(chr, range(0x1F1E6, 0x1F200)))
"""Two of these make a flag: whether one is a first or a second is told by counting from where their row begins."""


def too_long(text: str, limit: int = MOST_BYTES) -> int | None:
    """The bytes of a text, if they are more than `limit`. For the refusal at the door."""
    size = len(text) if len(text) * 4 <= limit else _size(text)
    return size if size > limit else None


def too_large(data: Json) -> str | None:
    """Why state is not kept in the log, if it is more than `MOST_BYTES` of JSON. It has no middle that could be left out."""
    size = len(msgspec.json.encode(data))
    if size <= MOST_BYTES:
        return None
    return f"what is kept in the log has at most {MOST_BYTES:,} bytes, and this has {size:,}: keep it in a file, and the path in the log"


def cap(text: str, limit: int) -> str:
    """The text, which has no lone surrogates, in at most `limit` bytes. Where not even the marker has room, as much of it as has."""
    return _cap(text, _size(text), max(0, limit))


def _cap(text: str, size: int, limit: int) -> str:
    if size <= limit:
        return text
    # as long as any marker that this text may need
    room = max(0, limit - len(f"\n{_MARKER.format(left_out=size, size=size)}\n"))
    head, tail = _ends(text, room // 2, room - room // 2)
    marker = _MARKER.format(left_out=size - _size(head) - _size(tail), size=size)
    if not head and not tail:
        return marker[:limit]
    return f"{head}\n{marker}\n{tail}"


def ends_of(text: str, limit: int) -> tuple[str, int | None]:
    """As much of both ends of a text as may be kept, and its bytes; or all of it, and None. What is done to it then costs what is kept."""
    room = max(0, limit) + 2 * WIDEST
    return (text, None) if len(text) <= 2 * room else (text[:room] + text[-room:], _size(text))


def cap_all(texts: Sequence[str], limit: int, whole: Sequence[int | None] | None = None) -> Sequence[str]:
    """As many texts, in at most `limit` bytes together: the first take what they need, and leave each later one room for its marker.

    Where there are so many that not even this is possible, the last that has room stands for all after it, and those are empty. `whole`:
    the bytes of each before its middle was left out, for its marker; None of one that is whole.
    """
    before = whole or [None] * len(texts)
    sizes = [_size(text) if size is None else size for text, size in zip(texts, before, strict=True)]
    if sum(sizes) <= limit:
        return texts
    left, reserved = max(0, limit), sum(min(size, LEAST_TEXT_BYTES) for size in sizes)
    if reserved > limit and len(texts) > 1:
        most = max(1, limit // LEAST_TEXT_BYTES)
        rest = "\n".join(texts[most - 1 :])
        of_rest = sum(sizes[most - 1 :]) + len(texts) - most
        return [
            *cap_all([*texts[: most - 1], rest], limit, [*before[: most - 1], of_rest]),
            *[""] * (len(texts) - most),
        ]
    capped: list[str] = []
    for text, size in zip(texts, sizes, strict=True):
        reserved -= min(size, LEAST_TEXT_BYTES)
        capped.append(_cap(text, size, left - reserved))
        left -= _size(capped[-1])
    return capped


def _size(text: str) -> int:
    """A lone surrogate counts as much as what will stand for it."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _ends(text: str, head: int, tail: int) -> tuple[str, str]:
    """The longest head and tail of at most so many bytes that cut no cluster. Together they are less than the text."""
    # so many characters have at least as many bytes; what is no whole character at the cut is left out
    first = len(text[:head].encode()[:head].decode("utf-8", "ignore"))
    ending = text[max(0, len(text) - tail) :].encode()
    last = len(text) - len(ending[len(ending) - tail :].decode("utf-8", "ignore"))
    end = max(one for one in _boundaries(text, first) if one <= first)
    begin = min(one for one in _boundaries(text, last) if one >= last)
    return text[:end], text[begin:]


def _boundaries(text: str, place: int) -> list[int]:
    """Where clusters begin and end around a place: one boundary that is not after it, and one that is not before it, at least."""
    import regex  # noqa: PLC0415 - 0.1 s of import that who caps nothing need not pay

    # from inside a cluster one sees boundaries that are none, up to where it ends: so begin farther away than needed
    start = _between_flags(text, max(0, place - 2 * WIDEST))
    return [start, *(start + found.end() for found in regex.finditer(r"\X", text[start : place + WIDEST]))]


def _between_flags(text: str, place: int) -> int:
    """The place, or the one before it if it is in the middle of a flag."""
    if text[place] not in _FLAG_LETTERS:
        return place
    row = len(text[:place].rstrip(_FLAG_LETTERS))
    return row + (place - row) // 2 * 2
