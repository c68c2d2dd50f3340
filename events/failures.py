"""What an answer keeps of its call: why that failed, and whether the request was another one than the log says.

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


REQUEST_CHANGED: Final = "request_changed"
"""The type of the diagnostic of an answer whose request was not what the log says: an extension had changed it (T3)."""

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


def changed(answer: AssistantMessage, at_ms: int) -> AssistantMessage:
    """The answer to a request that an extension had changed. `at_ms` is Unix milliseconds."""
    there: list[Json] = [*answer.diagnostics] if is_array(answer.diagnostics) else []
    return msgspec.structs.replace(answer, diagnostics=[*there, {"type": REQUEST_CHANGED, "timestamp": at_ms}])


def was_changed(answer: AssistantMessage) -> bool:
    """Whether its request was another one than the log says."""
    noted_there: Json = answer.diagnostics if is_array(answer.diagnostics) else ()
    return any(is_object(one) and one.get("type") == REQUEST_CHANGED for one in noted_there)
