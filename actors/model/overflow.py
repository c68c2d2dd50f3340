"""What kind of failure a provider tells of, by its status, its code and its words (M5). No I/O.

1. The tables below are the policy; the code reads them, in this order: a wire's own codes, words, codes that a wire uses for whatever
   was too much or broke (`VAGUE`), status. The first that fits decides.
2. More tokens than the window holds (`overflow`) is told from too many tokens a minute (`rate_limit`), and from too many bytes or images
   (`too_large`): only the first is cured by a compaction.
3. A status of 429 is never an overflow, whatever it says of tokens.
4. Each line has been seen: what a server writes is in the test, shortened where it is long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from sapwood.actors.model.retry import TOO_LARGE as TOO_LARGE_WORDS
from sapwood.actors.model.retry import status_of, why_it_lasts
from sapwood.events.errors import FailureKind
from sapwood.events.failures import failure_of
from sapwood.events.messages import AssistantMessage

Wire = Literal["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"]

CODES: Final[Mapping[Wire, Mapping[str, FailureKind]]] = {
    "anthropic-messages": {
        "overloaded_error": "overloaded",
        "rate_limit_error": "rate_limit",
        "api_error": "server",
        "timeout_error": "timeout",
        "authentication_error": "auth",
        "permission_error": "auth",
        "billing_error": "quota",
        "request_too_large": "too_large",
        "exceed_context_size_error": "overflow",  # llama.cpp
    },
    "openai-completions": {
        "context_length_exceeded": "overflow",
        "exceed_context_size_error": "overflow",  # llama.cpp
        "model_max_prompt_tokens_exceeded": "overflow",
        "insufficient_quota": "quota",
        "billing_hard_limit_reached": "quota",
        "invalid_api_key": "auth",
        "rate_limit_exceeded": "rate_limit",
        "server_error": "server",
        "engine_overloaded": "overloaded",
        "content_filter": "refused",
        "content_policy_violation": "refused",
    },
    "openai-responses": {
        "context_length_exceeded": "overflow",
        "exceed_context_size_error": "overflow",  # llama.cpp
        "insufficient_quota": "quota",
        "invalid_api_key": "auth",
        "rate_limit_exceeded": "rate_limit",
        "slow_down": "overloaded",
        "server_error": "server",
        "image_too_large": "too_large",
        "image_file_too_large": "too_large",
        "content_filter": "refused",
        "image_content_policy_violation": "refused",
        "bio_policy": "refused",
        "misalignment_policy_violation": "refused",
        "invalid_prompt": "bad_request",
    },
    "google-generative-ai": {
        "RESOURCE_EXHAUSTED": "rate_limit",
        "UNAVAILABLE": "overloaded",
        "INTERNAL": "server",
        "DEADLINE_EXCEEDED": "timeout",
        "UNAUTHENTICATED": "auth",
        "PERMISSION_DENIED": "auth",
    },
}
"""By the code that an error bears, per wire."""

VAGUE: Final[frozenset[FailureKind]] = frozenset({"rate_limit", "overloaded", "server"})
"""What a code says where its words may know better: that the quota is used up, or that a request alone is more than a minute allows."""

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

OVERFLOW: Final[Mapping[Wire, Sequence[str]]] = {
    "anthropic-messages": (
        r"prompt is too long",
        r"exceed(?:s|ed)? context limit",
        r"input is too long for requested model",
    ),
    "openai-completions": (
        r"maximum context length",
        r"maximum prompt length",
        r"context[ _](?:length|window|size).{0,40}exceed|exceed.{0,60}context[ _](?:length|window|size|limit)",
        r"reduce the length of the (?:messages|prompt|input)",
        r"prompt token count of \d+ exceeds the limit",
        r"prompt is too long|prompt too long|input is too long",
        r"too large for model with \d+ maximum context",
        r"exceeded model token limit",
        r"must be <= \d+\. Given",
        r"greater than the context length",
        r"input length .{0,40}exceeds",
        r"token limit exceeded|range of input length should be",
    ),
    "openai-responses": (
        r"exceeds? the context window",
        r"maximum context length",
        r"exceeds? the available context size",
    ),
    "google-generative-ai": (
        r"input token count .{0,40}exceeds the maximum",
        r"exceeds the maximum number of tokens",
    ),
}

QUOTA: Final[Sequence[str]] = (
    r"insufficient[ _](?:quota|credits?|balance|funds)",
    r"(?:credit|available) balance",
    r"exceeded your current quota.{0,80}billing",
    r"requires more credits",
    r"out of (?:budget|credits)",
    r"usage limits?\b.{0,60}reached|specified api usage limits|extra usage is required",
)

AUTH: Final[Sequence[str]] = (r"api key not valid|invalid api key|incorrect api key",)

BY_STATUS: Final[Mapping[int, FailureKind]] = {
    401: "auth",
    402: "quota",
    403: "auth",
    408: "timeout",
    409: "overloaded",
    413: "too_large",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}


def kind_of(wire: Wire, status: int | None, codes: Sequence[str], words: str) -> FailureKind:
    """The kind of a failure. `status` None or 200: it came inside a stream, where codes and words are all there is.

    `codes` are all that the error bears for one (its type, its code), the most telling first.
    """
    coded = [kind for code in codes if (kind := CODES[wire].get(code)) and not (status == 429 and kind == "overflow")]
    exact = next((kind for kind in coded if kind not in VAGUE), None)
    return exact or _by_words(wire, status, words) or next(iter(coded), None) or _by_status(status, words)


def _by_words(wire: Wire, status: int | None, words: str) -> FailureKind | None:
    if status != 429:
        if any(_says(words, pattern) for pattern in PER_MINUTE):
            return "too_large"
        if not any(_says(words, pattern) for pattern in RATE):
            if any(_says(words, pattern) for pattern in TOO_LARGE):
                return "too_large"
            if any(_says(words, pattern) for pattern in OVERFLOW[wire]):
                return "overflow"
    elif any(_says(words, pattern) for pattern in PER_MINUTE):
        return "too_large"
    if any(_says(words, pattern) for pattern in QUOTA):
        return "quota"
    if any(_says(words, pattern) for pattern in AUTH):
        return "auth"
    return None


def _by_status(status: int | None, words: str) -> FailureKind:
    if status is None or status == 200:
        return "rate_limit" if any(_says(words, pattern) for pattern in RATE) else "unknown"
    if status in BY_STATUS:
        return BY_STATUS[status]
    return "server" if status >= 500 else "bad_request"


def _says(words: str, pattern: str) -> bool:
    return re.search(pattern, words, re.IGNORECASE | re.DOTALL) is not None


def is_too_much(answer: AssistantMessage) -> bool:
    """Whether an answer failed because its request was too large, of whatever: a smaller one may be taken (C9, C16).

    By the kind that the failure bears; where nobody knows that, by its words.
    """
    if answer.stop_reason != "error":
        return False
    kind, words = failure_of(answer).kind, answer.error_message or ""
    if kind != "unknown":
        return kind in {"overflow", "too_large"}
    return status_of(words) != TOO_MANY and why_it_lasts(words) == TOO_LARGE_WORDS


def overflowed(answer: AssistantMessage, window: int | None) -> bool:
    """Whether the window was too small for this answer's request, though nobody said so.

    Some servers cut what is too long and answer all the same: then what they read is more than the window holds, or leaves no room
    to say anything. `window` is the model's, in tokens; None if nobody knows it.
    """
    if window is None:
        return False
    read = answer.usage.input + answer.usage.cache_read + answer.usage.cache_write
    if answer.stop_reason == "stop":
        return read > window
    return answer.stop_reason == "length" and answer.usage.output == 0 and read >= NEARLY * window


TOO_MANY: Final = 429
"""The status of a rate limit, whatever its words say of sizes."""
NEARLY: Final = 0.99
"""Of a window: a request that fills so much of it leaves no room for a word."""
