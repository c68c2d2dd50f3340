"""One attempt a call; whatever becomes of it is a message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest
import trio
import trio.testing

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Ref, Ring, open_system
from sapwood.actors.kernel.errors import alone
from sapwood.actors.model.actor import ModelActor
from sapwood.actors.model.assembly import CUT_OFF, STOPPED
from sapwood.actors.model.checks import BadPiece
from sapwood.actors.model.providers.base import Finish, Piece, Provider, Request
from sapwood.actors.model.providers.scripted import Scripted, ScriptedAnswer
from sapwood.actors.redaction import Redaction
from sapwood.actors.tracing import Tracing
from sapwood.events.content import text_of
from sapwood.events.deltas import TextDelta
from sapwood.events.errors import ProviderError
from sapwood.events.messages import AssistantMessage, Message
from sapwood.events.models import Limits, Model
from sapwood.events.requests import Generate, StopCall
from sapwood.events.runtime import Diagnostic, Event, MessageStart, MessageUpdate
from tests.actors.keeping import cancelled_once
from tests.build import MODEL, assistant, call, result, usage, user

Told = list[Event]


def unreported(_: str, fault: BaseException) -> None:
    raise fault


UNTRACED = Tracing(tracer=None, conversation="s", report=unreported)
NO_REDACTION = Redaction(None, Environment.scripted().run_foreign, lambda _, __: None)


@asynccontextmanager
async def model_actor(
    provider: Provider, reports: list[tuple[str, BaseException]] | None = None
) -> AsyncGenerator[tuple[Ref, Told]]:
    told: Told = []

    def report(provider_id: str, fault: BaseException) -> None:
        if reports is not None:
            reports.append((provider_id, fault))

    def publish(event: Event) -> int:
        told.append(event)
        return len(told)

    async with open_system("test", ring=Ring(64)) as system:
        environment = Environment.scripted()
        yield (
            system.spawn(
                "model",
                lambda: ModelActor(
                    {provider.id: provider}, environment, publish, report, redaction=NO_REDACTION, tracing=UNTRACED
                ),
            ),
            told,
        )


def ask(*messages: Message, call_id: str = "c1", model: Model = MODEL) -> Generate:
    return Generate(call_id=call_id, model=model, purpose="turn", messages=messages or (user(),))


class Strange:
    """A provider that streams what it is given, and then does what it is told."""

    id = "scripted"

    def __init__(self, *pieces: Piece, fault: BaseException | None = None) -> None:
        self._pieces, self._fault = pieces, fault

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        async def play() -> AsyncGenerator[Piece]:
            for piece in self._pieces:
                await trio.lowlevel.checkpoint()
                yield piece
            if self._fault is not None:
                raise self._fault

        async with aclosing(play()) as pieces:
            yield pieces


async def test_an_answer_streams_and_comes_back_whole() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="Hello you", usage=usage(9))]})
    async with model_actor(provider) as (model, told):
        answer = await model.ask(ask())

    assert (text_of(answer.content), answer.stop_reason, answer.usage.total_tokens) == ("Hello you", "stop", 9)
    assert isinstance(told[0], MessageStart)
    assert isinstance(told[0].message, AssistantMessage)
    assert told[0].message.stop_reason == "pending"
    pieces = [event.assistant_message_event for event in told if isinstance(event, MessageUpdate)]
    assert [piece.delta for piece in pieces if isinstance(piece, TextDelta)] == ["Hello ", "you"]


async def test_a_provider_that_fails_is_a_failed_answer_with_what_came() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="half", error="overloaded")]})
    async with model_actor(provider) as (model, _):
        answer = await model.ask(ask())

    assert (text_of(answer.content), answer.stop_reason, answer.error_message) == ("half", "error", "overloaded")


async def test_a_hosts_provider_that_breaks_is_a_failed_answer_and_the_next_call_works() -> None:
    async with model_actor(Strange(TextDelta(content_index=0, delta="x"), fault=KeyError("oops"))) as (model, _):
        answer = await model.ask(ask())
        again = await model.ask(ask(call_id="c2"))

    assert (answer.stop_reason, answer.error_message) == ("error", "KeyError: 'oops'")
    assert again.error_message == answer.error_message


@pytest.mark.parametrize(
    "fault",
    [
        asyncio.CancelledError(),
        GeneratorExit("gone"),
        BaseExceptionGroup("two", [ValueError(1), asyncio.CancelledError()]),
        BaseExceptionGroup("one", [BaseExceptionGroup("in one", [asyncio.CancelledError()])]),
    ],
    ids=repr,
)
async def test_what_no_library_of_ours_raises_is_a_failed_answer_too(fault: BaseException) -> None:
    """It used to end the whole session, and what had streamed was lost."""
    reports: list[tuple[str, BaseException]] = []
    async with model_actor(Strange(TextDelta(content_index=0, delta="part"), fault=fault), reports) as (model, _):
        answer = await model.ask(ask())

    assert (text_of(answer.content), answer.stop_reason) == ("part", "error")
    assert (answer.error_message or "").startswith(type(alone(fault)).__name__)
    assert reports == [("scripted", fault)]


@pytest.mark.parametrize(
    "end", [KeyboardInterrupt(), SystemExit(3), BaseExceptionGroup("g", [SystemExit(3)])], ids=repr
)
async def test_what_is_to_end_the_process_does(end: BaseException) -> None:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the very one, wrapped as trio wraps it
        async with model_actor(Strange(fault=end)) as (model, _):
            await model.ask(ask())

    assert type(alone(caught.value)) is type(alone(end))


async def test_a_cancelled_that_a_provider_kept_is_its_own_fault() -> None:
    """It used to be told as an IndexError of ours."""
    kept = await cancelled_once()
    reports: list[tuple[str, BaseException]] = []

    async with model_actor(Strange(TextDelta(content_index=0, delta="part"), fault=kept), reports) as (model, _):
        answer = await model.ask(ask())

    assert (text_of(answer.content), answer.stop_reason) == ("part", "error")
    assert (answer.error_message or "").startswith("Cancelled: ")
    assert reports == [("scripted", kept)]


class Speechless(Exception):
    """What it says of itself is another loop's error."""

    def __str__(self) -> str:
        raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("fault", "words"),
    [(Speechless(), "Speechless: (it has no words)"), (ValueError("x" * 30_000), f"ValueError: {'x' * 9_988} …")],
    ids=["none", "a book"],
)
async def test_the_words_of_a_fault_are_few_whatever_it_says(fault: Exception, words: str) -> None:
    async with model_actor(Strange(fault=fault)) as (model, _):
        assert (await model.ask(ask())).error_message == words


