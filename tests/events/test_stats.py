"""The shape of what a session has cost."""

from __future__ import annotations

import msgspec

from sapwood.events.stats import NO_BILL, Billed, Compared, CounterCheck, SessionStats, Spent


def test_they_have_a_json_form_and_come_back() -> None:
    stats = SessionStats(entries=2, spent=Spent(calls=1, cache_read=3), by_model={"p/m": Spent(calls=1)})

    assert msgspec.to_builtins(stats) == {
        "entries": 2,
        "spent": {"calls": 1, "cacheRead": 3},
        "byModel": {"p/m": {"calls": 1}},
    }
    assert msgspec.convert(msgspec.to_builtins(stats), SessionStats) == stats
    assert SessionStats().by_model is not SessionStats().by_model


def test_bills_are_added_key_by_key() -> None:
    one = Billed(spent=Spent(calls=1), by_model={"a": Spent(calls=1)}, by_purpose={"turn": Spent(calls=1)})
    two = Billed(spent=Spent(calls=3), by_model={"a": Spent(calls=2), "b": Spent(calls=1)})

    assert one + two == Billed(
        spent=Spent(calls=4),
        by_model={"a": Spent(calls=3), "b": Spent(calls=1)},
        by_purpose={"turn": Spent(calls=1)},
    )
    assert one + NO_BILL == one
    assert Billed() == NO_BILL


def test_requests_are_added_and_stand_to_each_other() -> None:
    both = Compared(answers=1, reported=3, counted=4) + Compared(answers=2, reported=6, counted=2)

    assert both == Compared(answers=3, reported=9, counted=6)
    assert both.ratio == 1.5
    assert Compared(reported=1).ratio is None
    assert CounterCheck().by_model is not CounterCheck().by_model


def test_what_was_spent_in_all_is_the_tokens_of_all_four_kinds() -> None:
    assert Spent(calls=1, input=1, output=10, cache_read=100, cache_write=1_000, cost=None, unpriced=0).total == 1_111
