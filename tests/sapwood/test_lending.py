"""What an open session does for its extensions: kept at once, or done when nobody has the tree."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sapwood import Extension, ExtensionContext, Refused, ScriptedAnswer, StaleContext, WouldDeadlock
from sapwood.actors.kernel import ActorCrashed
from sapwood.actors.kernel.testing import CrashAt
from sapwood.events.entries import Custom, CustomMessageEntry, Label, SessionInfo
from sapwood.events.hooks import BeforeTurnEnd, InputReceived, SessionStart, ToolCallQuestion
from sapwood.events.ids import EntryId
from sapwood.events.runtime import ExtensionError, SessionInfoChanged, SessionTree
from sapwood.session import Session
from tests.build import call, words
from tests.talking import drain, talking


def kept_by() -> tuple[Extension, list[ExtensionContext]]:
    contexts: list[ExtensionContext] = []
    keeper = Extension("keeper")

    @keeper.on(SessionStart)
    def start(question: SessionStart, context: ExtensionContext) -> None:
        contexts.append(context)

    return keeper, contexts


def said(session: Session) -> list[str]:
    return [words(message) for message in session.context().messages]


async def test_state_labels_and_a_name_are_kept_inside_a_run() -> None:
    mark = Extension("mark")

    @mark.on(BeforeTurnEnd)
    async def keep(question: BeforeTurnEnd, context: ExtensionContext) -> None:
        entry_id = await context.append_custom("mark", {"turn": question.turn_index})
        await context.label(entry_id, "here")
        await context.set_name("About trees")

    async with talking("one", "two", extensions=[mark]) as session:
        reader = session.events()
        await session.prompt("hi")
        told = [one.name for one in drain(reader) if isinstance(one, SessionInfoChanged)]
        entries = session.entries()
        [custom] = [one for one in entries if isinstance(one, Custom)]
        assert (custom.custom_type, custom.data) == ("mark", {"turn": 0})
        assert session.labels() == {custom.id: "here"}
        assert (session.name, told) == ("About trees", ["About trees"])
        assert [type(one) for one in entries[-3:]] == [Custom, Label, SessionInfo]
        assert not (await session.prompt("again")).failed, "the run goes on behind what was kept"
        assert said(session) == ["hi", "one", "again", "two"]


async def test_what_was_kept_is_read_back_along_the_branch_and_in_the_next_process(tmp_path: Path) -> None:
    found: list[tuple[str, object]] = []
    mark = Extension("mark")

    @mark.on(SessionStart)
    def start(question: SessionStart, context: ExtensionContext) -> None:
        found.append((question.reason, context.kept("mark")))

    @mark.on(SessionTree)
    def moved(event: SessionTree, context: ExtensionContext) -> None:
        found.append(("moved", context.kept("mark")))

    @mark.on(BeforeTurnEnd)
    async def keep(question: BeforeTurnEnd, context: ExtensionContext) -> None:
        await context.append_custom("mark", {"turns": [len(context.kept("mark")) + 1]})
        await context.append_custom("another", "not mine")

    where = str(tmp_path / "marked.jsonl")
    async with talking("one", "two", where=where, extensions=[mark]) as session:
        await session.prompt("hi")
        [first] = [one.id for one in session.entries() if isinstance(one, Custom) and one.custom_type == "another"]
        await session.prompt("again")
        await session.navigate(first)
    async with talking(where=where, seed=1, extensions=[mark]) as session:
        await session.navigate(session.entries()[-2].id)

    one, two = {"turns": [1]}, {"turns": [2]}
    assert found == [("new", ()), ("moved", (one,)), ("resume", (one,)), ("moved", (one, two))]


async def test_what_was_kept_is_given_away_as_a_copy() -> None:
    keeper, contexts = kept_by()
    async with talking(extensions=[keeper]) as session:
        [context] = contexts
        assert context.kept("mark") == ()
        await context.append_custom("mark", {"trees": ["oak"]})
        [given] = context.kept("mark")
        given["trees"].append("elm")

        assert context.kept("mark") == ({"trees": ["oak"]},)
        assert [one.data for one in session.entries() if isinstance(one, Custom)] == [{"trees": ["oak"]}]
        with pytest.raises(Refused, match="a custom type"):
            context.kept(cast("Any", 7))
    with pytest.raises(StaleContext):
        context.kept("mark")


REFUSED: list[Callable[[Any], Awaitable[object]]] = [
    lambda context: context.append_custom("x", object()),
    lambda context: context.append_custom(7, {}),
    lambda context: context.label(EntryId("nobody"), "x"),
    lambda context: context.set_name(7),
]


@pytest.mark.parametrize("ask", REFUSED)
async def test_what_cannot_be_kept_is_refused_and_nothing_is(ask: Callable[[Any], Awaitable[object]]) -> None:
    keeper, contexts = kept_by()
    async with talking(extensions=[keeper]) as session:
        with pytest.raises(Refused):
            await ask(contexts[0])
        assert session.entries() == ()


async def test_what_an_extension_says_is_told_as_its_own() -> None:
    sources: list[str] = []
    chatty = Extension("chatty")

    @chatty.on(InputReceived)
    def heard(question: InputReceived, context: ExtensionContext) -> None:
        sources.append(f"{question.text}: {question.source}")
        if question.text == "hi":
            context.follow_up("more")
            context.steer("now")

    async with talking("one", "two", "three", extensions=[chatty]) as session:
        await session.prompt("hi")
        await session.wait_idle()
        assert [one for one in said(session) if one in {"hi", "now", "more"}] == ["hi", "now", "more"]

    assert sources == ["hi: host", "more: extension", "now: extension"]


async def test_a_prompt_and_a_message_wait_until_nobody_has_the_tree(autojump_clock: MockClock) -> None:
    eager = Extension("eager")
    outcomes: list[object] = []

    @eager.on(ToolCallQuestion)
    async def ask(question: ToolCallQuestion, context: ExtensionContext) -> None:
        prompted = context.prompt("And the elm?")
        noted = context.append_message("eager", "Elms are trees.")
        with pytest.raises(WouldDeadlock):
            await prompted.outcome()

        async def wait() -> None:
            outcomes.append((await prompted.outcome()).failed)
            outcomes.append(await noted.outcome())

        context.start_soon(wait)

    def look() -> str:
        """Looks."""
        return "an oak"

    answers = ScriptedAnswer(calls=(call("c1", "look"),)), "An oak.", "An elm."
    async with talking(*answers, tools=[look], extensions=[eager]) as session:
        await session.prompt("Which tree?")
        await wait_all_tasks_blocked()
        await session.wait_idle()
        await wait_all_tasks_blocked()
        [note] = [one for one in session.entries() if isinstance(one, CustomMessageEntry)]
        assert sorted(said(session)[-3:]) == sorted(["An elm.", "And the elm?", "Elms are trees."])
        assert outcomes == [False, note.id]


async def test_a_compaction_that_cannot_be_is_told_and_raised_where_it_is_waited_for() -> None:
    keeper, contexts = kept_by()
    async with talking(extensions=[keeper]) as session:
        reader = session.events()
        with pytest.raises(Refused, match="Nothing to compact"):
            await contexts[0].compact("trees").outcome()
        await wait_all_tasks_blocked()
        [told] = [one for one in drain(reader) if isinstance(one, ExtensionError)]

    assert (told.extension, told.event) == ("keeper", "compact")


async def test_the_window_can_be_looked_at_from_inside() -> None:
    keeper, contexts = kept_by()
    async with talking("one", extensions=[keeper]) as session:
        await session.prompt("hi")
        assert contexts[0].context_usage() == session.context_usage()


async def test_what_was_asked_for_later_ends_with_the_session(autojump_clock: MockClock) -> None:
    keeper, contexts = kept_by()
    slow = Extension("slow")

    @slow.on(InputReceived, limit=None)
    async def wait(question: InputReceived, context: ExtensionContext) -> None:
        await trio.sleep_forever()

    async with talking("one", extensions=[keeper, slow]) as session:
        session.submit("hi")
        await wait_all_tasks_blocked()
        later = contexts[0].prompt("never")
        await wait_all_tasks_blocked()
        await session.close()
        with pytest.raises(Exception, match="closed"):
            await later.outcome()


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_what_was_asked_for_later_has_an_outcome_whatever_crashes(nth: int, autojump_clock: MockClock) -> None:
    """What had not begun begins again; what had says that it broke."""
    keeper, contexts = kept_by()

    async with talking("one", extensions=[keeper], tap=CrashAt("companions", nth)) as session:
        reader = session.events()
        handle = session.submit("hi")
        said = contexts[0].append_message("note", "an oak")
        contexts[0].start_soon(trio.sleep, 10)
        other = contexts[0].append_message("note", "an elm")
        outcomes: list[str] = []
        with trio.fail_after(5):
            for one in (said, other):
                try:
                    await one.outcome()
                    outcomes.append("kept")
                except ActorCrashed as crash:
                    outcomes.append(crash.actor)
        await handle.done()
        texts = [entry.content for entry in session.entries() if isinstance(entry, CustomMessageEntry)]
        failed = [one.error_message for one in drain(reader) if isinstance(one, ExtensionError)]

    assert len(texts) == outcomes.count("kept")
    assert outcomes.count("kept") + outcomes.count("companions") == 2
    assert all("companions crashed" in one for one in failed)
    if nth == 1:
        assert (outcomes, failed) == (["kept", "kept"], [])
