"""How the pieces of an answer are handed over: those that are there at once, at once. No I/O, no waiting.

1. Neighbours of one block are one piece: where a server sends faster than they are read, that is one event in the place of many.
2. Nothing is raised at whoever hands over: it may stand in the middle of a read. What broke is kept, and the scope of the read cancelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.events.deltas import TextDelta, ThinkingDelta, ToolCallDelta

GROWING: Final = (TextDelta, ThinkingDelta, ToolCallDelta)
"""Pieces that neighbours can be one with."""


class Hand:
    """Hands pieces to `take`, until the last one, until it wants no more, or until it breaks."""

    def __init__(self, pieces: deque[Piece], take: Callable[[Piece], bool], cancel: Callable[[], None]) -> None:
        self._pieces = pieces
        self._take = take
        self._cancel = cancel
        self.open = True
        """Whether more is wanted."""
        self.fault: BaseException | None = None
        """What `take` raised."""

    def over(self) -> None:
        """Hand over what there is. Raises nothing (rule 2)."""
        pieces = list(self._pieces)
        self._pieces.clear()
        if not pieces or not self.open:
            return
        try:
            for piece in condensed(pieces):
                if not self._take(piece) or isinstance(piece, Finish):
                    self.open = False
                    break
        except BaseException as fault:  # noqa: BLE001 - rule 2: it is raised where nothing is under way
            self.open, self.fault = False, fault
        if not self.open:
            self._cancel()


def condensed(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, neighbours of one block as one."""
    first: TextDelta | ThinkingDelta | ToolCallDelta | None = None
    parts: list[str] = []
    for piece in pieces:
        if isinstance(piece, GROWING):
            if first is not None and type(first) is type(piece) and first.content_index == piece.content_index:
                parts.append(piece.delta)
                continue
            if first is not None:
                yield _one(first, parts)
            first, parts = piece, [piece.delta]
            continue
        if first is not None:
            yield _one(first, parts)
            first = None
        yield piece
    if first is not None:
        yield _one(first, parts)


def _one(first: TextDelta | ThinkingDelta | ToolCallDelta, parts: list[str]) -> Piece:
    return first if len(parts) == 1 else type(first)(content_index=first.content_index, delta="".join(parts))
