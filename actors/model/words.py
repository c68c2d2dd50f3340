"""What the errors of providers say, as patterns: the one home of the words by which a failure is told (M4, M5). No I/O.

1. A pattern has been seen: what a server writes is in the tests of `overflow` and `retry`.
2. Words are the same for every wire: a gateway says in one wire what the server behind it said in another. Codes are not: see `overflow`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

OVERFLOW: Final[Sequence[str]] = (
    r"maximum (?:context|prompt) length",
    r"context[ _](?:length|window|size).{0,40}exceed|exceed.{0,60}context[ _](?:length|window|size|limit)",
    r"reduce the length of the (?:messages|prompt|input)",
    r"prompt token count of \d+ exceeds the limit",
    r"(?:prompt|input) is too long|prompt too long",
    r"exceeded model token limit",
    r"must be <= \d+\. Given",
    r"greater than the context length",
    r"input length .{0,40}exceeds",
    r"token limit exceeded|range of input length should be",
    r"exceeds the maximum number of tokens|input token count .{0,40}exceeds the maximum",
    r"too many (?:input )?tokens(?!.*wait)",
)
"""More tokens than the window holds."""

TOO_LARGE: Final[Sequence[str]] = (
    r"image (?:size )?exceeds|images? (?:is|are) too large|image dimensions exceed",
    r"too many images|at most \d+ images?",
    r"exceeds? .{0,60}\bbytes\b|\d+ bytes > \d+|\bbytes\b.{0,60}exceeds?",
    r"(?:request|payload|entity|body)[ _](?:entity |body |payload )?(?:is )?too[ _]large",
    r"exceeds the maximum (?:allowed )?(?:number of bytes|size)",
    r"payload size exceeds",
    r"string too long",  # characters of one message
)
"""Bytes, characters and images."""

PER_MINUTE: Final[Sequence[str]] = (
    r"request too large for .{0,200}tokens per min",  # will never fit: no wait helps
)
"""Of tokens that a minute allows, more than it ever will."""

RATE: Final[Sequence[str]] = (
    r"tokens? per (?:min|day|hour|second)|\bTPM\b|\bTPD\b",
    r"requests? per (?:min|day|hour|second)|\bRPM\b",
    r"rate[ _-]?limit",
    r"too many requests",
    r"throttl",
    r"too many tokens, please wait",
)
"""Too much in a time."""

_BROKE: Final[Sequence[str]] = (
    r"insufficient[ _](?:quota|credits?|balance|funds)",
    r"(?:credit|available) balance",
    r"requires more credits",
    r"out of (?:budget|credits)",
    r"extra usage is required",
)
QUOTA: Final[Sequence[str]] = (
    *_BROKE,
    r"exceeded your current quota.{0,80}billing",
    r"usage limits?\b.{0,60}reached|specified api usage limits",
)
"""What the account may use is used up."""

SPENT: Final[Sequence[str]] = (
    *_BROKE,
    r"quota exceeded",
    r"exceeded your current quota",
    r"(?:usage|spend)[ _]?limit",
    r"(?<!/)\bbilling",  # not the address of a page that stands behind a mere rate limit
    r"code\W{1,4}1308\b",  # the hours of a subscription are over
)
"""The same where words are all there is: no code, and nobody knows which wire it is."""

AUTH: Final[Sequence[str]] = (r"api key not valid|invalid api key|incorrect api key",)
"""The key is not good."""


def says(text: str, patterns: Sequence[str]) -> bool:
    """Whether any of the patterns stands in the text, in whatever case."""
    return any(re.search(pattern, text, re.IGNORECASE | re.DOTALL) for pattern in patterns)
