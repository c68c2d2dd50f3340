"""Whether a failed call is worth another attempt, and when (M4). No I/O, no clock, no chance of its own.

1. One policy for all who ask models: the run for its turns, compaction and navigation for their summaries. A provider never asks again.
2. Where the provider says what kind of failure it is, that decides; else the words do.
3. What may pass by itself is tried again: the network, a status of `PASSING`, an overload, told by its words. What nobody knows is not.
4. What fails the same way each time is never tried again: a request that is too large, a quota, a key, a bad request.
5. A wait that the provider asks for is kept to the millisecond; one beyond the cap fails at once, and says so.
6. Else the wait doubles from attempt to attempt, up to the cap, and jitter makes it a little shorter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from sapwood.actors.model import words
from sapwood.events.errors import PASSING_KINDS, FailureKind, Refused
from sapwood.events.failures import failure_of
from sapwood.events.messages import AssistantMessage

PASSING: Final = frozenset({408, 409, 429, *range(500, 600)})
"""Statuses that another attempt may not meet again: too slow, in conflict, too many, and whatever is the server's own trouble."""

SPREAD: Final = 0.25
"""Of a wait, what jitter may take away: who failed together comes back apart, and the waits still grow."""

MOST_DOUBLINGS: Final = 30
"""A thousand million times the first wait: beyond any cap, and a number that can be reckoned with."""

TOO_LARGE: Final = "the request is too large"
"""Why, of a request that would fit after a compaction (C16)."""

HOPELESS: Final[Mapping[str, Sequence[str]]] = {
    TOO_LARGE: (*words.OVERFLOW, *words.TOO_LARGE),
    "what the account may use is used up": words.SPENT,
}
"""Why, and the words of it: these come with a status of `PASSING` too, and do not pass."""

REJECTED: Final[Mapping[str, Sequence[str]]] = {
    "the provider does not let us in": (
        r"api[ _-]?key",
        r"authenticat|unauthori[sz]ed",
        r"forbidden|permission[ _]denied",
        r"certificate",
    ),
    "the provider does not take the request": (
        r"bad[ _]request",
        r"invalid[ _](?:request|argument)",
        r"\bnot[ _]found",
    ),
}
"""The same, where no status stands beside them: with one, the status decides."""

LIKELY: Final[tuple[str, ...]] = (
    # the provider speaks
    r"overloaded",
    r"\bbusy\b",
    r"high demand",
    r"(?:over|at) capacity",
    r"throttl",
    r"rate[ _-]?limit",
    r"too many requests",
    r"resource[ _]?exhausted",
    r"retry delay",
    r"service[ _]unavailable",
    r"(?:temporarily|currently) unavailable",
    r"internal(?: server)? error",
    r"server[ _]error",
    r"server had an error",
    r"api_error",
    r"bad gateway",
    r"provider returned error",
    r"upstream",
    r"try again (?:later|in)",
    r"retry (?:your request|later|in|after)",
    # the way to it
    r"network",
    r"fetch failed",
    r"socket hang up",
    r"name resolution|name or service not known|nodename nor servname",
    r"\bE(?:CONN\w+|PIPE|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)\b",
    r"broken pipe",
    r"connection (?:was )?(?:error|refused|reset|closed|lost|aborted|terminat)",
    r"connection attempts failed",
    r"(?:Connect|Read|Write|RemoteProtocol)Error",
    r"time(?:d |-)?out|ETIMEDOUT",
    # the end, too early
    r"^(?:\w+: )?terminated$",
    r"peer closed|server disconnected",
    r"websocket",
    r"incomplete",
    r"stream (?:ended|closed|error)",
    r"premature",
    r"unexpected[ _](?:eof|end)",
    r"http/2",
)
"""What speaks for another attempt where there is no status."""

LASTING: Final[Mapping[FailureKind, str]] = {
    "overflow": "the request has more tokens than the model's window",
    "too_large": "the request is too large",
    "quota": "what the account may use is used up",
    "auth": "the provider does not let us in",
    "bad_request": "the provider does not take the request",
    "refused": "the provider does not give this answer",
    "redaction": "the host's redactor cannot be used",
}
"""Why, where a provider knows what kind of failure it is."""

