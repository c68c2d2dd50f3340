"""What is known of a failure comes back as it was noted; what somebody else wrote there is no failure."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.events.failures import UNKNOWN, Failure, failure_of, noted
from tests.build import MS, assistant


def test_a_failure_is_read_as_it_was_noted() -> None:
    failure = Failure(kind="rate_limit", status=429, retry_after_ms=3000)
    answer = msgspec.structs.replace(assistant(stop="error"), diagnostics=noted(failure, MS))

    assert failure_of(answer) == failure
    assert answer.diagnostics == [
        {
            "type": "provider_failure",
            "timestamp": MS,
            "details": {"kind": "rate_limit", "status": 429, "retryAfterMs": 3000},
        }
    ]


@pytest.mark.parametrize(
    "diagnostics",
    [
        None,
        "slow",
        {"type": "provider_failure"},
        [],
        ["slow", {"type": "note", "text": "slow"}],
        [{"type": "provider_failure"}],
        [{"type": "provider_failure", "details": {"kind": "a later one"}}],
        [{"type": "provider_failure", "details": {"later": 1}}],
    ],
    ids=repr,
)
def test_what_is_no_failure_of_ours_says_nothing(diagnostics: object) -> None:
    assert failure_of(msgspec.structs.replace(assistant(), diagnostics=diagnostics)) == UNKNOWN


def test_a_failure_stands_among_other_diagnostics() -> None:
    failure = Failure(kind="overflow")
    answer = msgspec.structs.replace(assistant(), diagnostics=[{"type": "note"}, *noted(failure, MS)])

    assert failure_of(answer) == failure
