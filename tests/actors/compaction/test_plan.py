"""What a compaction would summarise and what it would keep (C5 to C7, C14)."""

from __future__ import annotations

import attrs
import msgspec
import pytest

from sapwood.actors.compaction.plan import Plan, plan
from sapwood.events.context import SelectedEntry, Surveyed
from sapwood.events.errors import Refused
from sapwood.events.messages import Message
from tests.actors.compaction.selected import survey
from tests.build import text, user, words

ALREADY = ("already-compacted", "Already compacted")
TOO_SMALL = ("nothing-to-do", "Nothing to compact (session too small)")


def planned(line: str, keep: int) -> Plan:
    made = plan(survey(line), keep)
    assert isinstance(made, Plan)
    return made


def refused(surveyed: Surveyed, keep: int) -> tuple[str, str]:
    made = plan(surveyed, keep)
    assert isinstance(made, Refused)
    return made.reason, str(made)


def shown(messages: tuple[Message, ...]) -> str:
    return " ".join(map(words, messages))


def test_what_comes_before_the_cut_is_summarised_but_for_the_prompt() -> None:
    made = planned("s9 u10 a10 s9 u10 a10", 20)

    assert (shown(made.history), made.turn_prefix, made.is_split) == ("u1 a2", (), False)
    assert (made.first_kept, [one.entry.id for one in made.kept]) == ("4", ["4", "5"])
    assert (made.previous, made.request, made.thinking_level) == (None, None, "off")


def test_what_is_summarised_has_all_its_entries_with_the_hidden_ones_and_the_compaction_before() -> None:
    made = planned("c5 h0 e0 u10 a10 u10 a10", 20)

    assert [one.entry.id for one in made.summarised] == ["0", "1", "2", "3", "4"]


def test_a_turn_that_is_split_has_its_beginning_apart() -> None:
    made = planned("u10 a10 u10 a30 a30 a30", 50)

    assert (shown(made.history), shown(made.turn_prefix), made.is_split) == ("u0 a1", "u2 a3", True)
    assert (made.first_kept, made.request) == ("4", "u2")


def test_a_split_turn_with_nothing_before_it_has_no_history() -> None:
    made = planned("u10 a30 a30 a30", 50)

    assert (made.history, shown(made.turn_prefix), made.is_split) == ((), "u0 a1", True)


def test_it_begins_behind_the_compaction_that_speaks_and_takes_its_summary_along() -> None:
    made = planned("c5 u10 a10 u10 a10", 20)

    assert (shown(made.history), made.first_kept) == ("u1 a2", "3")
    assert made.previous is not None
    assert (made.previous.id, made.previous.summary) == ("0", "before")


def test_a_compaction_that_was_hidden_does_not_speak() -> None:
    surveyed = survey("c5 u10 a10 u10 a10")
    head, *rest = surveyed.entries
    hidden = msgspec.structs.replace(surveyed, entries=(SelectedEntry(head.place, head.entry, ()), *rest))

    made = plan(hidden, 20)

    assert isinstance(made, Plan)
    assert (made.previous, shown(made.history)) == (None, "u1 a2")


def test_the_size_before_it_is_the_measured_one_and_the_level_the_sessions() -> None:
    surveyed = msgspec.structs.replace(survey("u10 a10 u10 a10", reported=77), thinking_level="high")

    made = plan(surveyed, 20)

    assert isinstance(made, Plan)
    assert (made.tokens_before, made.thinking_level) == (77, "high")


@pytest.mark.parametrize("behind", ["", "l", "l l"])
def test_a_compaction_with_nothing_but_bookkeeping_behind_it_is_not_done_again(behind: str) -> None:
    assert refused(survey(f"c5 {behind}"), 0) == ALREADY


@pytest.mark.parametrize("behind", ["l", ""])
def test_what_a_compaction_kept_is_no_news(behind: str) -> None:
    kept = survey(f"c5 u10 a10 u10 a10 {behind}")
    head, *rest = kept.entries
    moved = SelectedEntry(5, head.entry, head.messages)
    surveyed = msgspec.structs.replace(
        kept, entries=(moved, *(msgspec.structs.replace(one, place=one.place + (one.place > 4) * 9) for one in rest))
    )

    assert refused(surveyed, 10) == ALREADY


@pytest.mark.parametrize("news", ["u1", "a1", "x", "e"])
def test_whatever_else_comes_behind_it_is_news(news: str) -> None:
    made = plan(survey(f"c5 {news}"), 0)

    assert not isinstance(made, Refused) or made.reason != "already-compacted"


@pytest.mark.parametrize(
    ("line", "keep"), [("", 0), ("l", 0), ("s9", 0), ("u10 a10", 21), ("s9 u10 a10", 99), ("s9 u10", 5), ("c5 u9", 99)]
)
def test_what_would_all_be_kept_is_too_small(line: str, keep: int) -> None:
    assert refused(survey(line), keep) == TOO_SMALL


def test_a_request_is_the_text_of_the_first_user_in_the_beginning_of_the_turn() -> None:
    made = planned("u10 a30 a30 a30", 50)
    answer = made.turn_prefix[1]

    def request(*prefix: Message) -> str | None:
        return attrs.evolve(made, turn_prefix=prefix).request

    assert request(answer, user("one"), user("two")) == "one"
    assert request(user((text("a"), text("b")))) == "ab"
    assert request(user(""), user("two")) is None
    assert request(answer) is None
