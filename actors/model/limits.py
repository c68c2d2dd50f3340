"""How long an answer may be (M6). No I/O.

1. Never longer than the model gives, nor than was asked for.
2. What was sent and the answer fit the window together. What was sent is estimated, at 3.5 characters a token, and the larger it is the
   more room is left for the estimate to be wrong.
3. A limit that nobody knows is not made up: None.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sapwood.actors.model.providers.base import Request
from sapwood.actors.projection.counter import IMAGE_TOKENS, UNITS_PER_TOKEN, units
from sapwood.actors.projection.parts import parts_of
from sapwood.events.content import ImageContent
from sapwood.events.messages import Message

UNITS_OF_IMAGE: Final = IMAGE_TOKENS * UNITS_PER_TOKEN
LEAST_MARGIN: Final = 4_096
"""Tokens left free beside a small request (T2)."""
MARGIN: Final = 0.15
"""Of a large request, what is left free."""
SHORT: Final = 32_768
"""Below this much room the margin is given up, down to `LEAST_MARGIN`: a short answer is better than none."""
LEAST_ROOM: Final = 8_192
"""Tokens that an answer gets however large its request is taken to be, or a quarter of a small window. The estimate is a third above the
truth for English and for code: an answer of one token would be nobody's, and a request that does not fit is told by its server (unlike
Pi, whose formula goes down to 1)."""


def output_limit(request: Request) -> int | None:
    """Tokens that the answer to this request may have; None if nobody says so. At least 1."""
    known = [limit for limit in (request.max_output, request.model.max_output) if limit is not None]
    if not known:
        return None
    wanted, window = min(known), request.model.context_window
    if window is None:
        return max(1, wanted)
    sent = estimated(request.messages)
    room = window - sent - max(LEAST_MARGIN, _up(sent * MARGIN))
    if room < SHORT:
        room = min(SHORT, window - sent - LEAST_MARGIN)
    return max(1, min(wanted, max(room, min(LEAST_ROOM, window // 4))))


def estimated(messages: Iterable[Message]) -> int:
    """Tokens of a request, by the rule of thumb that output limits go by (T2): 3.5 UTF-16 units each, rounded up per message."""
    return sum(_up(_units(message) / 3.5) for message in messages)


def _units(message: Message) -> int:
    return sum(UNITS_OF_IMAGE if isinstance(part, ImageContent) else units(part) for part in parts_of(message))


def _up(number: float) -> int:
    return -int(-number // 1)
