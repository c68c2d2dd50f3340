"""What kind of failure a provider tells of, by its status, its code and its words (M5). No I/O.

1. The tables are the policy; the code reads them, in this order: a wire's own codes, words (`words`), codes that a wire uses for whatever
   was too much or broke (`VAGUE`), status. The first that fits decides.
2. More tokens than the window holds (`overflow`) is told from too many tokens a minute (`rate_limit`), and from too many bytes or images
   (`too_large`): only the first is cured by a compaction.
3. A status of 429 is never an overflow, whatever it says of tokens.
4. Each line has been seen: what a server writes is in the test, shortened where it is long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from sapwood.actors.model.retry import TOO_LARGE as LASTS_BY_SIZE
from sapwood.actors.model.retry import status_of, why_it_lasts
from sapwood.actors.model.words import AUTH, OVERFLOW, PER_MINUTE, QUOTA, RATE, TOO_LARGE, says
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

TOO_MANY: Final = 429
"""The status of a rate limit, whatever its words say of sizes."""
NEARLY: Final = 0.99
"""Of a window: a request that fills so much of it leaves no room for a word."""
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
    coded = [
        kind for code in codes if (kind := CODES[wire].get(code)) and not (status == TOO_MANY and kind == "overflow")
    ]
    exact = next((kind for kind in coded if kind not in VAGUE), None)
    return exact or _by_words(status, words) or next(iter(coded), None) or _by_status(status, words)


def _by_words(status: int | None, words: str) -> FailureKind | None:
    if says(words, PER_MINUTE):
        return "too_large"
    if status != TOO_MANY and not says(words, RATE):
        if says(words, TOO_LARGE):
            return "too_large"
        if says(words, OVERFLOW):
            return "overflow"
    if says(words, QUOTA):
        return "quota"
    return "auth" if says(words, AUTH) else None


def _by_status(status: int | None, words: str) -> FailureKind:
    if status is None or status == 200:
        return "rate_limit" if says(words, RATE) else "unknown"
    if status in BY_STATUS:
        return BY_STATUS[status]
    return "server" if status >= 500 else "bad_request"


def is_too_much(answer: AssistantMessage) -> bool:
    """Whether an answer failed because its request was too large, of whatever: a smaller one may be taken (C9, C16).

    By the kind that the failure bears; where nobody knows that, by its words.
    """
    if answer.stop_reason != "error":
        return False
    kind, words = failure_of(answer).kind, answer.error_message or ""
    if kind != "unknown":
        return kind in {"overflow", "too_large"}
    return status_of(words) != TOO_MANY and why_it_lasts(words) == LASTS_BY_SIZE


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