_STATUS: Final = re.compile(
    r"(?:^\W*(?:HTTP(?:/[\d.]+)?\s+)?|(?<![a-z])(?:error|status[ _]?code|status|code|http)[^\w\n]{1,4})"
    r"([45]\d\d)\b(?!\s*(?:[a-z]?bytes|tokens|[km]b)\b|[.,]\d)",
    re.IGNORECASE,
)
"""At the beginning, or behind a word that says what it is: other numbers of three digits are none."""


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How often and how patiently a host has failed calls tried again. `Refused` for what is no such number."""

    enabled: bool = True
    max_retries: int = 3
    """Attempts after the first one."""
    base_delay_ms: int = 2_000
    """Before the first retry; twice as much before each further one: 2, 4, 8 … s."""
    max_delay_ms: int = 60_000
    """No wait is longer, whoever asks for it: a person is waiting too."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise Refused("bad-input", f"RetryPolicy(enabled=…) is True or False, not {self.enabled!r:.80}")
        for field in ("max_retries", "base_delay_ms", "max_delay_ms"):
            number: object = getattr(self, field)
            if type(number) is not int or number < 0:
                raise Refused("bad-input", f"RetryPolicy({field}=…) is a whole number from 0 on, not {number!r:.80}")


@attrs.frozen
class Again:
    """Wait so many milliseconds, and ask once more: with the same request."""

    delay_ms: int


@attrs.frozen
class No:
    """Let it be, and why, in words."""

    why: str


def retry(
    error: str | None,
    attempt: int,
    policy: RetryPolicy,
    *,
    jitter: float,
    kind: FailureKind = "unknown",
    retry_after_ms: int | None = None,
) -> Again | No:
    """What to do after attempt number `attempt`, counted from 1, failed with `error`.

    `jitter` is a fraction in [0, 1), drawn anew each time: that much of `SPREAD` is taken off the wait. It only shortens, so no wait is
    longer than the cap; and it takes a quarter at most, so below the cap each wait is longer than the last one, whatever was drawn.
    A wait that the provider asked for (`retry_after_ms`) is taken as it is: before it is over, it would refuse again.
    Raises ValueError for an attempt or a jitter that is none.
    """
    if attempt < 1:
        raise ValueError(f"attempts are counted from 1: {attempt} is none")
    if not 0 <= jitter < 1:
        raise ValueError(f"jitter is a fraction in [0, 1), not {jitter}")
    lasting = why_it_lasts(error, kind)
    if lasting is not None:
        return No(lasting)
    if not policy.enabled or policy.max_retries == 0:
        return No("retries are switched off")
    if attempt > policy.max_retries:
        return No(f"{attempt} attempts have failed, and there are no more than {policy.max_retries} retries")
    if retry_after_ms is None:
        wait = min(policy.base_delay_ms * 2 ** min(attempt - 1, MOST_DOUBLINGS), policy.max_delay_ms)
        return Again(wait - int(wait * SPREAD * jitter))
    if retry_after_ms > policy.max_delay_ms:
        asked, most = retry_after_ms / 1000, policy.max_delay_ms / 1000
        return No(f"the provider asks to wait for {asked:g} s, and no retry waits for more than {most:g} s")
    return Again(max(retry_after_ms, 0))


def retry_answer(answer: AssistantMessage, attempt: int, policy: RetryPolicy, *, jitter: float) -> Again | No:
    """The same of an answer that failed: by what it knows of its failure."""
    known = failure_of(answer)
    return retry(
        answer.error_message, attempt, policy, jitter=jitter, kind=known.kind, retry_after_ms=known.retry_after_ms
    )


def why_it_lasts(error: str | None, kind: FailureKind = "unknown") -> str | None:
    """Why another attempt would fail as well, by the kind of the failure, or as far as its words tell; None if it may not."""
    if kind in PASSING_KINDS:
        return None
    if kind != "unknown":
        return LASTING[kind]
    if error is None or not error.strip():
        return "nothing says what went wrong"
    hopeless = _reason(HOPELESS, error)
    if hopeless is not None:
        return hopeless
    status = status_of(error)
    if status is not None:
        return None if status in PASSING else f"the provider refused the request with status {status}"
    rejected = _reason(REJECTED, error)
    if rejected is not None:
        return rejected
    return None if words.says(error, LIKELY) else "nothing in it says that it would pass"


def status_of(error: str) -> int | None:
    """The HTTP status of a failure that an error's words name."""
    found = _STATUS.search(error)
    return None if found is None else int(found[1])


def _reason(table: Mapping[str, Sequence[str]], error: str) -> str | None:
    return next((why for why, patterns in table.items() if words.says(error, patterns)), None)