class Endless:
    """A provider that talks on and never waits."""

    id = "scripted"

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        async def play() -> AsyncGenerator[Piece]:
            while True:
                yield TextDelta(content_index=0, delta="word ")

        async with aclosing(play()) as pieces:
            yield pieces


async def test_a_provider_that_never_waits_can_be_stopped() -> None:
    """It used to hold up the whole loop, whoever wanted to stop it too."""
    async with model_actor(Endless()) as (model, told), trio.open_nursery() as nursery:
        answers: list[AssistantMessage] = []

        async def call() -> None:
            answers.append(await model.ask(ask()))

        nursery.start_soon(call)
        while len(told) < 10:
            await trio.lowlevel.checkpoint()
        assert await model.ask(StopCall(call_id="c1"))

    assert [answer.stop_reason for answer in answers] == ["aborted"]
    assert text_of(answers[0].content).startswith("word word ")


async def test_a_stream_that_just_ends_is_a_failed_answer() -> None:
    async with model_actor(Strange(TextDelta(content_index=0, delta="so"))) as (model, _):
        answer = await model.ask(ask())

    assert (text_of(answer.content), answer.stop_reason, answer.error_message) == ("so", "error", CUT_OFF)


BAD_DELTA = TextDelta(content_index=0, delta=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_a_bad_piece_is_told_to_nobody_and_is_a_failed_answer_with_what_came_before() -> None:
    """This used to be told, which jammed who read along, and to lose the text."""
    provider = Strange(TextDelta(content_index=0, delta="so"), BAD_DELTA, Finish(stop_reason="stop"))
    async with model_actor(provider) as (model, told):
        answer = await model.ask(ask())

    assert (text_of(answer.content), answer.stop_reason) == ("so", "error")
    assert answer.error_message == "the provider's TextDelta cannot be kept: delta: expected str, got NoneType"
    assert [event for event in told if isinstance(event, MessageUpdate)] == [
        MessageUpdate(call_id="c1", assistant_message_event=TextDelta(content_index=0, delta="so"))
    ]


async def test_a_bad_end_is_a_failed_answer_with_its_good_usage() -> None:
    end = Finish(stop_reason="stop", usage=usage(9), duration_ms=float("nan"))
    async with model_actor(Strange(TextDelta(content_index=0, delta="so"), end)) as (model, _):
        answer = await model.ask(ask())

    assert (text_of(answer.content), answer.stop_reason, answer.usage.total_tokens) == ("so", "error", 9)
    assert answer.error_message == "the provider's Finish cannot be kept: duration_ms: nan is no JSON number"


class Deaf(Strange):
    """It breaks when it is left, whatever it yielded."""

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        async with super().stream(request) as pieces:
            yield pieces
        raise KeyError("late")


@pytest.mark.parametrize("piece", [BAD_DELTA, Finish(stop_reason="pending")])
async def test_what_is_wrong_with_a_piece_is_said_whatever_breaks_behind_it(piece: Piece) -> None:
    reports: list[tuple[str, BaseException]] = []
    async with model_actor(Deaf(piece), reports) as (model, _):
        answer = await model.ask(ask())

    assert "cannot be kept" in (answer.error_message or "")
    assert [type(fault) for _, fault in reports] == [KeyError, BadPiece]


async def test_a_fault_in_a_providers_code_is_reported_with_its_traceback_and_the_worlds_is_not() -> None:
    """This used to leave no traceback anywhere."""
    reports: list[tuple[str, BaseException]] = []
    fault = KeyError("oops")
    async with model_actor(Strange(fault=fault), reports) as (model, _):
        await model.ask(ask())
    assert reports == [("scripted", fault)]
    assert fault.__traceback__ is not None

    reports.clear()
    worlds = ExceptionGroup("one", [ProviderError("overloaded")])
    async with model_actor(Strange(fault=worlds), reports) as (model, _):
        answer = await model.ask(ask())
    assert (answer.error_message, reports) == ("overloaded", [])


async def test_an_unknown_provider_is_a_failed_answer_that_says_which_there_are() -> None:
    async with model_actor(Scripted()) as (model, _):
        answer = await model.ask(ask(model=Model(provider="other", id="x")))

    assert "no provider is called 'other' (there are: scripted)" in (answer.error_message or "")


async def test_a_stopped_call_comes_back_as_aborted_with_what_came(autojump_clock: trio.testing.MockClock) -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="late", wait=100)]})
    async with model_actor(provider) as (model, _), trio.open_nursery() as nursery:

        async def stop() -> None:
            await trio.sleep(1)
            assert await model.ask(StopCall(call_id="c1")) is True

        nursery.start_soon(stop)
        answer = await model.ask(ask())

    assert (answer.stop_reason, answer.error_message) == ("aborted", STOPPED)
    assert trio.current_time() < 50


