"""What a host sets is in the log before it holds, and holds from the next request on."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from sapwood import Refused, Replacement, Runtime, Scripted, ScriptedAnswer, SessionClosed
from sapwood.actors.environment import Environment
from sapwood.events.entries import ContextEdit, Custom, Label, ModelChange, ThinkingLevelChange
from sapwood.events.ids import EntryId
from sapwood.events.messages import SystemMessage
from sapwood.events.models import Model
from sapwood.events.runtime import ModelChanged, ThinkingLevelChanged
from tests.build import MODEL, words
from tests.talking import drain, talking

OTHER = Model(provider="scripted", id="other")


async def test_another_model_answers_from_the_next_request_on() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="one"), ScriptedAnswer(text="two")]})
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    async with runtime.open_session(None, model=MODEL) as session:
        await session.prompt("a")
        reader = session.events()
        await session.set_model(OTHER)
        assert session.model == OTHER
        entry = session.entries()[-1]
        assert isinstance(entry, ModelChange)
        assert (entry.provider, entry.model_id) == ("scripted", "other")
        assert ModelChanged(provider="scripted", model_id="other") in drain(reader)
        await session.prompt("b")
    assert [request.model for request in provider.requests] == [MODEL, OTHER]


async def test_a_model_whose_provider_was_not_given_is_refused_and_nothing_changes() -> None:
    async with talking() as session:
        with pytest.raises(Refused, match="no provider is called 'nowhere'"):
            await session.set_model(Model(provider="nowhere", id="x"))
        assert session.model == MODEL
        assert session.entries() == ()


async def test_a_thinking_level_holds_from_the_next_request_on() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="one")]})
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    async with runtime.open_session(None, model=MODEL) as session:
        reader = session.events()
        await session.set_thinking_level("high")
        assert isinstance(session.entries()[-1], ThinkingLevelChange)
        assert ThinkingLevelChanged(level="high") in drain(reader)
        await session.prompt("a")
    assert provider.requests[0].thinking_level == "high"


async def read() -> str:
    """Read."""
    return "r"


async def write() -> str:
    """Write."""
    return "w"


async def test_tools_that_are_set_are_told_with_the_next_turn_and_only_what_changed() -> None:
    async with talking("one", "two", "three", tools=[read, write]) as session:
        await session.prompt("a")
        await session.set_tools(["write"])
        assert len(session.entries()) == 3
        await session.prompt("b")
        await session.prompt("c")
        told = [item.message for item in session.context().items if isinstance(item.message, SystemMessage)]
    assert [[one.name for one in message.tools_added or ()] for message in told] == [["read", "write"], []]
    assert [[one.name for one in message.tools_removed or ()] for message in told] == [[], ["read"]]
    assert all(not message.sections for message in told)


async def test_a_tool_that_was_not_given_is_refused_and_the_others_stay() -> None:
    async with talking("one", tools=[read]) as session:
        with pytest.raises(Refused, match=r"there is no tool called 'write' \(there are: read\)"):
            await session.set_tools(["read", "write"])
        with pytest.raises(Refused, match="by a list of their names"):
            await session.set_tools("read")
        await session.prompt("a")
        [message] = [item.message for item in session.context().items if isinstance(item.message, SystemMessage)]
    assert [one.name for one in message.tools_added or ()] == ["read"]


async def test_an_entry_is_hidden_or_shown_otherwise_and_marked() -> None:
    async with talking("one", "two") as session:
        await session.prompt("a")
        asked, answered = (entry.id for entry in session.entries())

        edit = await session.edit(answered, Replacement(content="ONE"))
        hidden = await session.edit(asked, None)
        label = await session.label(asked, "start")

        assert [words(message) for message in session.context().messages] == ["ONE"]
        assert session.labels() == {asked: "start"}
        kinds = {entry.id: type(entry) for entry in session.entries()}
        assert (kinds[edit], kinds[hidden], kinds[label]) == (ContextEdit, ContextEdit, Label)
        await session.label(asked, None)
        assert session.labels() == {}
        for marking in (session.edit(EntryId("x"), None), session.label(EntryId("x"), "l")):
            with pytest.raises(Refused, match="Entry x not found"):
                await marking
        with pytest.raises(Refused, match="an edit has a Replacement"):
            await session.edit(asked, "text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(Refused, match="a label is text"):
            await session.label(asked, 3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


async def test_state_of_a_hosts_own_is_kept_and_the_model_does_not_see_it() -> None:
    async with talking() as session:
        entry_id = await session.append_custom("mine", {"a": [1]})

        entry = session.entry(entry_id)
        assert isinstance(entry, Custom)
        assert (entry.custom_type, entry.data) == ("mine", {"a": [1]})
        assert session.context().messages == ()
        for bad in (object(), {"a": float("nan")}, "\ud800", deep(600)):
            with pytest.raises(Refused, match="what is kept in the log is JSON, and "):
                await session.append_custom("mine", bad)
        assert session.entries() == (entry,)
    with pytest.raises(SessionClosed):
        await session.append_custom("mine")


async def test_what_is_set_while_a_run_is_on_holds_from_its_next_request_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with talking(ScriptedAnswer(text="one", wait=5), "two") as session:
        handle = session.submit("a")
        await trio.sleep(1)
        await session.set_model(OTHER)
        await handle.outcome()
        await session.prompt("b")
        answers = [message for message in session.context().messages if message.role == "assistant"]
        kinds = [entry.__class__.__name__ for entry in session.entries()]
    assert [getattr(answer, "model", None) for answer in answers] == ["talker", "other"]
    assert kinds == ["MessageEntry", "ModelChange", "MessageEntry", "MessageEntry", "MessageEntry"]
