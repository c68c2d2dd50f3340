"""Each pattern has been seen, and is there for something. What they are used for is in the tests of `overflow` and `retry`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sapwood.actors.model.words import AUTH, OVERFLOW, PER_MINUTE, QUOTA, RATE, SPENT, TOO_LARGE, says

SEEN: list[tuple[Sequence[str], Sequence[str]]] = [
    (
        RATE,
        (
            "This request would exceed the limit of 40,000 input tokens per minute.",
            "Limit 3 requests per day",
            "rate_limit_error",
            "Too many requests, slow down",
            "ThrottlingException",
            "Too many tokens, please wait before trying again.",
        ),
    ),
    (PER_MINUTE, ("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.",)),
    (
        QUOTA,
        (
            "402 Insufficient credits",
            "Your credit balance is too low to access the API.",
            "This request requires more credits, or fewer max_tokens.",
            "out of budget, try again later",
            "Extra usage is required for long context requests.",
            "You exceeded your current quota, please check your plan and billing details.",
            "You have reached your specified API usage limits.",
        ),
    ),
    (AUTH, ("API key not valid. Please pass a valid API key.",)),
]


@pytest.mark.parametrize(
    ("pattern", "table", "seen"), [(pattern, table, seen) for table, seen in SEEN for pattern in table]
)
def test_no_pattern_is_there_for_nothing(pattern: str, table: Sequence[str], seen: Sequence[str]) -> None:
    others = [other for other in table if other != pattern]

    assert [words for words in seen if says(words, [pattern]) and not says(words, others)]


@pytest.mark.parametrize("table", [OVERFLOW, TOO_LARGE, PER_MINUTE, QUOTA, SPENT, AUTH])
@pytest.mark.parametrize(
    "words",
    [
        "Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3. Please try again in 20s.",
        "Too many tokens, please wait before trying again.",
        "The model is overloaded.",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "Invalid value for temperature",
        "",
    ],
)
def test_what_is_none_of_these_is_none(table: Sequence[str], words: str) -> None:
    assert not says(words, table)


def test_a_pattern_is_found_over_lines_and_in_any_case() -> None:
    assert says("YOU EXCEEDED YOUR CURRENT QUOTA,\nsee your billing", QUOTA)
    assert not says("anything", ())
