"""A long conversation in parts, each of which fits one request (C9). No I/O.

1. Texts are grouped in their order, as many as fit; a text that fits nowhere is cut, between two characters.
2. All parts together are the whole, to the character.
3. No part is larger than its room; only a single character may be, where a room is smaller than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

Count = Callable[[str], int]
"""Tokens of a text. Of two texts together no more than of each, and of a longer one no fewer: as good as true of every tokenizer."""


@attrs.frozen
class Text:
    """A text and its tokens, which are counted once."""

    text: str
    tokens: int


Texts = tuple[Text, ...]


def grouped(
    texts: Iterable[str], tokens: Iterable[int], room: int, count: Count, *, seam: int = 0
) -> list[tuple[str, ...]]:
    """The texts in parts of `room` tokens at most. ValueError for a room of less than one.

    Args:
        texts: in order; `tokens` are what each of them has by `count`.
        tokens: one number a text.
        room: what one part may take.
        count: asked for pieces of a text that is too large alone, and for nothing else.
        seam: tokens that are spent between two texts of a part.
    """
    rest = tuple(map(Text, texts, tokens))
    parts: list[tuple[str, ...]] = []
    while rest:
        part, rest = next_part(rest, room, count, seam=seam)
        parts.append(tuple(one.text for one in part))
    return parts


def next_part(texts: Texts, room: int, count: Count, *, seam: int = 0) -> tuple[Texts, Texts]:
    """The first part of these texts, and what is left. ValueError for a room of less than one."""
    if room < 1:
        raise ValueError(f"a part takes one token at least, not {room}")
    used = 0
    for at, one in enumerate(texts):
        used += one.tokens + (seam if at else 0)
        if used > room:
            return (texts[:at], texts[at:]) if at else _pieces(one, texts[1:], room, count)
    return texts, ()


def size_of(texts: Sequence[Text], seam: int) -> int:
    """The tokens of a part."""
    return sum(one.tokens for one in texts) + seam * max(len(texts) - 1, 0)


def shortened(text: str, room: int, count: Count) -> str:
    """The text, or as much of its beginning as leaves room for a mark that says what is missing; nothing if that does not fit."""
    if count(text) <= room:
        return text
    left = room - count(_mark(len(text)))
    if left < 1:
        return ""
    kept = beginning(text, left, count)
    return kept + _mark(len(text) - len(kept)) if count(kept) <= left else ""


def beginning(text: str, room: int, count: Count) -> str:
    """The longest beginning of a text that has `room` tokens at most, or a little less of a long one; one character at least.

    It ends with a line if one ends near.
    """
    low, high = 1, max(1, min(room, len(text)))
    while high < len(text) and count(text[:high]) <= room:
        low, high = high, min(2 * high, len(text))
    while high - low > low // 64:  # a sixty-fourth of it is not worth another count of it all
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    end = text.rfind("\n", low - low // 8, low) + 1
    return text[: end or low]


def _pieces(one: Text, behind: Texts, room: int, count: Count) -> tuple[Texts, Texts]:
    head = beginning(one.text, room, count)
    tail = one.text[len(head) :]
    first = Text(head, count(head))
    if not tail:
        return (first,), behind
    tokens = one.tokens - first.tokens
    if tokens <= 2 * room:  # else it is cut again, whatever it has exactly
        tokens = count(tail)
    return (first,), (Text(tail, tokens), *behind)


def _mark(missing: int) -> str:
    return f"\n\n[... {missing} more characters truncated]"
