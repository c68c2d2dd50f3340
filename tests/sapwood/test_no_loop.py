"""C17: whatever is set and whatever anybody answers, an input costs a number of calls that can be told before, and ends.

The number, for a run of `ANSWERS` good answers:

1. The context is looked at before each turn that is no second attempt, and behind the run (C3): `ANSWERS + 2` times. No look makes two
   compactions. What is too large for the window is not sent.
2. Where the window is smaller than it is said to be, a request may be too large all the same. It is made again once until a good answer
   comes between (C16), with one compaction before that: `ANSWERS + 2` requests more, and `ANSWERS + 1` compactions.
3. A compaction is two jobs at most (C6). A job ends with the first answer that is none; one that may pass is asked for `RETRIES` times
   more, and one that was too large `HALVINGS` times, in smaller parts.
4. A job that is answered sends its material in parts (C9). At least half of the room that its words leave in a request is for the
   material, and no two neighbours fit into one part: `4 * material / free + 2` parts, and one call for the format. Each halving adds two.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Final, Literal, get_args

import attrs
import pytest
import trio
import trio.testing

from sapwood import (
    Delivered,
    Extension,
    Finish,
    Request,
    RetryPolicy,
    SapwoodError,
    ScriptedAnswer,
    Session,
    SessionBroken,
    Settings,
)
from sapwood.actors.summaries.job import HALVINGS
from sapwood.events.hooks import Cancel, SessionBeforeCompact
from sapwood.events.runtime import CompactionStart
from tests.build import call, text, usage
from tests.faults.compacting import SUMMARIES, Say, Scribe, budgets, compacting, news_of, record, tokens_of, window
from tests.faults.history import Log, words_of
from tests.talking import drain

ANSWERS: Final = 4
"""Three that call, and one that ends it."""
RETRIES: Final = 2
FRAME: Final = 1_000
"""Tokens of a request's own words: no kind of them takes more."""

Summariser = Literal[
    "good", "bloated", "huge", "formless", "failing", "flaky", "cut off", "silent", "overflowing", "vetoed"
]


@attrs.frozen(kw_only=True)
class Case:
    """One mix."""

    window: int
    reserve: int
    keep: int
    prompt: int
    """Tokens that are said."""
    summariser: Summariser
    reports: bool
    """Whether the model reports usage."""
    honest: bool
    """Whether the window is as large as it is said to be."""

    @property
    def settings(self) -> Settings:
        policy = RetryPolicy(max_retries=RETRIES)
        return budgets(self.reserve, self.keep, retry=policy)

    def most_compactions(self) -> int:
        return ANSWERS + 2 + (0 if self.honest else ANSWERS + 1)

    def most_turns(self) -> int:
        return ANSWERS + (0 if self.honest else ANSWERS + 2)

    def most_calls_of_a_job(self, material: int) -> int:
        """`material`: tokens of all that was ever said."""
        match self.summariser:
            case "vetoed":
                return 0
            case "failing" | "cut off" | "silent":
                return 1 if self.honest else 1 + HALVINGS
            case "flaky":
                return 1 + RETRIES if self.honest else 1 + RETRIES + HALVINGS
            case "overflowing":
                return 1 + HALVINGS
            case "good" | "bloated" | "huge" | "formless":
                free = self.settings.compaction.of(window(self.window)).threshold - FRAME
                parts = 4 * material // free + 2 if free > 0 else 1
                return parts + 1 + (0 if self.honest else 2 * HALVINGS)


WINDOWS: Final = (2_000, 8_192, 64_000, 1_000_000)
AMOUNTS: Final = ((0, 0), (0, 10**9), (16_384, 20_000), (10**9, 0), (10**9, 10**9))
"""Reserve and what is kept: nothing, the defaults, more than any window."""
PROMPTS: Final = (0.001, 0.4, 1.5)
LONGEST: Final = 100_000
"""Tokens that are said at once: the door takes few more (S12)."""
MODELS: Final = ((True, True), (False, False))
"""Whether it reports usage, and is as large as it is said to be: by turns, so that each summariser meets both."""


