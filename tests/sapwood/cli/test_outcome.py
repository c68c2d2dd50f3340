"""What came of a prompt."""

from __future__ import annotations

import pytest

import sapwood
from sapwood.cli.outcome import outcome_json, spent_json, unanswered, usage_line
from sapwood.events.commands import Delivered
from sapwood.events.context import ContextUsage
from sapwood.events.ids import EntryId
from sapwood.events.stats import Spent
from tests.build import assistant, text

ID = EntryId("a")


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (Delivered(entry_id=ID, answer=assistant(text("An oak."))), None),
        (Delivered(entry_id=ID, answer=assistant(text("An"), stop="length")), "the answer reached its limit"),
        (Delivered(entry_id=ID, answer=assistant(stop="error", error="no\nkey")), "no answer: no�key"),
        (Delivered(entry_id=ID, answer=assistant(stop="error")), "no answer: without a reason"),
        (Delivered(entry_id=ID, answer=assistant(stop="aborted")), "stopped"),
        (Delivered(entry_id=ID, aborted=True), "stopped"),
        (Delivered(entry_id=ID), "stopped"),
        (Delivered(entry_id=ID, error="the disk"), "the run broke: the disk"),
    ],
)
def test_why_there_is_no_whole_answer(outcome: Delivered, why: str | None) -> None:
    assert unanswered(outcome) == why


async def test_the_outcome_as_plain_values() -> None:
    says = sapwood.Scripted({"turn": [sapwood.ScriptedAnswer(text="An oak.")]})
    model = sapwood.Model(provider="scripted", id="talker")
    async with sapwood.open_session(None, model=model, providers=[says]) as session:
        outcome = await session.prompt("Which tree?")
        told = outcome_json(outcome, session)

    assert isinstance(told, dict)
    assert (told["answer"], told["failed"], told["error"], told["turns"]) == ("An oak.", False, None, 1)
    assert told["model"] == "scripted/talker"


def test_what_was_billed_is_told_and_what_nobody_knows_is_not_made_up() -> None:
    usage = ContextUsage(tokens=50, window=1000)
    spent = Spent(calls=2, input=1000, output=5, cache_read=7, cost=0.5, unpriced=1)

    line = "context 5.0%/1000; 2 calls, 1,000 in, 5 out, 7 read from caches; $0.5000 without 1 call"
    assert usage_line(usage, spent) == line
    assert usage_line(usage, Spent()).endswith("; 0 calls, 0 in, 0 out; cost unknown")
    told = spent_json(spent)
    assert isinstance(told, dict)
    assert told["total"] == 1012
