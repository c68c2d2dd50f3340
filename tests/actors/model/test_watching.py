"""What extensions are asked and told around a request, over HTTP and by a script."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood import Extension, ExtensionContext, OpenAIChat, Runtime, Scripted, ScriptedAnswer, Usage
from sapwood.actors.environment import Environment
from sapwood.events.failures import was_changed
from sapwood.events.hooks import (
    AfterProviderResponse,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    ChangeHeaders,
    ChangePayload,
    ProviderStreamEvent,
)
from sapwood.events.models import Model
from sapwood.events.runtime import Diagnostic, ExtensionError
from tests.build import MODEL
from tests.serving import serving, whole
from tests.talking import drain

KEY = "sk-secret-of-the-house"
EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"content":"An oak."},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


def watching() -> tuple[Extension, list[Any]]:
    seen: list[Any] = []
    watch = Extension("watch")

    @watch.on(BeforeProviderHeaders)
    def headers(question: BeforeProviderHeaders, context: ExtensionContext) -> ChangeHeaders:
        seen.append(question)
        return ChangeHeaders(headers={"X-Trace": "t1", "User-Agent": None})

    @watch.on(BeforeProviderRequest)
    def payload(question: BeforeProviderRequest, context: ExtensionContext) -> ChangePayload:
        seen.append(question)
        return ChangePayload(payload={**question.payload, "user": "elm"})

    @watch.on(AfterProviderResponse)
    def answered(event: AfterProviderResponse, context: ExtensionContext) -> None:
        seen.append(event)

    @watch.on(ProviderStreamEvent)
    def heard(event: ProviderStreamEvent, context: ExtensionContext) -> None:
        seen.append(event)

    return watch, seen


async def over_http(*extensions: Extension) -> tuple[bytes, list[Any]]:
    """The request that a server got, and what was told."""
    async with serving(whole(EVENTS, "200 OK", f"x-echo: {KEY}")) as served:
        provider = OpenAIChat(key=KEY, base_url=f"{served.url}/v1", provider_id="here")
        model = Model(provider="here", id="oak-1", context_window=100_000)
        async with (
            Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic") as runtime,
            runtime.open_session(None, model=model, cwd="/home/dev", extensions=extensions) as session,
        ):
            reader = session.events(since=0)
            outcome = await session.prompt("Which tree?")
            assert not outcome.failed, outcome
            assert outcome.answer is not None
            assert was_changed(outcome.answer) is bool(extensions)
        return served.requests[0], drain(reader)


async def test_headers_and_body_go_out_as_extensions_have_them_and_what_comes_back_is_told() -> None:
    watch, seen = watching()

    request, events = await over_http(watch)

    head, _, body = request.partition(b"\r\n\r\n")
    assert b"x-trace: t1" in head.lower()
    assert b"user-agent" not in head.lower()
    assert f"authorization: bearer {KEY}".encode() in head.lower()
    assert msgspec.json.decode(body)["user"] == "elm"
    headers, payload, answered, *heard = seen
    assert "authorization" in [name.lower() for name in headers.header_names]
    assert payload.payload["messages"][-1]["content"] == "Which tree?"
    assert (answered.status, answered.headers["content-type"]) == (200, "text/event-stream")
    assert [one.data for one in heard][-1] == "[DONE]"
    assert heard[0].data["choices"][0]["delta"] == {"content": "An oak."}
    assert (heard[0].provider, heard[0].model) == ("here", "oak-1")
    assert KEY not in str(seen), "a key is never shown (M1)"
    [told] = [one for one in events if isinstance(one, Diagnostic)]
    assert (told.code, told.facts) == ("request_changed", {"events": ["before_provider_request"]})


async def test_without_extensions_it_is_the_same_bytes_as_with_those_that_change_nothing() -> None:
    listening = Extension("listening")
    listening.on(BeforeProviderRequest)(lambda question, context: ChangePayload(payload=question.payload))
    listening.on(BeforeProviderHeaders)(lambda question, context: None)
    provider = Scripted({"turn": [ScriptedAnswer(text="a")]})
    async with Runtime(providers=[provider], environment=Environment.scripted()).open_session(
        None, model=MODEL, extensions=[listening]
    ) as session:
        outcome = await session.prompt("hi")

    assert outcome.answer is not None
    assert not was_changed(outcome.answer)
    plain, _ = await over_http()
    assert b"x-trace" not in plain.lower()


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"X Trace": "t"}, "is no name of a header"),
        ({"X-Trace": "t\r\nx: y"}, "has a character that headers cannot have"),
        ({"Content-Length": "5"}, "says where the body ends"),
        ({"transfer-encoding": None}, "says where the body ends"),
    ],
)
async def test_headers_that_cannot_be_are_told_and_not_sent(headers: dict[str, str | None], why: str) -> None:
    bad = Extension("bad")
    bad.on(BeforeProviderHeaders)(lambda question, context: ChangeHeaders(headers=headers))
    provider = Scripted({"turn": [ScriptedAnswer(text="a")]})
    async with Runtime(providers=[provider], environment=Environment.scripted()).open_session(
        None, model=MODEL, extensions=[bad]
    ) as session:
        reader = session.events()
        assert not (await session.prompt("hi")).failed
        [failed] = [one for one in drain(reader) if isinstance(one, ExtensionError)]

    assert why in failed.error_message


async def test_a_body_that_a_script_cannot_read_fails_the_call() -> None:
    bad = Extension("bad")
    bad.on(BeforeProviderRequest)(lambda question, context: ChangePayload(payload={"nothing": 1}))
    provider = Scripted({"turn": [ScriptedAnswer(text="a")]})
    async with Runtime(providers=[provider], environment=Environment.scripted()).open_session(
        None, model=MODEL, extensions=[bad]
    ) as session:
        outcome = await session.prompt("hi")

    assert outcome.answer is not None
    assert "the body is none that a script can answer" in str(outcome.answer.error_message)
    assert provider.requests == []


async def test_where_a_request_was_changed_the_larger_of_report_and_count_is_taken() -> None:
    """T3: the report is of less than what the log says."""
    short = Extension("short")
    sent: list[object] = []

    @short.on(BeforeProviderRequest)
    def cut(question: BeforeProviderRequest, context: ExtensionContext) -> ChangePayload:
        sent.append(question.payload)
        return ChangePayload(payload={**question.payload, "messages": question.payload["messages"][-1:]})

    answer = ScriptedAnswer(text="an oak", usage=Usage.of(input=5, output=2))
    measured: list[int] = []
    for extensions in ([], [short]):
        provider = Scripted({"turn": [answer, answer]})
        runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
        async with runtime.open_session(None, model=MODEL, extensions=extensions) as session:
            await session.prompt("x" * 4_000)
            await session.prompt("y")
            measured.append(session.measured().tokens)

    assert measured[0] == 7
    assert measured[1] > 1_000
