"""What a host's redactor finds never reaches a provider, for whatever it is asked, and always stands in the log (E6)."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from sapwood import (
    BranchSummarySettings,
    CompactionFailed,
    CompactionSettings,
    Extension,
    ExtensionContext,
    Finish,
    Model,
    NavigationFailed,
    OpenAIChat,
    Refused,
    Request,
    RetryPolicy,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Session,
    Settings,
    ToolCall,
    Usage,
)
from sapwood.actors.environment import Environment
from sapwood.actors.model.providers.base import Piece
from sapwood.actors.summaries.contract import HEADINGS, Kind
from sapwood.events.content import ImageContent, TextContent, ThinkingContent
from sapwood.events.deltas import TextDelta, ToolCallDelta
from sapwood.events.entries import MessageEntry
from sapwood.events.failures import failure_of
from sapwood.events.hooks import BeforeProviderRequest, Cancel, ChangePayload, SessionBeforeCompact
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import AssistantMessage, UserMessage
from sapwood.events.models import Limits
from sapwood.events.runtime import Diagnostic, MessageUpdate, Purpose
from tests.build import words
from tests.serving import serving, whole
from tests.talking import drain

KEY: Final = "sk-canary-4711"
NAME: Final = "[[KEY-4711]]"
KINDS: Final[Mapping[Purpose, Kind]] = {
    "compaction": "compaction",
    "turn_prefix": "turn_prefix",
    "branch_summary": "branch",
}
MODEL: Final = Model(provider="wary", id="m", context_window=20_000, thinks=True)


def keys(text: str) -> Mapping[str, str]:
    return {found[0]: f"[[KEY-{found[1]}]]" for found in re.finditer(r"sk-canary-(\d+)", text)}


class Wary:
    """A provider that looks through all that it is sent, and says the name of a key in each of its answers."""

    id = "wary"

    def __init__(self, *calls: ToolCall) -> None:
        self.sent: list[tuple[Request, str]] = []
        self._calls = [*calls]

    def of(self, *purposes: Purpose) -> list[str]:
        return [text for request, text in self.sent if request.purpose in purposes]

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        self.sent.append((request, msgspec.json.encode(request).decode()))
        yield self._answer(request)

    async def _answer(self, request: Request) -> AsyncIterator[Piece]:
        kind = KINDS.get(request.purpose)
        if kind is not None:
            text = "\n".join(f"{heading}\nof {NAME}" for heading in HEADINGS[kind])
            yield Finish(stop_reason="stop", content=(TextContent(text=text),), usage=Usage.of(input=5, output=5))
            return
        for delta in ("It is ", NAME[:3], NAME[3:-1], NAME[-1], "."):
            yield TextDelta(content_index=1, delta=delta)
        said = (ThinkingContent(thinking=f"of {NAME}", thinking_signature="sig"), TextContent(text=f"It is {NAME}."))
        if not self._calls:
            yield Finish(stop_reason="stop", content=said)
            return
        call = self._calls.pop(0)
        yield ToolCallDelta(content_index=2, delta=f'{{"path": "{NAME[:5]}')
        yield ToolCallDelta(content_index=2, delta=f'{NAME[5:]}"}}')
        yield Finish(stop_reason="toolUse", content=(*said, call))


@asynccontextmanager
async def talking(
    provider: Any, where: Path | None = None, *, redactor: Any = keys, keep: int = 50, **more: Any
) -> AsyncGenerator[Session]:
    settings = Settings(
        compaction=CompactionSettings(enabled=False, keep_recent_tokens=keep),
        retry=RetryPolicy(max_retries=1),
        **({"branch_summary": more.pop("branches")} if "branches" in more else {}),
    )
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    async with runtime.open_session(where, model=MODEL, settings=settings, redactor=redactor, **more) as session:
        yield session


def gives() -> str:
    """A result is cut for a summary in the middle of the key."""
    return "x" * (2_000 - len(KEY) // 2) + KEY


def nothing_leaked(provider: Wary) -> None:
    assert provider.sent
    assert [text for _, text in provider.sent if KEY[:6] in text] == []


async def test_a_turn_with_tools_knows_the_name_alone_and_tools_and_the_log_have_the_secret(tmp_path: Path) -> None:
    read_of: list[str] = []

    def read(path: str) -> str:
        """Reads a file whose key is sk-canary-4711."""
        read_of.append(path)
        return f"{path} holds {KEY}"

    provider = Wary(ToolCall(id=ToolCallId("c1"), name="read", arguments={"path": f"{NAME}.txt"}))
    path = tmp_path / "s.jsonl"
    async with talking(
        provider, path, tools=[read], system_prompt=f"Your key is {KEY}.", extensions=[Extension("none")]
    ) as session:
        await session.prompt(f"Is {KEY} good?")

        answers = [
            one.message
            for one in session.entries()
            if isinstance(one, MessageEntry) and isinstance(one.message, AssistantMessage)
        ]
    nothing_leaked(provider)
    assert read_of == [f"{KEY}.txt"]
    assert [words(answer) for answer in answers] == [f"It is {KEY}."] * 2
    assert NAME in provider.of("turn")[0]
    log = path.read_text()
    assert log.count(f"Is {KEY} good?") == 1
    assert f"Your key is {KEY}." in log
    assert f"{KEY}.txt holds {KEY}" in log
    # thinking that is signed stays as it came, and goes back as it came
    assert [block.thinking for answer in answers for block in answer.content if isinstance(block, ThinkingContent)] == [
        f"of {NAME}"
    ] * 2
    assert f'"thinking":"of {NAME}","thinkingSignature":"sig"' in provider.of("turn")[1]


async def test_who_reads_along_sees_the_secret_though_its_name_came_in_pieces() -> None:
    provider = Wary(ToolCall(id=ToolCallId("c1"), name="none", arguments={"path": NAME}))
    async with talking(provider) as session:
        reader = session.events()
        await session.prompt(f"Is {KEY} good?")

        pieces = [one.assistant_message_event for one in drain(reader) if isinstance(one, MessageUpdate)]
    said = "".join(one.delta for one in pieces if isinstance(one, TextDelta))
    assert said == f"It is {KEY}." * 2
    assert "".join(one.delta for one in pieces if isinstance(one, ToolCallDelta)) == f'{{"path": "{KEY}"}}'


async def test_a_later_turn_is_the_same_to_the_byte_as_far_as_it_was_sent() -> None:
    provider = Wary()
    async with talking(provider) as session:
        await session.prompt(f"Is {KEY} good?")
        await session.prompt("And now?")

    first, second = (request.messages for request, _ in provider.sent)
    assert second[: len(first)] == first


async def test_a_compaction_and_the_prefix_of_a_turn_know_the_name_alone() -> None:
    provider = Wary()
    async with talking(provider, tools=[gives], keep=400) as session:
        await session.prompt(f"Is {KEY} good? " + "y" * 1_600)
        provider._calls.append(ToolCall(id=ToolCallId("c1"), name="gives", arguments={}))
        await session.prompt("Go on. " + "z" * 1_600)
        done = await session.compact(f"keep {KEY}")

        assert f"of {KEY}" in done.entry.summary
        assert NAME not in done.entry.summary
        details: Any = done.entry.details
        assert details["fidelity"]["madeUp"] == []
        await session.prompt(f"Once more, {KEY}. " + "w" * 4_000)
        await session.prompt("And now?")
        await session.compact()
    nothing_leaked(provider)
    assert len(provider.of("compaction")) >= 2
    assert len(provider.of("turn_prefix")) >= 1
    assert all(NAME in text for text in provider.of("compaction"))


@pytest.mark.parametrize("manner", ["pi", "omp"])
async def test_a_branch_summary_knows_the_name_alone(manner: Any) -> None:
    provider = Wary()
    branches = BranchSummarySettings(manner=manner, metadata={"by": KEY})
    async with talking(provider, branches=branches, tools=[gives]) as session:
        await session.prompt(f"Is {KEY} good?")
        start = session.entries()[1].id
        provider._calls.append(ToolCall(id=ToolCallId("c1"), name="gives", arguments={}))
        await session.prompt(f"Go on with {KEY}.")
        moved = await session.navigate(start, summarize=True, instructions=f"of {KEY}")

        assert moved.summary is not None
        assert f"of {KEY}" in moved.summary.summary
        assert NAME not in moved.summary.summary
        details: Any = moved.summary.details
        assert details["fidelity"]["madeUp"] == []
        await session.prompt("Once more.")
    nothing_leaked(provider)
    [asked] = provider.of("branch_summary")
    assert NAME in asked
    assert f'"by":"{NAME}"' in asked


def broken(text: str) -> Mapping[str, str]:
    raise ValueError(f"no pattern for {text!r:.20}")


def nothing(text: str) -> Any:
    return None


def one_name(text: str) -> Mapping[str, str]:
    return {text: "<name>"}


BAD: Sequence[tuple[Any, str]] = (
    (broken, "the redactor failed: ValueError: no pattern for"),
    (nothing, "the redactor gives a mapping from secrets to names, not a NoneType"),
    (one_name, "the redactor gave one name to two secrets"),
)


@pytest.mark.parametrize(("redactor", "why"), BAD)
async def test_a_redactor_of_no_use_fails_the_call_and_nothing_goes_out(redactor: Any, why: str) -> None:
    provider = Wary()
    async with talking(provider, redactor=redactor, system_prompt="Be brief.") as session:
        outcome = await session.prompt(f"Is {KEY} good?")

        assert outcome.failed
        assert outcome.answer is not None
        assert (outcome.answer.error_message or "").startswith(why)
        assert failure_of(outcome.answer).kind == "redaction"
        said = [one.message for one in session.entries() if isinstance(one, MessageEntry)]
        assert sum(isinstance(one, UserMessage) for one in said) == 1
        assert sum(isinstance(one, AssistantMessage) for one in said) == 1  # it is not tried again
    assert provider.sent == []


async def test_a_redactor_that_breaks_later_fails_a_compaction_and_a_move_and_changes_nothing() -> None:
    provider, good = Wary(), [True]

    def find(text: str) -> Mapping[str, str]:
        return keys(text) if good[0] else broken(text)

    async with talking(provider, redactor=find) as session:
        for text in ("y" * 800, "z" * 800):
            await session.prompt(f"{KEY} {text}")
        good[0] = False
        before, sent = session.entries(), len(provider.sent)

        with pytest.raises(CompactionFailed, match=r"^Summarization failed: the redactor failed: ValueError"):
            await session.compact()
        with pytest.raises(NavigationFailed, match=r"^Branch summarization failed: the redactor failed: ValueError"):
            await session.navigate(before[1].id, summarize=True)

        assert (session.entries(), session.state, len(provider.sent)) == (before, "idle", sent)


async def test_an_extension_hears_what_was_said() -> None:
    """It is the host's own, as its tools are: what it sends somewhere it has to hide itself."""
    heard: list[str] = []
    extension = Extension("hears")

    @extension.on(SessionBeforeCompact)
    async def hear(question: SessionBeforeCompact, context: object) -> Cancel:
        heard.extend(map(words, question.preparation.messages_to_summarize))
        return Cancel(reason="enough")

    async with talking(Wary(), extensions=[extension]) as session:
        for text in ("y" * 800, "z" * 800):
            await session.prompt(f"{KEY} {text}")
        with pytest.raises(CompactionFailed, match="enough"):
            await session.compact()

    assert any(KEY in text for text in heard)


