"""Whatever a server says of a failure is words, a kind and perhaps a wait."""

from __future__ import annotations

import json

import pytest

from sapwood.actors.model.failing import LONGEST, LONGEST_WAIT_MS, failed_event, refusal, wait_of

NOW = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


def words(status: int, body: bytes, **headers: str) -> str:
    return str(refusal("openai-completions", status, headers, body, NOW))


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, b'{"error": {"message": "no such thing", "code": "bad"}}', "400 bad: no such thing"),
        (400, b'{"error": {"message": "bad thing", "code": "bad", "type": null}}', "400 bad thing"),
        (400, b'{"error": "no"}', "400 no"),
        (400, b'{"message": "no", "type": "Strange"}', "400 Strange: no"),
        (
            422,
            b'{"detail": [{"loc": ["body"], "msg": "field required"}]}',
            '422 {"detail":[{"loc":["body"],"msg":"field required"}]}',
        ),
        (422, b'{"detail": "field required"}', "422 field required"),
        (400, b'[{"error": {"message": "in a list", "status": "X"}}]', "400 X: in a list"),
        (400, b'{"errors": [{"message": "the first"}]}', "400 the first"),
        (400, b'{"error": {"message": "behind", "metadata": {"raw": "what it said"}}}', "400 behind: what it said"),
        (400, b'{"error": {"message": "behind", "metadata": {"raw": {"a": 1}}}}', '400 behind: {"a":1}'),
        (400, b'{"error": {}}', "400 {}"),
        (400, b'{"error": {"code": "only_a_code"}}', '400 {"code":"only_a_code"}'),
        (400, b"[]", "400"),
        (400, b"null", "400 null"),
        (400, b"7", "400 7"),
        (500, b"", "500"),
        (500, b"plain  text\n", "500 plain text"),
        (502, b"<html><head><TITLE>502 Bad\nGateway</TITLE><body>x", "502 502 Bad Gateway"),
        (502, b"<p>Gone &amp; away</p><script>alert(1)</script>", "502 Gone & away"),
        (500, b"\xff\xfe", "500 \ufffd\ufffd"),
        (500, b"[" * 100_000, "500"),
        (200, b"", "200 the answer is empty"),
        (302, b"<html>", "302 it points to another address, and no request follows there: it does not say which"),
    ],
)
def test_any_body_is_words(status: int, body: bytes, said: str) -> None:
    assert words(status, body).startswith(said)


def test_a_redirect_says_where_it_points() -> None:
    assert words(301, b"", location="https://elsewhere.example").endswith("there: https://elsewhere.example")


def test_what_is_long_is_cut() -> None:
    assert len(words(400, json.dumps({"error": {"message": "x" * 100_000}}).encode())) < LONGEST + 20
    assert len(words(400, b"x" * 100_000)) < LONGEST + 20


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({"retry-after": "30"}, 30_000),
        ({"retry-after": " 0.5 "}, 500),
        ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "1500"}, 1_500),
        ({"retry-after-ms": "1500.2", "retry-after": "9"}, 1_501),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30_000),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT", "date": "Thu, 01 Jan 2026 00:00:10 GMT"}, 20_000),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0),
        ({"retry-after": "Thursday, 01-Jan-26 00:00:30 GMT"}, 30_000),
        ({"retry-after": "18000"}, 18_000_000),
        ({"retry-after": "9" * 15}, LONGEST_WAIT_MS),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Thu, 99 Jan 2026 00:00:30 GMT"}, None),
        ({"retry-after": "Thu, 01 Jan 99999 00:00:30 GMT"}, None),
        ({}, None),
    ],
)
def test_i03_a_wait_is_read_in_every_form(headers: dict[str, str], ms: int | None) -> None:
    assert refusal("anthropic-messages", 429, headers, b"", NOW).retry_after_ms == ms


@pytest.mark.parametrize(
    ("said", "ms"),
    [
        ("Please try again in 20s.", 20_000),
        ("Please try again in 1m3.5s. Visit", 63_500),
        ("Please retry in 350ms", 350),
        ("try again in 2 hours", 7_200_000),
        ("Retry after 12 seconds", 12_000),
        ("wait 5 minutes before you go on", 300_000),
        ("try again later", None),
        ("the limit is 20s", None),
    ],
)
def test_a_wait_may_stand_in_the_words(said: str, ms: int | None) -> None:
    assert wait_of({}, None, said, NOW) == ms


def test_a_wait_may_stand_in_a_detail() -> None:
    error = {"error": {"code": 429, "details": [{"@type": "x"}, {"retryDelay": "30.5s"}]}}

    assert wait_of({}, error, "", NOW) == 30_500
    assert wait_of({}, {"error": {"details": [{"retryDelay": "soon"}]}}, "", NOW) is None


def test_an_event_tells_of_a_failure_as_a_body_does() -> None:
    overloaded = failed_event(
        "anthropic-messages", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    )
    limited = failed_event("openai-completions", {"error": {"code": 429, "message": "Slow down. Try again in 3s."}})
    silent = failed_event("openai-completions", {"type": "error"})

    assert (str(overloaded), overloaded.kind) == ("overloaded_error: Overloaded", "overloaded")
    assert (limited.kind, limited.status, limited.retry_after_ms) == ("rate_limit", 429, 3000)
    assert (str(silent), silent.kind) == ('{"type":"error"}', "unknown")
