"""What an extension may give, what a host's converter may do, and what a job is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from sapwood import BranchSummarySettings, Extension, Model, ScriptedAnswer, Settings
from sapwood.actors.kernel.tap import Phase, Receipt, Verdict
from sapwood.events.errors import NavigationFailed, StoreError
from sapwood.events.hooks import SessionBeforeTree, TreeAnswer
from sapwood.events.messages import Message
from sapwood.events.requests import Append
from sapwood.events.runtime import Diagnostic
from tests.build import assistant, usage, user, words
from tests.sapwood.branching import FOUND, at, branching, chain, details_of, position_of, state_of
from tests.sapwood.summarizing import prompt_of, sent
from tests.talking import drain


def answering(answer: TreeAnswer) -> Extension:
    extension = Extension("answers")

    @extension.on(SessionBeforeTree)
    async def give(question: SessionBeforeTree, context: object) -> TreeAnswer:
        return answer

    return extension


async def test_what_an_extension_was_billed_for_its_part_is_in_the_summarys_usage() -> None:
    part = answering(TreeAnswer(instructions="weights", usage=usage(7)))
    async with branching(extensions=[part], summaries=[ScriptedAnswer(text=FOUND, usage=usage(5))]) as (session, _):
        moved = await session.navigate(at("a1"), summarize=True)

        assert moved.summary is not None
        assert moved.summary.usage is not None
        assert moved.summary.usage.input == 12


@pytest.mark.parametrize("answer", [TreeAnswer(usage=usage(7)), TreeAnswer(summary="Mine.", usage=usage(7), label="x")])
async def test_what_an_extension_was_billed_is_in_the_totals_where_no_summary_is_made(answer: TreeAnswer) -> None:
    """It used to be in none: only a summary of a model's bore it."""
    async with branching(extensions=[answering(answer)]) as (session, provider):
        moved = await session.navigate(at("a1"))

        assert (moved.summary, provider.requests) == (None, [])
        assert session.stats().by_purpose["branch_summary"].input == 7
        assert position_of(session) == "a1"


async def test_what_an_extension_was_billed_is_in_the_totals_where_the_summary_fails() -> None:
    answer = TreeAnswer(instructions="weights", usage=usage(7))
    failing = ScriptedAnswer(error="invalid api key")
    async with branching(extensions=[answering(answer)], summaries=[failing]) as (session, _):
        with pytest.raises(NavigationFailed):
            await session.navigate(at("a1"), summarize=True)

        assert session.stats().by_purpose["branch_summary"].input == 7
        assert position_of(session) == "a3"


async def test_a_models_summary_that_is_too_long_to_be_one_moves_nothing() -> None:
    """Five megabytes used to be stored, and to be sent with every request from then on."""
    long = ScriptedAnswer(text=FOUND + "x" * 5_000_000, usage=usage(5))
    async with branching(summaries=[long]) as (session, _):
        seen = session.context().messages
        with pytest.raises(
            NavigationFailed, match=r"^Branch summarization failed: the answer has 5,000,\d+ characters"
        ):
            await session.navigate(at("a1"), summarize=True)

        assert (position_of(session), session.context().messages) == ("a3", seen)
        assert session.stats().by_purpose["branch_summary"].input == 5


async def test_what_an_extensions_summary_cost_is_in_the_totals_where_it_cannot_be_written() -> None:
    async with branching(extensions=[answering(TreeAnswer(summary="Mine.", usage=usage(7)))]) as (session, _):
        store: Any = session._wiring.view._store
        stage = store.stage

        def refuse(lines: object) -> None:
            store.stage = stage
            raise StoreError("the disk is full")

        store.stage = refuse
        with pytest.raises(StoreError, match="the disk is full"):
            await session.navigate(at("a1"), summarize=True)

        assert session.stats().by_purpose["branch_summary"].input == 7
        assert position_of(session) == "a3"


