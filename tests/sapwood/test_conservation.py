"""C7: through any number of compactions, edits and moves, what was seen is summarised or kept: exactly once, and nothing else is.

Every message bears a word of its own. What the requests for a summary tell, and what is kept behind it, come to what was seen before,
less the summary before; and that one goes along. The moves are in the log as a navigation leaves them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Final, assert_never

import attrs
import pytest
import trio
import trio.testing
from hypothesis import event, given
from hypothesis import strategies as st

from sapwood import Refused, Replacement, Request, ScriptedAnswer, Session
from sapwood.events.content import TextContent
from sapwood.events.context import ContextItem
from sapwood.events.entries import Custom, MessageEntry
from sapwood.events.messages import (
    AssistantMessage,
    CompactionSummaryMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from sapwood.events.requests import Append
from tests.build import call, text, words
from tests.faults.compacting import SUMMARIES, Scribe, budgets, compacting, framed, record, window
from tests.faults.history import words_of

WORD: Final = re.compile(r"\bw[0-9]{5}x\b")
SUMMED: Final = re.compile(r"\bs[0-9]{5}x\b")
"""The word of a summary."""


EDITABLE: Final = (UserMessage, AssistantMessage, ToolResultMessage)


@attrs.frozen
class Talk:
    """Somebody speaks, and the model answers; with calls of tools before that."""

    tokens: int
    batches: tuple[int, ...]
    """How many calls each of the answers before the last one makes."""


@attrs.frozen
class Change:
    """The nth of the visible messages is hidden, or shows something else."""

    nth: int
    hide: bool


@attrs.frozen
class Move:
    """The leaf becomes the nth message of the log."""

    nth: int


@attrs.frozen
class Compact:
    """A person asks for it."""


Step = Talk | Change | Move | Compact
TALKS: Final = st.builds(Talk, st.sampled_from([0, 30, 200, 600]), st.lists(st.integers(1, 3), max_size=4).map(tuple))
STEPS: Final = st.one_of(
    TALKS, TALKS, TALKS, st.builds(Change, st.integers(0, 50), st.booleans()), st.builds(Move, st.integers(0, 80))
)
ROUNDS: Final = st.lists(st.lists(STEPS, min_size=2, max_size=7), min_size=1, max_size=6)
"""What happens before each of one to six compactions."""


class Player:
    """Plays a program in a session, and weighs each of its compactions."""

    def __init__(self) -> None:
        self._words, self._sums, self._calls = count(), count(), count()
        self._batches: list[int] = []
        self._tokens = 0
        self._earlier: set[str] = set()
        """The words of all summaries."""
        self.compacted = 0
        self.provider = Scribe(says=self._answer, writes=self._write)

    def word(self) -> str:
        return f"w{next(self._words):05}x"

    async def look(self) -> str:
        return f"{self.word()} {words_of(self._tokens)}"

    def _answer(self, _: Request) -> ScriptedAnswer:
        calls = self._batches.pop(0) if self._batches else 0
        made = tuple(call(f"c{next(self._calls)}", "look") for _ in range(calls))
        return ScriptedAnswer(text=f"{self.word()} {words_of(self._tokens)}", calls=made)

    def _write(self, request: Request) -> str:
        return record(f"s{next(self._sums):05}x", kind=SUMMARIES[request.purpose])

    async def play(self, session: Session, rounds: Sequence[Sequence[Step]]) -> None:
        for steps in rounds:
            for step in (*steps, Compact()):
                await self._step(session, step)

    async def _step(self, session: Session, step: Step) -> None:
        match step:
            case Talk(tokens, batches):
                self._tokens, self._batches = tokens, [*batches]
                assert not (await session.prompt(f"{self.word()} {words_of(tokens)}")).failed
            case Change(nth, hide):
                items = [item for item in session.context().items if isinstance(item.message, EDITABLE)]
                if items:
                    await self._change(session, items[nth % len(items)], hide=hide)
            case Move(nth):
                messages = [entry.id for entry in session.entries() if isinstance(entry, MessageEntry)]
                if messages:
                    pen, target = session._wiring.pen, messages[nth % len(messages)]
                    marker = Custom(
                        id=pen.new_id(),
                        parent_id=target,
                        timestamp=pen.environment.timestamp(),
                        custom_type="sapwood.leaf",
                    )
                    await pen.session_log.ask(Append(entries=(marker,), under=target))
            case Compact():
                await self._compact(session)
            case _:
                assert_never(step)

    async def _change(self, session: Session, item: ContextItem, *, hide: bool) -> None:
        blocks: tuple[TextContent, ...] = (text(f"{self.word()} instead"),)
        await session.edit(item.entry_id, None if hide else Replacement(content=blocks))

    async def _compact(self, session: Session) -> None:
        before, asked, entries = session.context().items, len(self.provider.requests), session.entries()
        try:
            compacted = await session.compact()
        except Refused as refused:
            event(refused.reason)
            assert (session.context().items, session.entries()) == (before, entries)
            return
        self.compacted += 1
        event("a split turn" if len({one.purpose for one in self.provider.requests[asked:]}) == 2 else "whole turns")
        after = session.context().items
        told = [framed(request) for request in self.provider.requests[asked:]]
        shown = Counter(WORD.findall("\n".join(one["conversation"] for one in told)))
        kept = Counter(seen(after))
        assert shown + kept == Counter(seen(before)), "summarised or kept, once"
        assert max((shown + kept).values()) == 1
        tail = [(item.entry_id, item.message) for item in after if said(item.message)]
        whole = [(item.entry_id, item.message) for item in before if said(item.message)]
        assert tail == whole[len(whole) - len(tail) :], "the end, as it was"
        assert session.entries() == (*entries, compacted.entry), "one entry more, and no other touched"
        self._check_previous(before, told, compacted.entry.summary)

    def _check_previous(self, before: Sequence[ContextItem], told: Sequence[dict[str, str]], summary: str) -> None:
        """The summary before goes along: it is updated, or stands in the new one as it is (C6)."""
        previous = [item.message for item in before if isinstance(item.message, CompactionSummaryMessage)]
        assert len(previous) <= 1
        for one in previous:
            mark = SUMMED.findall(one.summary)[-1]
            assert any(mark in request.get("previous-summary", "") for request in told) or mark in summary
        if not previous:
            assert self._earlier.isdisjoint(SUMMED.findall("\n".join(one.get("previous-summary", "") for one in told)))
            assert self._earlier.isdisjoint(SUMMED.findall(summary))
        self._earlier.update(SUMMED.findall(summary))


def said(message: Message) -> bool:
    """Whether it is neither a prompt nor a summary."""
    return not isinstance(message, SystemMessage | CompactionSummaryMessage)


def seen(items: Sequence[ContextItem]) -> list[str]:
    """The words of the messages, each as often as it is there."""
    return [word for item in items if said(item.message) for word in WORD.findall(words(item.message))]


@pytest.mark.slow
@given(
    rounds=ROUNDS,
    keep=st.sampled_from([0, 40, 250, 700, 5_000]),
    room=st.sampled_from([3_000, 30_000]),
)
def test_what_was_seen_is_summarised_or_kept_and_exactly_once(rounds: list[list[Step]], keep: int, room: int) -> None:
    """Where a request takes little the material goes in parts, and that changes nothing."""

    async def main() -> None:
        player = Player()
        settings = budgets(room, keep, enabled=False)
        async with compacting(
            player.provider, model=window(2 * room), settings=settings, tools=[player.look]
        ) as session:
            await player.play(session, rounds)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
