"""What servers really write, and what kind of failure it is (M5). Long ones are shortened."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.actors.model.failing import refusal
from sapwood.actors.model.overflow import CODES, Wire, is_too_much, kind_of, overflowed
from sapwood.events.errors import FailureKind
from sapwood.events.failures import Failure, noted
from sapwood.events.messages import StopReason, Usage
from tests.build import assistant

A: Wire = "anthropic-messages"
C: Wire = "openai-completions"
R: Wire = "openai-responses"
G: Wire = "google-generative-ai"

SAID: list[tuple[Wire, int, str, FailureKind]] = [
    (
        A,
        400,
        (
            '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 '
            'tokens > 200000 maximum"}}'
        ),
        "overflow",
    ),
    (
        A,
        400,
        (
            '{"error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed '
            'context limit: 188240 + 21333 > 200000"}}'
        ),
        "overflow",
    ),
    (A, 413, '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}', "too_large"),
    (
        A,
        400,
        (
            '{"error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: '
            'image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"}}'
        ),
        "too_large",
    ),
    (
        A,
        400,
        (
            '{"error":{"type":"invalid_request_error","message":"image dimensions exceed max allowed size '
            'for many-image requests: 2000 pixels"}}'
        ),
        "too_large",
    ),
    (
        A,
        429,
        (
            '{"error":{"type":"rate_limit_error","message":"This request would exceed your organization\'s '
            'rate limit of 40,000 input tokens per minute."}}'
        ),
        "rate_limit",
    ),
    (
        A,
        429,
        '{"error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}}',
        "quota",
    ),
    (A, 529, '{"error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded"),
    (A, 500, '{"error":{"type":"api_error","message":"Internal server error"}}', "server"),
    (A, 401, '{"error":{"type":"authentication_error","message":"invalid x-api-key"}}', "auth"),
    (A, 403, '{"error":{"type":"permission_error","message":"no"}}', "auth"),
    (
        A,
        400,
        '{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}',
        "quota",
    ),
    (
        A,
        400,
        (
            '{"error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 64000, which is the '
            'maximum allowed number of output tokens"}}'
        ),
        "bad_request",
    ),
    (A, 404, '{"error":{"type":"not_found_error","message":"model: claude-none"}}', "bad_request"),
    (
        A,
        400,
        (
            '{"error":{"code":400,"message":"the request exceeds the available context '
            'size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}'
        ),
        "overflow",
    ),
    (
        C,
        400,
        (
            '{"error":{"message":"This model\'s maximum context length is 128000 tokens. However, your '
            "messages resulted in 130001 "
            'tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}'
        ),
        "overflow",
    ),
    (
        C,
        400,
        (
            '{"object":"error","message":"This model\'s maximum context length is 4096 tokens. However, you '
            'requested 5000 tokens.","type":"BadRequestError","code":400}'
        ),
        "overflow",
    ),
    (
        C,
        400,
        (
            '{"error":{"code":400,"message":"request (9041 tokens) exceeds the available context size (8192 '
            'tokens)","type":"exceed_context_size_error"}}'
        ),
        "overflow",
    ),
    (
        C,
        400,
        '{"error":"This model\'s maximum prompt length is 131072 but the request contains 537812 tokens."}',
        "overflow",
    ),
    (
        C,
        400,
        (
            '{"message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context '
            'length","type":"invalid_request_prompt"}'
        ),
        "overflow",
    ),
    (
        C,
        400,
        (
            '{"error":{"message":"Please reduce the length of the messages or '
            'completion.","code":"context_length_exceeded"}}'
        ),
        "overflow",
    ),
    (
        C,
        422,
        (
            '{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: '
            '4000 `inputs` tokens"}'
        ),
        "overflow",
    ),
    (C, 400, '{"error":{"message":"Your request exceeded model token limit: 131072"}}', "overflow"),
    (C, 413, "<html><head><title>413 Request Entity Too Large</title></head></html>", "too_large"),
    (C, 400, '{"error":{"message":"request body of 1572864 bytes exceeds the limit of 1048576 bytes"}}', "too_large"),
    (
        C,
        400,
        (
            '{"error":{"message":"Invalid \'messages[0].content\': string too long. Expected a string with '
            'maximum length 10485760."}}'
        ),
        "too_large",
    ),
    (C, 400, '{"error":{"message":"Too many images in request. Max is 250."}}', "too_large"),
    (
        C,
        429,
        (
            '{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used '
            '29000, Requested 5000. Please try again in 8s.","code":"rate_limit_exceeded"}}'
        ),
        "rate_limit",
    ),
    (
        C,
        429,
        (
            '{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, '
            'Requested 40000.","code":"rate_limit_exceeded"}}'
        ),
        "too_large",
    ),
    (
        C,
        413,
        (
            '{"error":{"message":"Request too large for model `llama` on tokens per minute (TPM): Limit '
            '6000, Requested 9000","code":"rate_limit_exceeded"}}'
        ),
        "too_large",
    ),
    (
        C,
        429,
        (
            '{"error":{"message":"You exceeded your current quota, please check your plan and billing '
            'details.","type":"insufficient_quota","code":"insufficient_quota"}}'
        ),
        "quota",
    ),
    (C, 402, '{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}', "quota"),
    (C, 401, '{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}', "auth"),
    (C, 503, "upstream connect error", "overloaded"),
    (C, 502, "<html><title>502 Bad Gateway</title></html>", "server"),
    (C, 408, "", "timeout"),
    (C, 429, "too many tokens in the context window", "rate_limit"),
    (
        C,
        400,
        '{"error":{"message":"rate limit: too many requests with a context window above the limit"}}',
        "bad_request",
    ),
    (C, 400, '{"error":{"message":"Invalid value for temperature"}}', "bad_request"),
    # a gateway says in one wire what the server behind it said in another
    (
        A,
        400,
        '{"error":{"type":"invalid_request_error","message":"This model\'s maximum context length is 8192 tokens"}}',
        "overflow",
    ),
    (R, 400, '{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}', "overflow"),
    (
        R,
        400,
        (
            '{"error":{"message":"Your input exceeds the context window of this '
            'model.","type":"invalid_request_error","code":"context_length_exceeded"}}'
        ),
        "overflow",
    ),
    (R, 500, '{"error":{"message":"x","code":"server_error"}}', "server"),
    (R, 400, '{"error":{"message":"x","code":"image_too_large"}}', "too_large"),
    (R, 429, '{"error":{"message":"slow","code":"slow_down"}}', "overloaded"),
    (
        G,
        400,
        (
            '{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of '
            'tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}'
        ),
        "overflow",
    ),
    (
        G,
        400,
        (
            '{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 '
            'bytes.","status":"INVALID_ARGUMENT"}}'
        ),
        "too_large",
    ),
    (
        G,
        429,
        (
            '[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check '
            'quota).","status":"RESOURCE_EXHAUSTED"}}]'
        ),
        "rate_limit",
    ),
    (G, 503, '{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}', "overloaded"),
    (G, 400, '{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}', "auth"),
]


@pytest.mark.parametrize(("wire", "status", "body", "kind"), SAID)
def test_a11_what_a_server_writes_is_of_its_kind(wire: Wire, status: int, body: str, kind: FailureKind) -> None:
    assert refusal(wire, status, {}, body.encode(), 0).kind == kind


def test_a12_too_many_bytes_are_no_overflow() -> None:
    said = b'{"error":{"message":"request body of 1572864 bytes exceeds the limit of 1048576 bytes"}}'

    assert refusal(C, 400, {}, said, 0).kind == "too_large"


@pytest.mark.parametrize("wire", CODES)
def test_too_many_requests_are_never_an_overflow(wire: Wire) -> None:
    for words in (
        "prompt is too long",
        "maximum context length",
        "exceeds the context window",
        "input token count exceeds the maximum",
    ):
        assert kind_of(wire, 429, (), words) == "rate_limit"
    for code in CODES[wire]:
        assert kind_of(wire, 429, (code,), "") != "overflow"


@pytest.mark.parametrize(
    ("wire", "status", "code", "words", "kind"),
    [
        (R, 400, "invalid_prompt", "Invalid prompt: 'maximum context length' is not allowed", "bad_request"),
        (A, 403, "permission_error", "Your organisation may not send requests whose body is too large", "auth"),
        (C, 401, "invalid_api_key", "Not of the project whose credit balance you see", "auth"),
        (C, 400, "context_length_exceeded", "image exceeds what is left", "overflow"),
        (C, 429, "rate_limit_exceeded", "Request too large for gpt-4o on tokens per min (TPM)", "too_large"),
        (G, 429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your billing", "quota"),
        (C, 400, "server_error", "maximum context length is 8192", "overflow"),
        (C, 429, "context_length_exceeded", "tokens per min", "rate_limit"),
        (C, 500, "invalid_request_error", "maximum context length is 8192", "overflow"),
    ],
)
def test_a_code_decides_before_words_and_words_before_a_code_that_says_little(
    wire: Wire, status: int, code: str, words: str, kind: FailureKind
) -> None:
    """Words used to come first: what quoted an error was taken for one."""
    assert kind_of(wire, status, (code,), f"{code} {words}") == kind


@pytest.mark.parametrize("wire", CODES)
def test_the_codes_of_a_wire_say_what_came_inside_a_stream(wire: Wire) -> None:
    for code, kind in CODES[wire].items():
        assert kind_of(wire, None, (code,), "") == kind
    assert kind_of(wire, None, (), "nobody knows") == "unknown"
    assert kind_of(wire, None, (), "rate limit reached") == "rate_limit"


@pytest.mark.parametrize(
    ("stop", "sent", "output", "window", "over"),
    [
        ("error", 500, 0, 100, False),
        ("stop", 101, 5, 100, True),
        ("stop", 100, 5, 100, False),
        ("stop", 101, 5, None, False),
        ("length", 99, 0, 100, True),
        ("length", 98, 0, 100, False),
        ("length", 99, 1, 100, False),
        ("toolUse", 101, 5, 100, False),
    ],
)
def test_a_window_may_overflow_without_a_word(
    stop: StopReason, sent: int, output: int, window: int | None, *, over: bool
) -> None:
    answer = assistant("x", stop=stop, usage=Usage.of(input=sent, output=output))

    assert overflowed(answer, window) is over


@pytest.mark.parametrize(
    ("kind", "words", "is_so"),
    [
        ("overflow", "whatever", True),
        ("too_large", "whatever", True),
        ("rate_limit", "prompt is too long", False),
        ("unknown", "prompt is too long: 9000 tokens > 2000 maximum", True),
        ("unknown", "429: request too large for m on tokens per min (TPM)", False),
        ("unknown", "no such model", False),
        ("unknown", "", False),
    ],
)
def test_a_smaller_request_may_be_taken_where_one_was_too_large_of_whatever(
    kind: FailureKind, words: str, *, is_so: bool
) -> None:
    failed = assistant(stop="error", error=words)
    told = msgspec.structs.replace(failed, diagnostics=noted(Failure(kind=kind), 0))

    assert is_too_much(failed if kind == "unknown" else told) is is_so
    assert not is_too_much(assistant("prompt is too long"))
