"""What a run asks extensions, in a session: what is changed is what is kept and sent, and is told."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sapwood import Extension, Refused, Runtime, Scripted, ScriptedAnswer, SystemPrompt
from sapwood.actors.environment import Environment
from sapwood.actors.model.providers.base import Request
from sapwood.actors.session_log.capping import MOST_BYTES
from sapwood.events.entries import Custom, MessageEntry, kind_of
from sapwood.events.hooks import (
    AddBeforeStart,
    AgentBeforeSettle,
    BeforeAgentStart,
    BeforeMessageAppend,
    BeforeTurnEnd,
    Boundary,
    ChangeInput,
    ChangeMessage,
    ChangeMessages,
    ContextQuestion,
    ContextWithSystem,
    DraftEdit,
    DraftLabel,
    DraftMessage,
    DraftState,
    Handled,
    InputReceived,
)
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, UserMessage
from sapwood.events.runtime import AgentSettled, Diagnostic
from sapwood.session import Session
from tests.build import MODEL, assistant, call, user, words
from tests.talking import drain, names, talking


def said(session: Session) -> list[str]:
    return [words(message) for message in session.context().messages]


def codes(events: Any) -> list[str]:
    return [one.code for one in events if isinstance(one, Diagnostic)]


def sent(request: Request) -> list[str]:
    return [words(message) for message in request.messages]


async def requests_of(extension: Extension, *answers: str, prompt: SystemPrompt | None = None) -> list[Request]:
    """What the provider was asked when two things were said."""
    provider = Scripted({"turn": [ScriptedAnswer(text=answer) for answer in answers]})
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    async with runtime.open_session(
        None, model=MODEL, system_prompt=prompt, cwd="/home/dev", extensions=[extension]
    ) as session:
        for text_said in ("one", "two")[: len(answers)]:
            await session.prompt(text_said)
    return provider.requests


async def test_what_is_said_is_taken_as_extensions_have_it() -> None:
    shout = Extension("shout")
    seen: list[InputReceived] = []

    @shout.on(InputReceived)
    def louder(question: InputReceived, context: object) -> ChangeInput:
        seen.append(question)
        return ChangeInput(text=question.text.upper())

    async with talking("one", "two", extensions=[shout]) as session:
        await session.prompt("hi")
        handle = session.follow_up("there")
        await trio.testing.wait_all_tasks_blocked()
        assert [one.text for one in session.queue().follow_up] == ["THERE"]
        await handle.cancel()
        assert said(session) == ["HI", "one"]

    assert [(one.text, one.source) for one in seen] == [("hi", "host"), ("there", "host")]


async def test_what_an_extension_takes_care_of_is_refused_and_leaves_nothing() -> None:
    notes = Extension("notes")

    @notes.on(InputReceived)
    def handle(question: InputReceived, context: object) -> Handled | None:
        return Handled(reason="noted") if question.text.startswith("/note") else None

    async with talking("one", extensions=[notes]) as session:
        with pytest.raises(Refused, match="the extension 'notes' took care of it: noted") as caught:
            await session.prompt("/note oak")
        assert caught.value.reason == "handled"
        with pytest.raises(Refused, match="noted"):
            await session.steer("/note elm").outcome()
        assert (len(session.entries()), session.state, session.queue().steering) == (0, "idle", ())
        await session.prompt("hi")


async def test_what_is_queued_keeps_its_order_however_long_extensions_take(autojump_clock: MockClock) -> None:
    slow = Extension("slow")

    @slow.on(InputReceived)
    async def think(question: InputReceived, context: object) -> None:
        await trio.sleep(5 if question.text == "first" else 0)

    async with talking(extensions=[slow]) as session:
        session.steer("first")
        session.steer("second")
        await trio.sleep(6)
        assert [one.text for one in session.queue().steering] == ["first", "second"]


async def test_messages_and_a_prompt_are_added_at_the_start_of_a_run_once() -> None:
    guide = Extension("guide")
    asked: list[BeforeAgentStart] = []

    @guide.on(BeforeAgentStart)
    def begin(question: BeforeAgentStart, context: object) -> AddBeforeStart | None:
        asked.append(question)
        if question.prompt == "two":
            return None
        return AddBeforeStart(messages=(DraftMessage(custom_type="hint", content="Be kind."),), system_prompt="Latin.")

    first, second = await requests_of(guide, "a", "b", prompt=SystemPrompt(preamble="Greek."))

    assert [one.sections.get("preamble") for one in asked] == ["Greek.", "Greek."]
    assert sent(first) == ["Latin.", "one", "Be kind."]
    assert sent(second)[-4:] == ["one", "Be kind.", "a", "two"]
    assert "Latin." not in sent(second), "it is of the one run"


async def test_a_context_that_is_changed_is_sent_and_told_and_its_report_is_not_believed_alone() -> None:
    short = Extension("short")

    @short.on(ContextQuestion)
    def forget(question: ContextQuestion, context: object) -> ChangeMessages:
        return ChangeMessages(messages=question.messages[-1:])

    @short.on(ContextWithSystem)
    def whisper(question: ContextWithSystem, context: object) -> ChangeMessages | None:
        return ChangeMessages(messages=(*question.messages, user("psst"))) if len(question.messages) == 2 else None

    first, second = await requests_of(short, "a", "b", prompt=SystemPrompt(preamble="Greek."))

    assert sent(first)[1:] == ["one", "psst"]
    assert sent(second)[1:] == ["two", "psst"]
    async with talking("a", extensions=[short]) as session:
        reader = session.events()
        await session.prompt("one")
        assert codes(drain(reader)) == [], "nothing was changed: it was the last one"
        await session.prompt("two")
        assert codes(drain(reader)) == ["request_changed"]


async def test_what_is_kept_is_what_extensions_made_of_it() -> None:
    veil = Extension("veil")

    @veil.on(BeforeMessageAppend)
    def hide(question: BeforeMessageAppend, context: object) -> ChangeMessage | None:
        match question.message:
            case UserMessage(timestamp=at):
                return ChangeMessage(message=UserMessage(content="***", timestamp=at))
            case AssistantMessage() as answer:
                return ChangeMessage(message=assistant("no such answer", usage=answer.usage))
            case _:
                return None

    async with talking("one", extensions=[veil]) as session:
        reader = session.events()
        await session.prompt("secret")
        events = drain(reader)
        assert said(session) == ["***", "one"]

    [error] = [one for one in events if type(one).__name__ == "ExtensionError"]
    assert "its api is another one, and that is a fact" in str(error)


async def test_a_turn_ends_with_what_extensions_append_and_goes_on_if_there_is_something_new() -> None:
    nag = Extension("nag")
    seen: list[BeforeTurnEnd] = []

    @nag.on(BeforeTurnEnd)
    def again(question: BeforeTurnEnd, context: object) -> Boundary | None:
        seen.append(question)
        if len(seen) > 1:
            return Boundary(go_on=True)
        return Boundary(
            entries=(
                DraftState(custom_type="nag", data=1),
                DraftMessage(custom_type="nag", content="And the elm?"),
                DraftEdit(target_id=EntryId("nobody")),
                DraftLabel(target_id=EntryId("nobody"), label="x"),
            ),
            go_on=True,
        )

    async with talking("The oak.", "The elm.", extensions=[nag]) as session:
        reader = session.events()
        outcome = await session.prompt("Which tree?")
        events = drain(reader)
        assert said(session) == ["Which tree?", "The oak.", "And the elm?", "The elm."]
        assert [kind_of(one) for one in session.entries()] == [
            "message",
            "message",
            "custom",
            "custom_message",
            "message",
        ]

    assert outcome.turns == 2
    assert [one.outcome for one in seen] == ["completed", "completed"]
    assert codes(events) == ["draft_refused", "draft_refused", "nothing_to_go_on_with"]
    assert names(events).count("agent_start") == 1


async def test_before_it_settles_a_run_may_be_told_to_go_on_with_a_run_of_its_own() -> None:
    nag = Extension("nag")
    seen: list[AgentBeforeSettle] = []

    @nag.on(AgentBeforeSettle)
    def once(question: AgentBeforeSettle, context: object) -> Boundary | None:
        seen.append(question)
        more = (DraftMessage(custom_type="nag", content="And the elm?"),)
        return Boundary(entries=more, go_on=True) if len(seen) == 1 else None

    async with talking("The oak.", "The elm.", extensions=[nag]) as session:
        reader = session.events()
        await session.prompt("Which tree?")
        told = names(drain(reader))
        assert said(session) == ["Which tree?", "The oak.", "And the elm?", "The elm."]

    assert (told.count("agent_start"), told.count("agent_settled"), told[-1]) == (2, 1, "agent_settled")
    assert len(seen) == 2


@pytest.mark.parametrize("question", [BeforeTurnEnd, AgentBeforeSettle])
async def test_a_failed_answer_is_told_as_one_and_nobody_makes_it_go_on(question: Any) -> None:
    nag = Extension("nag")
    seen: list[Any] = []

    def again(asked: Any, context: object) -> Any:
        seen.append(asked.outcome)
        return Boundary(entries=(DraftState(custom_type="failed"),), go_on=True)

    nag.on(question)(again)

    async with talking(ScriptedAnswer(error="bad request: no"), extensions=[nag]) as session:
        assert (await session.prompt("hi")).failed
        assert sum(isinstance(one, Custom) for one in session.entries()) == len(seen)

    assert set(seen) == {"error"}


async def test_a_turn_with_tools_may_be_the_last_one() -> None:
    stop = Extension("stop")

    @stop.on(BeforeTurnEnd)
    def enough(question: BeforeTurnEnd, context: object) -> Boundary:
        return Boundary(go_on=False)

    def look() -> str:
        """Looks."""
        return "an oak"

    calling = ScriptedAnswer(calls=(call("c1", "look"),))
    async with talking(calling, "never said", tools=[look], extensions=[stop]) as session:
        outcome = await session.prompt("Which tree?")

    assert outcome.turns == 1
    assert outcome.answer is not None
    assert outcome.answer.stop_reason == "toolUse"


@pytest.mark.parametrize(
    "question",
    [InputReceived, BeforeAgentStart, ContextQuestion, BeforeMessageAppend, BeforeTurnEnd, AgentBeforeSettle],
)
async def test_an_abort_settles_whatever_hook_is_under_way(question: Any, autojump_clock: MockClock) -> None:
    """R4: in under 200 ms, and what was said is in the log."""
    sleepy = Extension("sleepy")

    async def sleep(asked: Any, context: object) -> Any:
        await trio.sleep_forever()

    sleepy.on(question, limit=None)(sleep)

    async with talking("one", extensions=[sleepy]) as session:
        handle = session.submit("hi")
        await trio.sleep(1)
        began = trio.current_time()
        await session.abort()
        assert trio.current_time() - began < 0.2
        await handle.outcome()
        assert session.state == "idle"
        assert said(session)[0] == "hi"


async def test_a_label_is_put_where_an_extension_wants_it() -> None:
    mark = Extension("mark")
    ids: list[EntryId] = []

    @mark.on(BeforeTurnEnd)
    def here(question: BeforeTurnEnd, context: object) -> Boundary:
        return Boundary(entries=(DraftLabel(target_id=ids[0], label="here"),))

    async with talking("one", "two", extensions=[mark]) as session:
        ids.append(EntryId("none"))
        await session.prompt("a")
        [first] = [one for one in session.entries() if isinstance(one, MessageEntry) and one.message == user_of(one)]
        ids[0] = first.id
        await session.prompt("b")
        assert session.labels() == {first.id: "here"}


def user_of(entry: MessageEntry) -> object:
    return entry.message if isinstance(entry.message, UserMessage) else None


async def test_news_of_the_end_comes_behind_what_was_asked_before_it() -> None:
    order: list[str] = []
    watch = Extension("watch")

    @watch.on(AgentBeforeSettle)
    def asked(question: AgentBeforeSettle, context: object) -> None:
        order.append("asked")

    @watch.on(AgentSettled)
    def told(event: AgentSettled, context: object) -> None:
        order.append("told")

    async with talking("one", extensions=[watch]) as session:
        await session.prompt("hi")

    assert order == ["asked", "told"]


async def test_state_that_is_too_long_is_left_out_and_told_without_it() -> None:
    hoard = Extension("hoard")

    @hoard.on(BeforeTurnEnd)
    def keep(question: BeforeTurnEnd, context: object) -> Boundary:
        return Boundary(entries=(DraftState(custom_type="all", data="x" * MOST_BYTES),))

    async with talking("The oak.", extensions=[hoard]) as session:
        reader = session.events()
        assert not (await session.prompt("Which tree?")).failed
        [told] = [one for one in drain(reader) if isinstance(one, Diagnostic)]
        assert [kind_of(one) for one in session.entries()] == ["message", "message"]

    assert "at most 1,048,576 bytes" in told.message
    assert told.facts == {"draft": "DraftState", "custom_type": "all"}
