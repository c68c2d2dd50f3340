"""What a story says that has the right form and could never be: no provider, no tool and no count is like that. No I/O."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from sapwood.actors.tools.tool import NAME
from sapwood.events.base import Number
from sapwood.events.messages import TOO_MUCH, Cost, Usage, is_amount
from sapwood.scenario.errors import Misfit
from sapwood.scenario.language import MOST_TURNS, MOST_WORDS, Expect, FromSeed, Generated, Place, Story
from sapwood.scenario.matching import GAP
from sapwood.scenario.scripts import Answer, Answers, ScriptedTool
from sapwood.words.wording import quoted

OURS: Final = "context_"
"""The parameter by which a scripted tool learns of its call."""
_QUEUES: Final = ("turn", "compaction", "turn_prefix", "branch_summary")
_FULL: Final = re.compile(r"(?:\?|\d+(?:\.\d+)?%)/\d+")
"""How full a window is, in the words of `ContextUsage`."""


def nonsense(story: Story) -> Iterator[Misfit]:
    """Each, with its place."""
    if isinstance(story.session, FromSeed):
        yield from _of_generated(story.session.generated)
    for name, tool in (story.tools or {}).items():
        yield from _of_tool(name, tool)
    for queue in _QUEUES:
        yield from _of_answers(queue, story.answers)
    for at, step in enumerate(story.steps):
        yield from _of_expect(step.expect, ("steps", at, "expect"))
    yield from _of_expect(story.expect, ("expect",))


def _of_generated(asked: Generated) -> Iterator[Misfit]:
    place: Place = ("session", "generated")
    bounds = {"turns": MOST_TURNS, "calls": 100, "words": 10_000, "branches": asked.turns}
    over = [key for key, most in bounds.items() if getattr(asked, key) > most]
    for key in over:
        yield Misfit(f"must be at most {bounds[key]:,}, not {getattr(asked, key):,}", (*place, key))
    turns = asked.turns + 3 * asked.branches
    if not over and turns * (2 + asked.calls) * asked.words > MOST_WORDS:
        yield Misfit(
            f"would be a session of more than {MOST_WORDS:,} words: ask for fewer turns, calls or words", place
        )


def _of_tool(name: str, tool: ScriptedTool) -> Iterator[Misfit]:
    if not NAME.fullmatch(name):
        yield Misfit(f"a tool is named by letters, digits, _ and -, up to 64: not {quoted(name)}", ("tools", name))
    for argument in tool.takes:
        if not argument.isidentifier() or keyword.iskeyword(argument) or argument == OURS or argument.startswith("__"):
            yield Misfit(
                f"an argument is named as in Python, by letters, digits and _: not {quoted(argument)}",
                ("tools", name, "takes", argument),
            )


def _of_answers(queue: str, answers: Answers) -> Iterator[Misfit]:
    listed: tuple[Answer, ...] = getattr(answers, queue)
    for at, answer in enumerate(listed):
        place: Place = ("answers", queue, at)
        if answer.ends == "pending":
            yield Misfit("no answer ends with pending: that is how it begins", (*place, "ends"))
        elif answer.ends == "aborted":
            yield Misfit("no answer ends with aborted by itself: a step aborts it", (*place, "ends"))
        elif answer.ends == "error" and answer.error is None:
            yield Misfit("an answer that ends with error says with which words: add an error", (*place, "ends"))
        elif answer.ends not in {None, "error"} and answer.error is not None:
            yield Misfit("an answer with an error ends with error: leave this out", (*place, "ends"))
        yield from _of_usage(answer.usage, (*place, "usage"))


def _of_usage(usage: Usage, place: Place) -> Iterator[Misfit]:
    for field in msgspec.structs.fields(usage):
        number = getattr(usage, field.name)
        if isinstance(number, Cost):
            yield from _of_cost(number, (*place, field.encode_name))
        elif number is not None:
            yield from _of_amount(number, (*place, field.encode_name))


def _of_cost(cost: Cost, place: Place) -> Iterator[Misfit]:
    for field in msgspec.structs.fields(cost):
        number = getattr(cost, field.name)
        if number is not None and not isinstance(number, bool):
            yield from _of_amount(number, (*place, field.encode_name))


def _of_amount(number: Number, place: Place) -> Iterator[Misfit]:
    if not is_amount(number):
        yield Misfit(f"must be from 0 to {TOO_MUCH - 1:,}: no call takes {quoted(number)}", place)


def _of_expect(expect: Expect, place: Place) -> Iterator[Misfit]:
    said = expect.usage
    if said is not None and not said.endswith(GAP) and not _FULL.fullmatch(said):
        yield Misfit(f"must be such as 41.2%/200000, ?/200000, or {GAP} for any, not {quoted(said)}", (*place, "usage"))