async def test_what_is_no_redactor_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"redactor is a function from a text to \{secret: name\}"):
        async with talking(Wary(), tmp_path / "s.jsonl", redactor={"sk": "x"}):
            pass

    assert not (tmp_path / "s.jsonl").exists()


@pytest.mark.parametrize("through", ["http", "script"])
async def test_what_an_extension_writes_into_a_request_is_looked_through(through: str) -> None:
    """It has the log, where secrets stand. What was hidden already, ids and images too, stays as it was."""
    adds = Extension("adds")
    bodies: list[str] = []
    other = "sk-canary-9"

    @adds.on(BeforeProviderRequest)
    def remember(question: BeforeProviderRequest, context: ExtensionContext) -> ChangePayload:
        bodies.append(str(question.payload))
        payload = question.payload
        *before, last = payload["messages"]
        last = {**last, "content": f"Compare {KEY} with {other}"}
        return ChangePayload(payload={**payload, "messages": [*before, last]})

    said = "[[KEY-9]] is not [[KEY-4711]]"
    play = b'data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    async with serving(whole(play % said.encode())) as served:
        scripted = Scripted({"turn": [ScriptedAnswer(text=said)]}, provider_id="wary")
        http = OpenAIChat(key=None, base_url=served.url, provider_id="wary")
        async with talking(http if through == "http" else scripted, extensions=[adds]) as session:
            reader = session.events()
            outcome = await session.prompt(f"What opens {KEY}?")
            told = [one.assistant_message_event for one in drain(reader) if isinstance(one, MessageUpdate)]
        sent = str(served.requests if through == "http" else scripted.requests)

    assert outcome.answer is not None
    assert not outcome.failed, outcome.answer.error_message
    assert "Compare [[KEY-4711]] with [[KEY-9]]" in sent
    assert KEY not in bodies[0] + sent
    assert words(outcome.answer) == f"{other} is not {KEY}"
    assert "".join(one.delta for one in told if isinstance(one, TextDelta)) == f"{other} is not {KEY}"