def cases() -> Iterator[Case]:
    summarisers: tuple[Summariser, ...] = get_args(Summariser)
    for nth, (size, (reserve, keep), prompt, summariser) in enumerate(product(WINDOWS, AMOUNTS, PROMPTS, summarisers)):
        reports, honest = MODELS[(nth + nth // len(summarisers)) % len(MODELS)]
        yield Case(
            window=size,
            reserve=reserve,
            keep=keep,
            prompt=min(round(prompt * size), LONGEST),
            summariser=summariser,
            reports=reports,
            honest=honest,
        )


def at_once(words: str) -> Finish:
    """A long answer that does not stream."""
    return Finish(stop_reason="stop", content=(text(words),))


def writer(case: Case) -> Scribe:
    """The provider of a case."""

    def says(request: Request) -> Say:
        nth = len(provider.turns) % ANSWERS
        told = usage(tokens_of(request) if case.reports else 0)
        calls = (call(f"c{len(provider.turns)}", "look"),) if nth < ANSWERS - 1 else ()
        return ScriptedAnswer(text="So.", calls=calls, usage=told)

    def writes(request: Request) -> Say:
        kind = SUMMARIES[request.purpose]
        match case.summariser:
            case "good" | "vetoed":
                return record(kind=kind)
            case "bloated":
                return at_once(record(words_of(min(case.window // 4, 10_000)), kind=kind))
            case "huge":
                return at_once(record(words_of(min(case.window, 20_000)), kind=kind))
            case "formless":
                return "All went well."
            case "failing":
                return ScriptedAnswer(error="400 never")
            case "flaky":
                return ScriptedAnswer(text="## Go", error="529 overloaded")
            case "cut off":
                return ScriptedAnswer(text=record(kind=kind), stop_reason="length")
            case "silent":
                return Finish(stop_reason="stop", content=())
            case "overflowing":
                return ScriptedAnswer(error="400 prompt is too long")

    provider = Scribe(says=says, writes=writes, takes=case.window if case.honest else case.window // 2)
    return provider


async def play(case: Case) -> str:
    """Two inputs, each within its bound, and a third one that is answered whatever came before. What came of the first two."""
    guard = Extension("guard")

    @guard.on(SessionBeforeCompact)
    async def veto(_: SessionBeforeCompact, __: object) -> Cancel | None:
        return Cancel(reason="no") if case.summariser == "vetoed" else None

    async def look() -> str:
        return words_of(case.window // 20)

    log = Log()
    log.turns(9, case.window // 10)
    provider = writer(case)
    came: list[str] = []
    model = window(case.window)
    async with compacting(
        provider, log.store(), model=model, settings=case.settings, tools=[look], extensions=[guard]
    ) as session:
        said = 0
        for _ in range(2):
            reader, turns, summaries = session.events(), len(provider.turns), len(provider.summaries)
            said += case.prompt + ANSWERS * case.window // 10
            came.append(await said_to(session, words_of(case.prompt) or "go"))
            told = drain(reader)
            compactions = sum(isinstance(one, CompactionStart) for one in told)
            assert compactions <= case.most_compactions()
            assert len(provider.turns) - turns <= case.most_turns()
            job = case.most_calls_of_a_job(case.window + said)
            assert len(provider.summaries) - summaries <= 2 * job * compactions
            news_of(told)
            assert session.state == "idle"
        provider.takes = None
        provider.writes = lambda _: record()
        provider.says = lambda _: "here"
        await session.set_model(window(100_000_000))
        assert await said_to(session, "still there?") == "answered", came
    return "/".join(came)


async def said_to(session: Session, words: str) -> str:
    """What comes of a prompt, by kind. Anything but the errors that are told of raises."""
    try:
        outcome = await session.prompt(words)
    except SessionBroken:
        raise
    except SapwoodError as error:
        return type(error).__name__
    assert isinstance(outcome, Delivered)
    return "failed" if outcome.failed else "answered"


def play_all(chosen: list[Case]) -> set[str]:
    outcomes: set[str] = set()
    for case in chosen:
        try:
            outcomes.add(trio.run(play, case, clock=trio.testing.MockClock(autojump_threshold=0)))
        except BaseException as fault:
            fault.add_note(f"it was {case}")
            raise
    return outcomes


@pytest.mark.slow
def test_an_input_costs_no_more_calls_than_can_be_told_before_in_some_mixes() -> None:
    small = [case for case in cases() if case.window < WINDOWS[-1]]
    outcomes = play_all(Random(17).sample(small, 40))  # noqa: S311 - any will do
    assert {"answered/answered", "failed/failed"} <= outcomes


@pytest.mark.full
@pytest.mark.slow
def test_an_input_costs_no_more_calls_than_can_be_told_before_in_any_mix() -> None:
    outcomes = {one for pair in play_all(list(cases())) for one in pair.split("/")}
    assert outcomes == {"answered", "failed", "ContextTooLarge"}
