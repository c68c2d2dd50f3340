"""Any actor may crash at any message, and any order may come: the log is whole, or interrupted so that the next prompt takes it up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import attrs
import pytest
import trio
import trio.testing

from sapwood import Delivered, InputOutcome, SapwoodError, Session
from sapwood.actors.kernel import Receipt, Ref, Tap, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.kernel.testing import CrashAt, DropAll, Recording, Seeded, Together
from sapwood.events.commands import Abort
from sapwood.events.content import text_of
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, UserMessage
from sapwood.events.runtime import AgentEnd, AgentSettled, TurnEnd
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, MODEL
from tests.talking import talking

TALK = ("How are you?", "And now?")
WHOLE = ["How are you?", "fine", "And now?", "better"]


@attrs.frozen
class Talked:
    """What a talk came to."""

    outcomes: list[InputOutcome | SapwoodError]
    log: list[str]
    lines: tuple[bytes, ...]


def said(store: MemoryStore) -> list[str]:
    from sapwood.actors.session_log.view import View

    return [
        text_of(entry.message.content)
        for entry in View(store).entries()
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage | AssistantMessage)
    ]


async def talk(tap: Tap | None, *, texts: Sequence[str] = TALK) -> tuple[Talked, MemoryStore]:
    """The talk of two prompts, under a tap."""
    store = MemoryStore(HEADER)
    outcomes: list[InputOutcome | SapwoodError] = []
    with trio.fail_after(1000):
        async with talking("fine", "better", where=store, tap=tap) as session:
            for text in texts:
                try:
                    outcomes.append(await session.prompt(text))
                except SapwoodError as error:
                    outcomes.append(error)
            log = said(store)
            lines = tuple(store.line(index) for index in range(len(store.tree)))
    return Talked(outcomes, log, lines), store


def receipts() -> list[Receipt]:
    """Every message that any actor gets in the talk; in one order, so that every worker collects the same tests."""
    tap = Recording()
    trio.run(talk, Together(Seeded(0), tap), clock=trio.testing.MockClock(autojump_threshold=0))
    return [passed for passed in tap.passed if isinstance(passed, Receipt)]


RECEIPTS = receipts()


def test_the_talk_reaches_every_actor_of_the_session() -> None:
    assert {receipt.actor for receipt in RECEIPTS} == {
        "agent",
        "exclusion",
        "inbox",
        "model",
        "projection",
        "session_log",
    }


@pytest.mark.parametrize("receipt", RECEIPTS, ids=lambda one: f"{one.actor}-{one.n}-{type(one.message).__name__}")
async def test_a_crash_anywhere_ends_in_the_same_log_or_in_one_that_the_next_prompt_takes_up(
    receipt: Receipt, autojump_clock: trio.testing.MockClock
) -> None:
    talked, _ = await talk(CrashAt(receipt.actor, receipt.n))

    if talked.log != WHOLE:
        assert set(talked.log) <= {*WHOLE, ""}, "nothing is made up; a call that broke is an empty answer"
        assert talked.log.count("How are you?") <= 1, "nothing is doubled"
        assert talked.log[-1] in {"fine", "better", ""}, "the next prompt was answered, or its call failed"
    for text, outcome in zip(TALK, talked.outcomes, strict=True):
        assert isinstance(outcome, Delivered) == (text in talked.log), "the outcome and the log agree"


@pytest.mark.parametrize("receipt", RECEIPTS, ids=lambda one: f"{one.actor}-{one.n}-{type(one.message).__name__}")
async def test_after_a_crash_the_session_is_free_and_answers(
    receipt: Receipt, autojump_clock: trio.testing.MockClock
) -> None:
    async with talking("1", "2", "3", tap=CrashAt(receipt.actor, receipt.n)) as session:
        for text in TALK:
            with suppress(SapwoodError):
                await session.prompt(text)
        assert session.state == "idle"
        with trio.fail_after(10):
            assert isinstance(await session.prompt("still there?"), Delivered)


@pytest.mark.parametrize("seed", range(40))
async def test_every_order_of_receipts_ends_in_the_same_log(seed: int, autojump_clock: trio.testing.MockClock) -> None:
    talked, _ = await talk(Seeded(seed))

    assert talked.log == WHOLE
    assert all(isinstance(outcome, Delivered) and outcome.answer for outcome in talked.outcomes)


async def test_the_same_seed_gives_the_same_bytes(autojump_clock: trio.testing.MockClock) -> None:
    first, _ = await talk(Seeded(7))
    again, _ = await talk(Seeded(7))

    assert first.lines == again.lines


async def test_without_turn_end_a_prompt_counts_no_turns(autojump_clock: trio.testing.MockClock) -> None:
    talked, _ = await talk(DropAll((TurnEnd,)))

    assert [outcome.turns for outcome in talked.outcomes if isinstance(outcome, Delivered)] == [0, 0]
    assert talked.log == WHOLE


async def test_without_agent_end_a_prompt_has_no_answer(autojump_clock: trio.testing.MockClock) -> None:
    talked, _ = await talk(DropAll((AgentEnd,)))

    assert [outcome.answer for outcome in talked.outcomes if isinstance(outcome, Delivered)] == [None, None]
    assert talked.log == WHOLE


async def test_without_agent_settled_a_prompt_has_its_outcome_from_the_log(
    autojump_clock: trio.testing.MockClock,
) -> None:
    talked, _ = await talk(DropAll((AgentSettled,)))

    outcomes = [outcome for outcome in talked.outcomes if isinstance(outcome, Delivered)]
    assert [(one.turns, one.aborted, one.answer is not None) for one in outcomes] == [(1, False, True)] * 2


@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.parametrize("seed", range(12))
async def test_a_crash_among_many_prompts_leaves_the_tree_free(
    at: int, seed: int, autojump_clock: trio.testing.MockClock
) -> None:
    """An agent that crashed while its lease was being granted used to leave the session running for ever."""
    async with talking("1", "2", "3", "4", "5", tap=Together(Seeded(seed), CrashAt("agent", at))) as session:
        handles = [session.submit(text) for text in ("a", "b", "c")]
        for handle in handles:
            with trio.fail_after(100), suppress(SapwoodError):
                await handle.outcome()

        assert session.state == "idle"
        assert isinstance(await session.prompt("still there?"), Delivered)


@attrs.define
class CrashTwice:
    """Crashes the log at its first two appends."""

    left: int = 2

    async def receipt(self, receipt: Receipt) -> Verdict:
        if receipt.actor == "session_log" and self.left > 0:
            self.left -= 1
            raise ValueError("again")
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


async def test_an_input_that_is_given_up_never_runs_behind_its_outcome(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It used to be handed back, and then to be asked for again by itself."""
    async with talking("1", "2", tap=CrashTwice()) as session:
        with pytest.raises(SapwoodError, match="session_log"):
            await session.prompt("hello")
        await trio.sleep(60)
        assert session.entries() == ()

        assert isinstance(await session.prompt("hello"), Delivered)


