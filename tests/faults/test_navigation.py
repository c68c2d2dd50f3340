"""G and L03: what goes wrong when one moves in a tree. Codes as in README.md.

What needs a fork is in `test_forks.py`: G04, G05 and G14.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import trio
import trio.testing

from sapwood import CompactionSettings, Delivered, Extension, Refused, ScriptedAnswer, Settings, WouldDeadlock, tool
from sapwood.events.content import ToolCall
from sapwood.events.entries import LEAF_MARKER, BranchSummary, Compaction, Custom, KnownEntry
from sapwood.events.errors import NavigationFailed
from sapwood.events.hooks import Block, Cancel, SessionBeforeTree, ToolCallQuestion, TreeAnswer
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, ToolResultMessage
from sapwood.events.models import Model
from sapwood.events.runtime import SessionTreeFailed
from tests.build import TIME, assistant, call, message_entry, result, usage, user, words
from tests.sapwood.branching import FOUND, OMP, at, branching, chain, details_of, position_of, state_of, summaries_of
from tests.sapwood.summarizing import SUMMARY, prompt_of, sent
from tests.talking import drain


async def test_g01_a_long_branch_has_room_for_its_summary_and_a_stump_is_none() -> None:
    """G01: 165,000 tokens, and no cap of ours in pi's manner; omp's is taken off when it is hit."""
    much = chain(("u1", user()), *((f"m{nth}", user("x" * 60_000)) for nth in range(11)))
    stump = ScriptedAnswer(text="## Goal", stop_reason="length")
    async with branching(entries=much, summaries=[FOUND, stump, stump, stump]) as (session, provider):
        moved = await session.navigate(at("u1"), summarize=True)

        assert moved.summary is not None
        assert sent(provider, "branch_summary")[0].max_output is None
    for settings in (Settings(), OMP):
        async with branching(entries=much, summaries=[stump, stump], settings=settings) as (session, _):
            before = state_of(session)
            with pytest.raises(NavigationFailed, match="the summary is incomplete"):
                await session.navigate(at("u1"), summarize=True)
            assert state_of(session) == before


async def test_g02_what_only_a_result_says_reaches_the_summary_in_omps_manner() -> None:
    """G02: pi's manner leaves results out, as Pi does, and says so in its prompt; who wants them has omp's."""
    entries = chain(("u1", user()), ("a1", assistant(call("c1"), stop="toolUse")), ("r1", result("c1", "canary")))
    for settings, told in ((Settings(), False), (OMP, True)):
        async with branching(entries=entries, settings=settings) as (session, provider):
            await session.navigate(at("u1"), summarize=True)
            prompt = prompt_of(sent(provider, "branch_summary")[0])
            assert ("canary" in prompt) is told
            assert ("Outputs of tools are not shown" in prompt) is not told


@pytest.mark.parametrize("settings", [None, OMP])
async def test_g03_the_old_answer_is_in_the_summary_of_a_question_that_is_answered_anew(
    settings: Settings | None,
) -> None:
    """G03: the common ancestor is the call, so the old answer is left like all that came of it, and both manners tell it."""

    @tool(kind="ask")
    async def ask(question: str) -> str:
        """Ask."""
        return question

    asked: list[SessionBeforeTree] = []
    listener = Extension("listener")

    @listener.on(SessionBeforeTree)
    async def hear(question: SessionBeforeTree, context: object) -> None:
        asked.append(question)

    entries = chain(
        ("u1", user()),
        ("a1", assistant(call("c1", "ask", question="?"), stop="toolUse")),
        ("r1", result("c1", "Ash.", name="ask")),
        ("a2", assistant("Work on ash.")),
    )
    async with branching(entries=entries, tools=[ask], extensions=[listener], settings=settings) as (session, provider):
        await session.navigate(at("r1"), answer="Oak.", summarize=True)

        [request] = sent(provider, "branch_summary")
        assert "]: Ash." in prompt_of(request)
        assert "Oak." not in prompt_of(request)
        assert [words(message) for message in session.context().messages[-2:]] == [
            "Oak.",
            summaries_of(session)[0].summary,
        ]
        assert asked[0].preparation.common_ancestor_id == "a1"
        assert asked[0].preparation.entry_ids_to_summarize == ("r1", "a2")


async def test_g06_a_restart_stands_where_the_marker_says_whatever_hangs_beside() -> None:
    """G06: 375 tips of bookkeeping, and one marker behind them all; each reading gives the same leaf."""
    entries: list[KnownEntry] = chain(
        ("u1", user()), ("a1", assistant("A.")), ("u2", user("b")), ("a2", assistant("B."))
    )
    entries += [
        Custom(id=at(f"s{nth}"), parent_id=at("a2"), timestamp=TIME, custom_type="progress") for nth in range(375)
    ]
    for marked, position in ((False, "a2"), (True, "a1")):
        marker = Custom(id=at("m"), parent_id=at("a1"), timestamp=TIME, custom_type=LEAF_MARKER)
        for _ in range(2):
            async with branching(entries=[*entries, marker] if marked else entries) as (session, _):
                assert position_of(session) == position
                assert [branch.tip for branch in session.branches()] == ["a2"]


async def test_g07_ten_moves_away_lose_no_end() -> None:
    """G07: the end is listed, and shows what it did."""
    chance = random.Random(1)  # noqa: S311 - the same walk each time
    async with branching() as (session, _):
        before, entries = session.context().messages, [entry.id for entry in session.entries()]
        for _ in range(10):
            await session.navigate(chance.choice(entries))
        assert "a3" in {branch.tip for branch in session.branches()}
        await session.navigate(at("a3"))

        assert session.context().messages == before


async def test_g08_nobody_moves_from_within_a_tool_or_a_hook() -> None:
    """G08: whoever the run waits for is told at once, so tree and request never differ."""
    told: list[type[Exception]] = []
    where: list[Any] = []

    async def move() -> str:
        """Move."""
        try:
            await where[0].navigate(at("u1"))
        except WouldDeadlock as fault:
            told.append(type(fault))
        return "tried"

    mover = Extension("mover")

    @mover.on(SessionBeforeTree)
    async def again(question: SessionBeforeTree, context: object) -> None:
        try:
            await where[0].navigate(at("u1"))
        except WouldDeadlock as fault:
            told.append(type(fault))

    calls = ScriptedAnswer(calls=(ToolCall(id=call("c9").id, name="move", arguments={}),))
    async with branching(calls, "Done.", tools=[move], extensions=[mover]) as (session, _):
        where.append(session)
        await session.prompt("Go.")
        assert [words(message) for message in session.context().messages][-1] == "Done."
        await session.navigate(at("a1"))

        assert told == [WouldDeadlock, WouldDeadlock]
        assert position_of(session) == "a1"


async def test_g10_the_head_goes_on_behind_a_move() -> None:
    """G10: after each append the leaf is the last line."""
    async with branching("One.", "Two.") as (session, _):
        await session.navigate(at("a1"))
        heads: list[EntryId | None] = []
        for text in ("First.", "Second."):
            await session.prompt(text)
            heads.append(session.context().leaf)
            assert heads[-1] == session.entries()[-1].id

        assert len(set(heads)) == 2


async def test_g11_an_approval_is_asked_for_again_on_another_branch() -> None:
    """G11: nothing that was answered elsewhere is remembered."""
    asked: list[str] = []
    guard = Extension("guard")

    @guard.on(ToolCallQuestion)
    async def approve(question: ToolCallQuestion, context: object) -> Block | None:
        asked.append(question.tool_call_id)
        return None

    async def cut() -> str:
        """Cut."""
        return "cut"

    calls = [ScriptedAnswer(calls=(ToolCall(id=call(name).id, name="cut", arguments={}),)) for name in ("c8", "c8")]
    async with branching(calls[0], "Done.", calls[1], "Done.", tools=[cut], extensions=[guard]) as (session, _):
        await session.prompt("Cut it.")
        await session.navigate(at("a3"))
        await session.prompt("Cut it.")

        assert asked == ["c8", "c8"]


async def test_g12_a_prompt_while_a_summary_is_made_is_refused_and_a_follow_up_comes_behind_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """G12: neither is lost, and nothing hangs on the branch that is left."""
    slow = ScriptedAnswer(text=FOUND, wait=9)
    async with branching("Spruce.", summaries=[slow]) as (session, _), trio.open_nursery() as nursery:

        async def move() -> None:
            await session.navigate(at("a1"), summarize=True)

        nursery.start_soon(move)
        await trio.sleep(1)
        with pytest.raises(Refused):
            await session.prompt("Now?")
        outcome = await session.follow_up("Then?").outcome()

        assert isinstance(outcome, Delivered)
        [summary] = summaries_of(session)
        tree = session.tree()
        said, hangs = tree.index(outcome.entry_id), tree.index(summary.id)
        assert said is not None
        assert hangs is not None
        assert tree.is_ancestor(hangs, said)
        assert tree.children(tree.index("a3")) == ()


@pytest.mark.parametrize("why", ["unknown", "failed", "cancelled", "no tool that asks"])
async def test_g13_everything_is_checked_before_anything_changes(why: str) -> None:
    """G13: one event of failure, at most, and all else as it was."""
    stops = Extension("stops")

    @stops.on(SessionBeforeTree)
    async def stop(question: SessionBeforeTree, context: object) -> Cancel | TreeAnswer | None:
        return Cancel() if why == "cancelled" else None

    async with branching(summaries=[ScriptedAnswer(error="no such model")], extensions=[stops]) as (session, _):
        before, reader = state_of(session), session.events()
        with pytest.raises((Refused, NavigationFailed)):
            await session.navigate(
                at("nowhere" if why == "unknown" else "a1"),
                summarize=True,
                answer="Yes." if why == "no tool that asks" else None,
            )

        assert state_of(session) == before
        events = drain(reader)
        assert [type(event) for event in events] == ([SessionTreeFailed] if why in {"failed", "cancelled"} else [])


async def test_g15_what_is_shared_is_not_summed_up_again_and_a_compaction_on_the_way_is_once() -> None:
    """G15: from the old leaf to the true ancestor, past a compaction; files of ours go on, those of a hook do not."""
    entries: list[KnownEntry] = chain(("u1", user("Trunk.")), ("a1", assistant("Shared.")), ("u2", user("Old.")))
    entries.append(
        Compaction(
            id=at("k"),
            parent_id=at("u2"),
            timestamp=TIME,
            summary="Compacted.",
            first_kept_entry_id=at("u2"),
            tokens_before=1,
            details={"readFiles": ["ours.md"], "modifiedFiles": []},
        )
    )
    entries.append(
        BranchSummary(
            id=at("b"),
            parent_id=at("k"),
            timestamp=TIME,
            from_id=at("u1"),
            summary="Told.",
            details={"readFiles": ["theirs.md"], "modifiedFiles": []},
            from_hook=True,
        )
    )
    entries += [message_entry("u3", user("Elsewhere."), "a1"), message_entry("u4", user("New."), "b")]
    async with branching(entries=entries) as (session, provider):
        moved = await session.navigate(at("a1"), summarize=True)

        prompt = prompt_of(sent(provider, "branch_summary")[0])
        assert "Shared." not in prompt
        assert prompt.count("Compacted.") == prompt.count("Told.") == prompt.count("Old.") == 1
        assert details_of(moved.summary)["readFiles"] == ["ours.md"]


@pytest.mark.parametrize("target", ["a1", "r1"])
async def test_g16_a_landing_between_a_call_and_its_result_can_be_sent(target: str) -> None:
    """G16: what is missing is supplied on the way out, and the log stays as it is."""
    entries = chain(
        ("u1", user()),
        ("a1", assistant(call("c1"), call("c2"), stop="toolUse")),
        ("r1", result("c1")),
        ("r2", result("c2")),
        ("a2", assistant("Both.")),
    )
    async with branching("Yes.", entries=entries) as (session, provider):
        await session.navigate(at(target))
        await session.prompt("On?")

        told = sent(provider, "turn")[-1].messages
        [answer] = [one for one in told if isinstance(one, AssistantMessage)]
        results = [one.tool_call_id for one in told if isinstance(one, ToolResultMessage)]
        assert results == [block.id for block in answer.content if isinstance(block, ToolCall)]


async def test_l03_each_billed_call_is_in_the_totals_once_under_its_purpose(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """L03: a summary, a failed one, one that was tried twice, a compaction; a hook's own adds what it reports."""
    cheap = Model(provider="scripted", id="cheap", context_window=50_000)
    small = Settings(compaction=CompactionSettings(keep_recent_tokens=18), summary_model=cheap)
    summaries = [
        ScriptedAnswer(text=FOUND, usage=usage(100)),
        ScriptedAnswer(text="## Goal", stop_reason="length", usage=usage(20)),
        ScriptedAnswer(error="overloaded"),
        ScriptedAnswer(text=FOUND, usage=usage(4)),
    ]
    compactions = [ScriptedAnswer(text=SUMMARY, usage=usage(1_000))]
    gives = Extension("gives")

    @gives.on(SessionBeforeTree)
    async def give(question: SessionBeforeTree, context: object) -> TreeAnswer | None:
        return TreeAnswer(summary="Mine.", usage=usage(50_000)) if question.preparation.label == "hook" else None

    with trio.fail_after(60):
        async with branching(summaries=summaries, compactions=compactions, settings=small, extensions=[gives]) as (
            session,
            _,
        ):
            await session.compact()
            await session.navigate(at("u1"), summarize=True)
            await session.navigate(at("a3"))
            with pytest.raises(NavigationFailed):
                await session.navigate(at("a1"), summarize=True)
            await session.navigate(at("a1"), summarize=True)
            await session.navigate(at("a3"))
            await session.navigate(at("a1"), summarize=True, label="hook")

            spent = session.stats()
            assert spent.by_purpose["branch_summary"].input == 100 + 20 + 4 + 50_000
            assert spent.by_purpose["compaction"].input == 1_000
            assert spent.by_model["scripted/cheap"].input == 1_000 + 100 + 20 + 4  # the compaction used to be nobody's
