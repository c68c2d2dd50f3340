"""C: calls and their results around a compaction that runs: wherever it cuts, the provider is sent pairs."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from sapwood import Extension, Returned, ScriptedAnswer, ToolCall
from sapwood.actors.outgoing import prepare
from sapwood.actors.outgoing.pairing import UNKNOWN_FATE
from sapwood.actors.tools.results import INTERRUPTED
from sapwood.events.entries import MessageEntry
from sapwood.events.hooks import SessionBeforeCompact
from sapwood.events.messages import AssistantMessage, ToolResultMessage
from sapwood.reading import Reading
from tests.build import MODEL, assistant, call, result, user
from tests.faults.compacting import SMALL, TIGHT, Scribe, budgets, compacting, compactions, framed
from tests.faults.history import Log, words_of
from tests.faults.logs import assert_whole, rows
from tests.faults.running import told
from tests.faults.sent import as_bytes, results_of


@pytest.mark.parametrize("keep", [10, 150, 310, 450, 610, 750, 920, 1_000])
async def test_c01_a_batch_of_calls_is_kept_whole_or_not_at_all(keep: int) -> None:
    """C01: the budget is reached behind each of three results in turn, and at the answer that calls.

    Where a batch was more than twice the budget this used to end in an index that there is not.
    """
    log = Log()
    log.turns(4, 400)
    log.add(user("read all"), assistant(*(call(one) for one in "abc"), stop="toolUse"))
    log.add(*(result(one, words_of(300, one)) for one in "abc"))
    provider = Scribe("fine")
    async with compacting(provider, log.store(), model=SMALL, settings=budgets(2_000, keep)) as session:
        compacted = await session.compact()
        first = session.entry(compacted.entry.first_kept_entry_id)
        assert isinstance(first, MessageEntry)
        assert first.message.role != "toolResult"
        assert not (await session.prompt("go on")).failed
    assert {len(results_of(provider.turns[0], one)) for one in "abc"} == {1}, "the newest answer is kept whole"


@pytest.mark.parametrize("keep", [100, 900, 1_050, 1_200, 1_350, 1_500])
async def test_c01_a_batch_of_the_past_goes_whole(keep: int) -> None:
    """C01: the same with a turn behind it, so that the budget is reached inside the batch, or before."""
    log = Log()
    log.turns(2, 400)
    log.add(user("read all"), assistant(*(call(one) for one in "abc"), stop="toolUse"))
    log.add(*(result(one, words_of(300, one)) for one in "abc"))
    log.add(assistant("all read"))
    log.turns(2, 400)
    provider = Scribe("fine")
    async with compacting(provider, log.store(), model=SMALL, settings=budgets(2_000, keep)) as session:
        await session.compact()
        assert not (await session.prompt("go on")).failed
    counts = [len(results_of(provider.turns[0], one)) for one in "abc"]
    assert counts in ([0, 0, 0], [1, 1, 1])


async def waits(seconds: float) -> str:
    await trio.sleep(seconds)
    return "waited"


async def test_c03_c08_what_was_made_up_for_an_interrupted_call_goes_with_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """C03, C08: the call is stopped, and summarised away many turns later; nothing remembers it, at any entry behind that."""
    provider = Scribe(ScriptedAnswer(calls=(call("old", "waits", seconds=60),)))
    async with compacting(provider, model=SMALL, settings=TIGHT, tools=[waits]) as session:
        handle = session.submit("wait")
        await trio.sleep(5)
        await session.abort()
        await handle.outcome()
        for nth in range(30):
            assert not (await session.prompt(f"{nth} {words_of(400)}")).failed
        assert compactions(session)
        assert INTERRUPTED in results_of(provider.turns[1], "old")
        assert results_of(provider.turns[-1], "old") == []
        provider.queue("turn", ScriptedAnswer(calls=(call("new", "waits", seconds=1),)))
        assert not (await session.prompt("once more")).failed
        assert results_of(provider.turns[-1], "new") == ["waited"]
        assert b'"old"' not in b"".join(as_bytes(provider.turns[-1]))
        assert outgoing_repairs(session) == []


def outgoing_repairs(session: Reading) -> list[str]:
    return [one.call for one in prepare(session.context().messages, provider=MODEL.provider, model=MODEL.id).repairs]


async def test_c04_c16_compactions_in_the_middle_of_a_run_double_no_result_and_keep_the_order(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """C04, C16: twice in a run of parallel calls, with a hook that takes its time: one result a call, and each line behind its parent."""
    slow = Extension("slow")

    @slow.on(SessionBeforeCompact)
    async def think(_: SessionBeforeCompact, __: object) -> None:
        await trio.sleep(0.2)

    async def look(nth: int) -> str:
        await trio.sleep(0.1 * (nth % 3))
        return words_of(700, f"r{nth}")

    batches = [tuple(call(f"c{nth}{one}", "look", nth=nth) for one in "ab") for nth in range(12)]
    path = tmp_path / "s.jsonl"
    provider = Scribe(*(ScriptedAnswer(calls=batch) for batch in batches), "done")
    async with compacting(provider, path, model=SMALL, settings=TIGHT, tools=[look], extensions=[slow]) as session:
        assert not (await session.prompt("go")).failed
        assert len(compactions(session)) >= 2
    for request in provider.turns:
        calls = [
            block.id
            for message in request.messages
            if isinstance(message, AssistantMessage)
            for block in message.content
            if isinstance(block, ToolCall)
        ]
        results = [one.tool_call_id for one in request.messages if isinstance(one, ToolResultMessage)]
        assert sorted(calls) == sorted(results)
        assert len({*results}) == len(results)
    assert_whole(path)
    order = [
        row["message"]["toolCallId"][:-1] if row["message"]["role"] == "toolResult" else row["message"]["role"]
        for row in rows(path)
        if row["type"] == "message" and row["message"]["role"] != "system"
    ]
    assert order == ["user", *(one for nth in range(12) for one in ("assistant", f"c{nth}", f"c{nth}")), "assistant"]


async def test_c05_calls_that_nobody_answered_stop_neither_a_compaction_nor_a_prompt() -> None:
    """C05: one in what is summarised, one in what is kept; the request for the summary carries no call at all."""
    log = Log()
    log.add(user("one"), assistant(call("lost"), stop="toolUse"))
    log.turns(4, 1_000)
    log.add(user("two"), assistant(call("open"), stop="toolUse"))
    log.turns(1, 200)
    provider = Scribe("fine", "and fine")
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT) as session:
        await session.compact()
        for _ in range(2):
            assert not (await session.prompt("go on")).failed
    for request in provider.turns:
        assert (results_of(request, "lost"), results_of(request, "open")) == ([], [UNKNOWN_FATE])
    [summary] = provider.summaries
    assert {message.role for message in summary.messages} == {"system", "user"}
    assert "[Assistant tool calls]: read()" in framed(summary)["conversation"]


async def test_c06_a_call_that_was_never_run_is_closed_right_behind_it() -> None:
    """C06: the last answer calls a tool that nobody has; a person compacts."""
    log = Log()
    log.turns(4, 800)
    log.add(user("look"), assistant("I will look.", call("bare"), stop="toolUse"))
    provider = Scribe("fine")
    async with compacting(provider, log.store(), model=SMALL, settings=budgets(2_000, 1)) as session:
        await session.compact()
        assert not (await session.prompt("go on")).failed
    roles = [message.role for message in provider.turns[0].messages]
    assert roles == ["user", "assistant", "toolResult", "user"]
    closed = provider.turns[0].messages[2]
    assert isinstance(closed, ToolResultMessage)
    assert (closed.tool_call_id, closed.is_error) == ("bare", True)


async def test_c07_a_compaction_that_is_asked_for_while_tools_run_waits_for_their_results(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """C07: C15 has the run stopped first; both calls have a result in the log by then, and the compaction comes behind them."""
    log = Log()
    log.turns(4, 800)
    calls = (call("c1", "waits", seconds=1), call("c2", "waits", seconds=60))
    provider = Scribe(ScriptedAnswer(calls=calls), "fine")
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT, tools=[waits]) as session:
        handle = session.submit("wait for both")
        await trio.sleep(5)
        later = session.follow_up("and this")
        compacted = await session.compact()
        assert [one.text for one in compacted.returned] == ["and this"]
        assert isinstance(await later.outcome(), Returned)
        await handle.outcome()
        assert told(session)[-3:] == ["assistant:", "c1", "c2"]
        assert session.entries()[-1] == compacted.entry
        assert provider.turns[-1].messages[-1].role == "user", "the run is not gone on with"
        assert not (await session.prompt("go on")).failed
        by_call = {one: results_of(provider.turns[-1], one) for one in ("c1", "c2")}
        assert by_call == {"c1": ["waited"], "c2": [INTERRUPTED]}
