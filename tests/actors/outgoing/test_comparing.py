"""Reports of requests beside our counts of them (T4): each answer once, by what its own path had sent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing.comparing import Comparison
from sapwood.actors.outgoing.sending import unsent
from sapwood.actors.projection.counter import heuristic
from sapwood.actors.projection.counts import Counts, Key
from sapwood.actors.projection.fold import Fold
from sapwood.actors.projection.tokens import believable
from sapwood.events.entries import Entry, MessageEntry
from sapwood.events.errors import CannotOpen
from sapwood.events.failures import REQUEST_CHANGED
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, Usage
from sapwood.events.stats import Compared, CounterCheck
from tests.actors.projection.logs import KINDS, Log, compaction, edit
from tests.build import assistant, call, message_entry, result, usage, user

MODEL = "scripted/talker"


def compared(log: Log) -> CounterCheck:
    return Comparison(log.view, Counts()).counting()


def talk(*messages: Any) -> Log:
    """These messages in a row, called m0, m1, …"""
    log = Log()
    for n, message in enumerate(messages):
        log.add(message_entry(f"m{n}", message, f"m{n - 1}" if n else None), pull=False)
    return log


def reported(tokens: int, words: str = "yes!", **more: Any) -> AssistantMessage:
    return assistant(words, usage=usage(tokens), **more)


def test_nothing_is_compared_where_nothing_was_reported() -> None:
    assert compared(Log()) == CounterCheck()
    assert compared(talk(user("four"), assistant("yes"))) == CounterCheck()


def test_each_answer_is_compared_with_all_that_was_sent_for_it() -> None:
    """The second request has the first answer in it: 1, and then 1 + 1 + 1."""
    log = talk(user("four"), reported(3), user("four"), reported(5))

    assert compared(log) == CounterCheck(
        counter="heuristic", by_model={MODEL: Compared(answers=2, reported=8, counted=4)}
    )
    assert compared(log).by_model[MODEL].ratio == 2.0


def test_tokens_of_a_cache_are_of_the_request_and_those_of_the_answer_are_not() -> None:
    answer = assistant("yes", usage=Usage(input=1, output=50, cache_read=2, cache_write=4))

    assert compared(talk(user("four"), answer)).by_model[MODEL].reported == 7


def test_models_are_told_apart() -> None:
    log = talk(user("four"), reported(3), user("four"), reported(5, model="other"))

    assert {model: one.reported for model, one in compared(log).by_model.items()} == {
        MODEL: 3,
        "scripted/other": 5,
    }


@pytest.mark.parametrize(
    "answer",
    [
        reported(9, stop="aborted"),
        reported(9, stop="error", error="no"),
        assistant("yes"),
        assistant("yes", usage=Usage(input=-4, output=9, cache_read=0, cache_write=0)),
        assistant("yes", usage=Usage(input=0, output=9, cache_read=0, cache_write=0)),
        msgspec.structs.replace(reported(9), diagnostics=[{"type": REQUEST_CHANGED}]),
    ],
)
def test_what_cannot_be_believed_is_left_out(answer: AssistantMessage) -> None:
    assert compared(talk(user("four"), answer)) == CounterCheck()


def test_an_answer_to_nothing_is_left_out() -> None:
    assert compared(talk(reported(9))) == CounterCheck()


def test_what_does_not_go_out_is_not_counted() -> None:
    """A failed attempt and the result of its call stay in the log: P5 keeps both from the request."""
    failed = assistant("I begin", call("c1"), stop="error", error="overloaded")
    log = talk(user("four"), failed, result("c1", "four" * 100), reported(3))

    assert compared(log).by_model[MODEL] == Compared(answers=1, reported=3, counted=1)


def test_behind_a_compaction_the_request_is_the_summary_and_what_it_keeps() -> None:
    log = talk(user("four" * 100), reported(300), user("four"))
    log.add(compaction("c001", "m2", "m2"), pull=False)
    log.add(message_entry("m3", reported(4), "c001"), pull=False)

    assert compared(log).by_model[MODEL] == Compared(answers=2, reported=304, counted=102)


def test_an_edit_counts_for_requests_that_come_behind_it_and_not_for_those_before() -> None:
    log = talk(user("four" * 100), reported(300))
    log.add(edit("e1", "m1", "m0", "four"), pull=False)
    log.add(message_entry("m2", reported(4), "e1"), pull=False)

    assert compared(log).by_model[MODEL] == Compared(answers=2, reported=304, counted=102)


def test_another_branch_is_not_in_the_request() -> None:
    log = talk(user("four"), reported(3), user("four" * 100), reported(200))
    log.add(message_entry("n2", user("four"), "m1"), pull=False)
    log.add(message_entry("n3", reported(4), "n2"), pull=False)

    assert compared(log).by_model[MODEL] == Compared(answers=3, reported=207, counted=1 + 102 + 3)


class Watched(Counts):
    """The entries that were counted, each time that they were."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def of(self, key: Key, messages: Any) -> tuple[int, ...]:
        self.asked.append(key[0])
        return super().of(key, messages)


