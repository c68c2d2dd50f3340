"""Why a model call failed, as an answer keeps it: for retries, for recovery, and for whoever asks later.

It stands among the answer's `diagnostics`, in the form that Pi gives them: a type, a time and details.
"""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.events.base import Json, Wire, is_array, is_object
from sapwood.events.errors import FailureKind
from sapwood.events.messages import AssistantMessage

PROVIDER_FAILURE: Final = "provider_failure"
"""The type of the diagnostic."""


class Failure(Wire, frozen=True, kw_only=True):
    """What is known of a failed call, beside its words."""

    kind: FailureKind = "unknown"
    status: int | None = None
    """Of the HTTP answer."""
    retry_after_ms: int | None = None
    """How long the provider asks to wait, in ms."""


UNKNOWN: Final = Failure()
"""Only the words tell."""


def noted(failure: Failure, at_ms: int) -> Json:
    """The diagnostics of an answer that failed so. `at_ms` is Unix milliseconds."""
    return [{"type": PROVIDER_FAILURE, "timestamp": at_ms, "details": msgspec.to_builtins(failure)}]


def failure_of(answer: AssistantMessage) -> Failure:
    """Why the answer failed, as far as it says so: `UNKNOWN` else, also for what somebody else has written there."""
    for one in answer.diagnostics if is_array(answer.diagnostics) else ():
        if is_object(one) and one.get("type") == PROVIDER_FAILURE:
            try:
                return msgspec.convert(one.get("details"), Failure)
            except msgspec.ValidationError:
                return UNKNOWN
    return UNKNOWN
