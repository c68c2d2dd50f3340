"""The three kinds of id, and their makers. The randomness and the clock are handed in (S11)."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import NewType

from sapwood.events.errors import InvalidSessionId

EntryId = NewType("EntryId", str)
SessionId = NewType("SessionId", str)
ToolCallId = NewType("ToolCallId", str)

RandomBytes = Callable[[int], bytes]
"""`random(n)` gives n random bytes."""

_SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SHORT = 4
"""Bytes of an entry id: 8 hex characters, Pi's length."""
_SHORT_TRIES = 8
"""At 100,000 entries one try collides once in 43,000; eight in a row mean that the short range is spent."""


def new_entry_id(random: RandomBytes, taken: Container[str]) -> EntryId:
    """8 hex characters that are not in `taken` (every id of the file); longer when those collide."""
    length = _SHORT
    while True:
        for _ in range(_SHORT_TRIES):
            candidate = random(length).hex()
            if candidate not in taken:
                return EntryId(candidate)
        length *= 2


def new_session_id(now_ms: int, random: RandomBytes) -> SessionId:
    """A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, version and variant, 74 random bits."""
    noise = int.from_bytes(random(10), "big")
    value = (now_ms & ((1 << 48) - 1)) << 80
    value |= 0x7 << 76
    value |= ((noise >> 62) & 0xFFF) << 64
    value |= 0b10 << 62
    value |= noise & ((1 << 62) - 1)
    text = f"{value:032x}"
    return SessionId(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


def check_session_id(text: str) -> SessionId:
    """`text` as a session id, or `InvalidSessionId` with Pi's words (the asker's fault)."""
    if _SESSION_ID.fullmatch(text) is None:
        raise InvalidSessionId(text)
    return SessionId(text)