def test_who_asks_again_pays_for_what_came_since() -> None:
    log = talk(user("four"), reported(3), user("four"))
    counts = Watched()
    comparison = Comparison(log.view, counts)
    assert counts.asked == []  # nobody has asked
    comparison.counting()
    before = len(counts.asked)
    assert comparison.counting() == comparison.counting()
    assert len(counts.asked) == before

    log.add(message_entry("m3", reported(5), "m2"), pull=False)

    assert comparison.counting() == compared(log)
    assert counts.asked[before:] == ["m3"]


def test_a_log_that_cannot_be_read_for_a_moment_is_gone_on_with() -> None:
    log = talk(user("four"), reported(3), user("four"), reported(5))
    comparison, entry, left = Comparison(log.view, Counts()), log.view.entry, [3]

    def failing(index: int) -> Entry:
        left[0] -= 1
        if left[0] < 0:
            raise CannotOpen("s.jsonl", OSError(5, "no"))
        return entry(index)

    log.view.entry = failing  # type: ignore[method-assign]
    with pytest.raises(CannotOpen):
        comparison.counting()
    log.view.entry = entry  # type: ignore[method-assign]

    assert comparison.counting() == compared(log)


def test_a_lost_entry_that_shows_its_parent_changes_what_was_sent() -> None:
    log = talk(user("four"))
    log.add(message_entry("x", user("four"), "lost"), pull=False)
    log.add(message_entry("y", reported(4), "x"), pull=False)
    comparison = Comparison(log.view, Counts())
    assert comparison.counting().by_model[MODEL].counted == 1

    log.view.tree.bridge([("lost", "m0")])

    assert comparison.counting().by_model[MODEL].counted == 2


def slowly(log: Log) -> dict[str, Compared]:
    """The same by the rule alone: each answer's path is folded from nothing."""
    sums: dict[str, Compared] = {}
    for place in range(len(log.view)):
        entry = log.view.entry(place)
        if not isinstance(entry, MessageEntry) or believable(entry.message) is None:
            continue
        fold, parent = Fold(log.view), log.view.tree.parent(place)
        if parent is not None:
            fold.select(parent)
        messages = fold.selection().messages
        counted = sum(heuristic(one) for one, why in zip(messages, unsent(messages), strict=True) if why is None)
        if counted:
            one = Compared(answers=1, reported=place + 1, counted=counted)
            sums[MODEL] = sums.get(MODEL, Compared()) + one
    return sums


ANSWER = len(KINDS)
STEPS = st.lists(
    st.tuples(
        st.one_of(st.just(ANSWER), st.integers(0, len(KINDS))), st.integers(0, 30), st.integers(0, 30), st.booleans()
    ),
    max_size=25,
)
"""(kind, the last one an answer with a report; steps back to the parent, to the target; whether somebody asks)"""


@given(STEPS)
def test_asked_at_any_time_it_is_what_it_is_from_nothing(steps: list[tuple[int, int, int, bool]]) -> None:
    log = Log()
    comparison = Comparison(log.view, Counts())
    for n, (kind, back, target_back, asks) in enumerate(steps):
        parent = None if n == 0 or back == 30 else EntryId(f"e{n - 1 - (max(0, back - 20) % n)}")
        if kind == ANSWER:
            stop: Any = "error" if target_back % 5 == 0 else "stop"
            log.add(message_entry(f"e{n}", reported(n + 1, stop=stop), parent), pull=False)
        else:
            log.add(KINDS[kind](f"e{n}", parent, EntryId(f"e{max(0, n - target_back)}")), pull=False)
        if asks:
            assert comparison.counting().by_model == slowly(log)

    assert comparison.counting().by_model == slowly(log)