async def test_a_call_can_be_stopped_before_it_is_made() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="next")]})
    async with model_actor(provider) as (model, _):
        assert await model.ask(StopCall(call_id="c1")) is False
        stopped = await model.ask(ask())
        following = await model.ask(ask(call_id="c2"))

    assert (stopped.stop_reason, stopped.content) == ("aborted", ())
    assert (following.stop_reason, len(provider.requests)) == ("stop", 1)


async def test_a_stop_for_a_call_that_has_ended_is_for_nobody() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="first"), ScriptedAnswer(text="second")]})
    actor = ModelActor(
        {provider.id: provider},
        Environment.scripted(),
        lambda _: 0,
        lambda _, __: None,
        redaction=NO_REDACTION,
        tracing=UNTRACED,
    )
    async with open_system("test", ring=Ring(64)) as system:
        model = system.spawn("model", lambda: actor)
        await model.ask(ask())
        assert await model.ask(StopCall(call_id="c1")) is False
        again = await model.ask(ask())

    assert (text_of(again.content), again.stop_reason) == ("second", "stop")
    assert len(actor._stops) == 0


async def test_what_goes_out_is_paired_and_each_repair_is_told() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="ok")]})
    async with model_actor(provider) as (model, told):
        await model.ask(ask(user(), assistant(call("a")), assistant("x", stop="error"), user("go on")))

    sent = provider.requests[0].messages
    assert [message.__struct_config__.tag for message in sent] == ["user", "assistant", "toolResult", "user"]
    assert [event.facts for event in told if isinstance(event, Diagnostic)] == [{"repair": "supplied"}]
    assert result("a").tool_call_id == "a"


async def test_a_models_limits_are_kept_on_the_way_out_and_told_once() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="ok")] * 3})
    small = Model(provider="scripted", id="talker", limits=Limits(text_bytes=64))
    messages = (user("x" * 100), assistant("fine"), user("go on"))
    async with model_actor(provider) as (model, told):
        await model.ask(ask(*messages, call_id="c1", model=small))
        await model.ask(ask(*messages, call_id="c2", model=small))
        await model.ask(ask(*messages, call_id="c3"))

    assert [len(str(request.messages[0].content)) <= 64 for request in provider.requests] == [True, True, False]
    assert [(event.code, event.facts) for event in told if isinstance(event, Diagnostic)] == [
        ("limits", {"limit": "text_bytes", "times": 1})
    ]