async def test_a_summary_of_an_extension_that_cannot_be_used_is_told_with_the_reason() -> None:
    async with branching(extensions=[answering(TreeAnswer(summary=" "))]) as (session, _):
        reader = session.events()
        await session.navigate(at("a1"), summarize=True)

        [told] = [event for event in drain(reader) if isinstance(event, Diagnostic)]
        assert told.code == "summary_refused"
        assert "its text is empty" in told.message


async def test_an_extension_may_have_its_instructions_replace_ours() -> None:
    answer = TreeAnswer(instructions="Weights alone.", replace_instructions=True)
    async with branching(extensions=[answering(answer)]) as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        prompt = prompt_of(sent(provider, "branch_summary")[0])
        assert prompt.endswith("Weights alone.")
        assert "## Goal" not in prompt


def _raises(messages: Sequence[Message]) -> Sequence[Message]:
    raise ValueError("no such message")


def _junk(messages: Sequence[Message]) -> Any:
    return ["junk"]


def _number(messages: Sequence[Message]) -> Any:
    return 7


@pytest.mark.parametrize(
    ("convert", "why"),
    [
        (_raises, "the host's converter of messages failed: ValueError: no such message"),
        (_junk, "the host's converter gave what is no message: 'junk'"),
        (_number, "the host's converter of messages failed: TypeError"),
    ],
)
async def test_a_converter_that_breaks_fails_the_summary_and_moves_nothing(convert: Any, why: str) -> None:
    settings = Settings(branch_summary=BranchSummarySettings(convert=convert))
    async with branching(settings=settings) as (session, provider):
        before = state_of(session)
        with pytest.raises(NavigationFailed) as failed:
            await session.navigate(at("a1"), summarize=True)

        assert str(failed.value).startswith(f"Branch summarization failed: {why}")
        assert state_of(session) == before
        assert not provider.requests


async def test_the_words_around_a_branch_that_fills_its_budget_fit_the_same_request() -> None:
    """With the budget for a room every full branch would be summed up in two parts."""
    model = Model(provider="scripted", id="talker", context_window=40_000)
    many = chain(("u1", user()), *((f"m{nth}", assistant("x" * 400)) for nth in range(400)))
    async with branching(entries=many, model=model) as (session, provider):
        moved = await session.navigate(at("u1"), summarize=True)

        [request] = sent(provider, "branch_summary")
        tokens = sum(len(words(message)) for message in request.messages) / 4
        assert 23_000 < tokens < 40_000 - 8_192
        assert 100 < details_of(moved.summary)["leftOut"] < 200


@attrs.define
class Hung:
    """A log that answers no append from some moment on."""

    hangs: bool = False

    async def receipt(self, receipt: Receipt) -> Verdict:
        if receipt.actor == "session_log" and isinstance(receipt.message, Append) and self.hangs:
            await trio.sleep(100)
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


async def test_a_log_that_hangs_holds_up_a_stopped_move_for_a_second_at_most(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It used to be waited for as long as it took."""
    log = Hung()
    missed = ScriptedAnswer(text="No format.", usage=usage(9))
    summaries = [missed, ScriptedAnswer(text=FOUND, wait=60)]
    async with branching(summaries=summaries, tap=log) as (session, _):
        reader = session.events()
        log.hangs = True
        began = trio.current_time()
        with trio.move_on_after(5):
            await session.navigate(at("a1"), summarize=True)

        assert trio.current_time() - began == pytest.approx(6, abs=0.1)
        log.hangs = False
        assert "usage_unrecorded" in [one.code for one in drain(reader) if isinstance(one, Diagnostic)]


async def test_one_that_is_stopped_behind_a_billed_call_is_billed(autojump_clock: trio.testing.MockClock) -> None:
    missed = ScriptedAnswer(text="No format.", usage=usage(9))
    async with branching(summaries=[missed, ScriptedAnswer(text=FOUND, wait=60)]) as (session, _):
        before = state_of(session)
        with trio.move_on_after(5):
            await session.navigate(at("a1"), summarize=True)

        assert session.stats().by_purpose["branch_summary"].input == 9
        assert session.stats().by_model["scripted/talker"].input == 9
        assert session.context().messages == before.context.messages