SETTING: Final[Mapping[str, Callable[[Session, EntryId], Awaitable[object]]]] = {
    "ModelChange": lambda session, _: session.set_model(MODEL),
    "ThinkingLevelChange": lambda session, _: session.set_thinking_level("high"),
    "ContextEdit": lambda session, said: session.edit(said, None),
    "Label": lambda session, said: session.label(said, "start"),
    "Custom": lambda session, _: session.append_custom("mine", {"n": 1}),
}
"""What a host may have put into the log, by the kind of its entry."""


def set_in(session: Session) -> Counter[str]:
    return Counter(kind for entry in session.entries() if (kind := type(entry).__name__) in SETTING)


@attrs.define
class CrashBehindTheAppend:
    """Crashes the agent when what it has appended is in the log, and it has not heard so."""

    agent: Ref | None = None
    struck: trio.Event = attrs.field(factory=trio.Event)

    async def receipt(self, receipt: Receipt) -> Verdict:
        if receipt.actor == "agent" and isinstance(receipt.message, Abort) and not self.struck.is_set():
            self.struck.set()
            raise ValueError("crash")
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        if self.agent is not None and actor == "agent" and phase == "end" and not self.struck.is_set():
            self.agent.tell(Abort())
            await self.struck.wait()


@pytest.mark.parametrize("kind", SETTING)
async def test_what_is_set_is_in_the_log_once_though_the_agent_crashes_behind_it(
    kind: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Each try used to pick an id of its own, and there were two entries."""
    tap = CrashBehindTheAppend()
    async with talking("hi", tap=tap) as session:
        said = (await session.prompt("hello")).entry_id
        tap.agent = session._wiring.agent
        reply = await SETTING[kind](session, said)

        assert tap.struck.is_set()
        assert set_in(session) == {kind: 1}
        assert reply in {None, session.entries()[-1].id}


@pytest.mark.parametrize("at", range(2, 7))
@pytest.mark.parametrize("seed", range(6))
async def test_a_crash_among_many_settings_doubles_and_loses_none(
    at: int, seed: int, autojump_clock: trio.testing.MockClock
) -> None:
    async with talking("hi", tap=Together(Seeded(seed), CrashAt("agent", at))) as session:
        said = (await session.prompt("hello")).entry_id
        async with trio.open_nursery() as nursery:
            for setting in SETTING.values():
                nursery.start_soon(setting, session, said)

        assert set_in(session) == dict.fromkeys(SETTING, 1)
