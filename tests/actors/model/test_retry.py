"""What is tried again, what is not, and how long it waits."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.model.assembly import CUT_OFF, STOPPED
from sapwood.actors.model.retry import (
    HOPELESS,
    LIKELY,
    PASSING,
    REJECTED,
    SPREAD,
    Again,
    No,
    RetryPolicy,
    retry,
    status_of,
    why_it_lasts,
)
from sapwood.events.errors import Refused

POLICY = RetryPolicy()

PASSES = [
    # by its status
    '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    (
        "429 This request would exceed your organization's rate limit of 30,000 input tokens per minute. For details, refer to: "
        "https://docs.claude.com/en/api/rate-limits. Please reduce the prompt length or the maximum tokens requested, or try again later."
    ),
    (
        "Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit "
        "30000, Used 29000, Requested 2000. Please try again in 2s. You can increase your rate limit by adding a payment method to your "
        "account at https://platform.openai.com/account/billing.', 'type': 'tokens', 'code': 'rate_limit_exceeded'}}"
    ),
    '{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}',
    "got status: 500 . {}",
    "HTTP/1.1 502 Bad Gateway",
    "Server error '504 Gateway Timeout' for url 'https://api.example.org/v1/messages'",
    "[429] slow down",
    "524: A timeout occurred",
    "status_code=408",
    "409 Conflict",
    "500 forbidden fruit",  # with a status, words decide nothing
    # by the provider's words
    "overloaded",
    "The server is busy, please come back",
    "We are experiencing high demand.",
    "Model is over capacity",
    "ThrottlingException: slow down",
    "rate_limit_error",
    "Too many requests, slow down",
    "ResourceExhausted",
    "retry delay: 4",
    "Service Unavailable",
    "The model is temporarily unavailable.",
    "Internal server error",
    "Internal error encountered.",
    "server_error",
    "The server had an error while processing your request. Sorry about that!",
    '{"type":"error","error":{"type":"api_error","message":"?"}}',
    "<html><title>Bad Gateway</title></html>",
    "Provider returned error",
    "upstream connect failure",
    "The engine is warming up, please try again later",
    "You can retry your request, or contact us through our help center.",
    # by the way there
    "network changed",
    "TypeError: fetch failed",
    "socket hang up",
    "ConnectTrouble: [Errno -2] Name or service not known",
    "getaddrinfo EAI_AGAIN api.example.org",
    "BrokenResourceError: [Errno 32] Broken pipe",
    "The connection was reset by the peer",
    "All connection attempts failed",
    "ConnectError: ",
    "ReadTimeout: ",
    # by an end that came too early
    "terminated",
    "TypeError: terminated",
    "Server disconnected without sending a response.",
    "websocket closed 1006",
    "(incomplete chunked read)",
    CUT_OFF,
    "Premature close",
    "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol",
    "HTTP/2 stream 5 was reset",
    # rate limits that sound like an overflow
    "ThrottlingException: Too many tokens, please wait before trying again.",
]
TOO_LARGE, SPENT = HOPELESS
NOT_LET_IN, NOT_TAKEN = REJECTED
LASTS: dict[str, list[str | None]] = {
    TOO_LARGE: [
        "400 This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        '500 {"error":{"code":500,"message":"the request exceeds the available context size"}}',
        "400 The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "This model has a maximum prompt length of 131072 but the request contains 537812 tokens.",
        '400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
        (
            "429 Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45000. "
            "The input or output tokens must be reduced in order to run successfully."
        ),
        "413 request_too_large",
        "413 Request Entity Too Large",
        "Input is too long for requested model.",
        "503 Too many input tokens",
        "429 Please reduce the length of the messages or completion.",
        "prompt token count of 70000 exceeds the limit of 64000",
        "Your request exceeded model token limit: 131072",
        "422 `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`",
        "The number of tokens to keep from the initial prompt is greater than the context length",
        "400 input length 40000 exceeds what the model takes",
        "InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
        "400 messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
        "400 Too many images in request. Max is 250.",
        "400 request body of 1572864 bytes exceeds the limit of 1048576 bytes",
        "400 Request exceeds the maximum size",
        "400 Request payload size exceeds the limit",
        "400 Invalid 'messages[0].content': string too long.",
    ],
    SPENT: [
        "429 insufficient_quota",
        "402 Insufficient credits",
        "402 This request requires more credits, or fewer max_tokens.",
        "429 Extra usage is required for long context requests.",
        "429 Quota exceeded for metric: generate_content_free_tier_requests, limit: 10. Please retry in 5.9s.",
        "429 You exceeded your current quota, please check your plan.",
        "out of budget, try again later",
        "429 Your credit balance is too low to access the API.",
        "429 You have reached your specified API usage limits.",
        '429 {"type":"usage_limit_reached"}',
        "429 spend limit of your key",
        "429 check your plan and billing details",
        '429 {"error":{"code":"1308","message":"the hours are over"}}',
    ],
    NOT_LET_IN: [
        "Incorrect API key provided; this server error is yours",
        "invalid x-api-key (upstream)",
        "upstream: authentication failed",
        "upstream: Unauthorized",
        "upstream: Forbidden",
        "ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self signed",
    ],
    NOT_TAKEN: [
        "upstream: Bad Request",
        "invalid_request_error: timeout must be a number",
        "upstream: no such page: not found",
    ],
    "the provider refused the request with status 400": ["400 Provider returned error", "HTTP 400: overloaded operand"],
    "the provider refused the request with status 401": ["401 too many requests with a wrong key"],
    "the provider refused the request with status 404": ["Error: 404 the network of models has no such one"],
    "the provider refused the request with status 422": ['{"status": 422, "detail": "timeout"}'],
    "nothing in it says that it would pass": [
        "KeyError: 'oops'",
        STOPPED,
        "the provider's TextDelta cannot be kept: delta: expected str, got NoneType",
        "no provider is called 'other' (there are: scripted): give it to the Runtime",
        "max_tokens: 500 is not taken",
        "the run was terminated by its owner",
        "LocalProtocolError: Illegal header value",
    ],
    "nothing says what went wrong": [None, "", " \n"],
}
REASONS = [(error, why) for why, errors in LASTS.items() for error in errors]


@pytest.mark.parametrize("error", PASSES)
def test_what_may_pass_is_tried_again(error: str) -> None:
    assert why_it_lasts(error) is None
    assert retry(error, 1, POLICY, jitter=0) == Again(2_000)


@pytest.mark.parametrize(("error", "why"), REASONS)
def test_what_lasts_is_not_and_says_why(error: str | None, why: str) -> None:
    assert retry(error, 1, POLICY, jitter=0) == No(why)
    assert retry(error, 1, POLICY, jitter=0, retry_after_ms=1) == No(why)


def says(words: str, error: str) -> bool:
    return re.search(words, error, re.IGNORECASE) is not None


@pytest.mark.parametrize("words", LIKELY)
def test_no_word_for_another_attempt_is_there_for_nothing(words: str) -> None:
    without = [other for other in LIKELY if other != words]

    assert [
        error
        for error in PASSES
        if status_of(error) is None and says(words, error) and not any(says(other, error) for other in without)
    ]


@pytest.mark.parametrize(
    ("why", "words"), [(why, words) for table in (HOPELESS, REJECTED) for why in table for words in table[why]]
)
def test_no_word_against_another_attempt_is_there_for_nothing(why: str, words: str) -> None:
    tables = [*HOPELESS.values(), *REJECTED.values()]
    without = [other for table in tables for other in table if other != words]

    assert [
        error
        for error in LASTS[why]
        if error and says(words, error) and not any(says(other, error) for other in without)
    ]


@pytest.mark.parametrize("status", range(400, 600))
def test_a_status_decides(status: int) -> None:
    told = retry(f"{status} as it happens", 1, POLICY, jitter=0)

    assert isinstance(told, Again) is (status in {408, 409, 429} or status >= 500)
    assert (status in PASSING) is isinstance(told, Again)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("503", 503),
        ("  [503] x", 503),
        ("HTTP 503", 503),
        ("http/2 503 x", 503),
        ("it ended with status code 503", 503),
        ("it ended with status: 503", 503),
        ("statusCode 503", 503),
        ('{"code": 503}', 503),
        ("error=429, code=503", 429),
        ("200 OK", None),
        ("a limit of 500 is kept", None),
        ("500 tokens", None),
        ("error 512 kB", None),
        ("error 500.5", None),
        ("error 500,000", None),
        ("code 5031", None),
        ("code\n503", None),
        ("zipcode 503", None),
    ],
)
def test_a_number_is_a_status_by_its_place(error: str, status: int | None) -> None:
    assert status_of(error) == status


def test_the_waits_double_up_to_the_cap() -> None:
    patient = RetryPolicy(max_retries=7)

    assert [retry("overloaded", attempt, patient, jitter=0) for attempt in range(1, 9)] == [
        *(Again(seconds * 1000) for seconds in (2, 4, 8, 16, 32, 60, 60)),
        No("8 attempts have failed, and there are no more than 7 retries"),
    ]


def test_jitter_takes_off_a_quarter_at_most() -> None:
    waits = [retry("overloaded", 1, POLICY, jitter=jitter) for jitter in (0, 0.5, 0.999)]

    assert waits == [Again(2000), Again(1750), Again(1501)]
    assert SPREAD == 0.25


def test_no_more_retries_than_the_policy_has_are_made() -> None:
    assert retry("overloaded", 3, POLICY, jitter=0) == Again(8_000)
    assert retry("overloaded", 4, POLICY, jitter=0, retry_after_ms=1) == No(
        "4 attempts have failed, and there are no more than 3 retries"
    )


@pytest.mark.parametrize("policy", [RetryPolicy(enabled=False), RetryPolicy(max_retries=0)])
def test_a_policy_can_switch_retries_off(policy: RetryPolicy) -> None:
    assert retry("overloaded", 1, policy, jitter=0, retry_after_ms=1) == No("retries are switched off")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (0, Again(0)),
        (-5, Again(0)),  # a date that has passed
        (1, Again(1)),
        (5_000, Again(5_000)),
        (60_000, Again(60_000)),
        (60_001, No("the provider asks to wait for 60.001 s, and no retry waits for more than 60 s")),
        (18_000_000, No("the provider asks to wait for 18000 s, and no retry waits for more than 60 s")),
    ],
)
def test_what_the_provider_asks_for_is_kept_or_fails_at_once(asked: int, told: Again | No) -> None:
    assert retry("429", 1, POLICY, jitter=0.9, retry_after_ms=asked) == told


POLICIES = st.builds(
    RetryPolicy,
    max_retries=st.integers(2, 2**40),
    base_delay_ms=st.integers(0, 2**40),
    max_delay_ms=st.integers(0, 2**40),
)
FRACTIONS = st.floats(0, 1, exclude_max=True)


def wait(attempt: int, policy: RetryPolicy, jitter: float) -> int:
    told = retry("overloaded", attempt, policy, jitter=jitter)
    assert isinstance(told, Again)
    return told.delay_ms


@given(policy=POLICIES, jitter=FRACTIONS, data=st.data())
def test_a_wait_is_never_negative_never_over_the_cap_and_never_shorter_than_the_last(
    policy: RetryPolicy, jitter: float, data: st.DataObject
) -> None:
    attempt = data.draw(st.integers(1, policy.max_retries - 1))

    first, second = wait(attempt, policy, jitter), wait(attempt + 1, policy, jitter)

    assert 0 <= first <= second <= policy.max_delay_ms


@given(attempt=st.integers(1, 20), one=FRACTIONS, other=FRACTIONS)
def test_below_the_cap_each_wait_is_longer_whatever_is_drawn(attempt: int, one: float, other: float) -> None:
    policy = RetryPolicy(max_retries=100, max_delay_ms=2**60)

    assert wait(attempt, policy, one) < wait(attempt + 1, policy, other)


@given(error=st.text() | st.sampled_from([*PASSES, *(error for error, _ in REASONS if error)]), asked=st.integers())
def test_whatever_a_provider_says_there_is_a_verdict(error: str, asked: int) -> None:
    told = retry(error, 1, POLICY, jitter=0.5, retry_after_ms=asked)

    assert told.why if isinstance(told, No) else 0 <= told.delay_ms <= POLICY.max_delay_ms


@pytest.mark.parametrize(
    ("attempt", "jitter", "words"),
    [
        (0, 0.0, "attempts are counted from 1: 0 is none"),
        (1, 1.0, r"jitter is a fraction in \[0, 1\), not 1.0"),
        (1, -0.1, "jitter is a fraction"),
        (1, float("nan"), "jitter is a fraction"),
    ],
)
def test_an_attempt_or_a_jitter_that_is_none_is_the_callers_fault(attempt: int, jitter: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        retry("overloaded", attempt, POLICY, jitter=jitter)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"enabled": 1}, r"RetryPolicy\(enabled=…\) is True or False, not 1"),
        ({"max_retries": -1}, r"RetryPolicy\(max_retries=…\) is a whole number from 0 on, not -1"),
        ({"max_retries": True}, "not True"),
        ({"base_delay_ms": 0.5}, "not 0.5"),
        ({"max_delay_ms": "60"}, "not '60'"),
    ],
)
def test_a_policy_that_is_none_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words) as caught:
        RetryPolicy(**wrong)

    assert caught.value.reason == "bad-input"


def test_a_policy_of_zeros_waits_for_nothing() -> None:
    at_once = RetryPolicy(max_retries=1, base_delay_ms=0, max_delay_ms=0)

    assert retry("overloaded", 1, at_once, jitter=0.9) == Again(0)