async def test_a_request_that_a_redactor_cannot_look_through_is_not_sent_as_an_extension_has_it() -> None:
    adds = Extension("adds")
    adds.on(BeforeProviderRequest)(
        lambda question, context: ChangePayload(payload={**question.payload, "user": "the poison"})
    )

    def fussy(text: str) -> Mapping[str, str]:
        if "poison" in text:
            raise ValueError("cannot look")
        return {}

    provider = Scripted({"turn": [ScriptedAnswer(text="An oak.")]}, provider_id="wary")
    async with talking(provider, redactor=fussy, extensions=[adds]) as session:
        outcome = await session.prompt("hi")

    assert outcome.answer is not None
    assert failure_of(outcome.answer).kind == "redaction"
    assert provider.requests == []


@pytest.mark.parametrize(("redactor", "images", "told"), [(keys, None, 1), (keys, 0, 0), (None, None, 0)])
async def test_an_image_that_no_redactor_saw_is_told_once_and_a_model_may_be_sent_none(
    redactor: Any, images: int | None, told: int
) -> None:
    provider, pixel = Wary(), ImageContent(data="iVBORw0KGgo=", mime_type="image/png")
    async with talking(provider, redactor=redactor) as session:
        await session.set_model(msgspec.structs.replace(MODEL, limits=Limits(images=images)))
        events = session.events()
        await session.prompt("no image")
        for _ in range(2):
            await session.prompt("what is this?", images=[pixel])
        codes = [event.code for event in drain(events) if isinstance(event, Diagnostic)]

    assert codes.count("image_unredacted") == told
    assert any(pixel.data in text for text in provider.of("turn")) is (images is None)
