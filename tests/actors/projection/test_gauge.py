"""Sums of a selection that grows and changes: the same as from scratch, and nothing is summed twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.projection.gauge import Gauge
from sapwood.actors.projection.tokens import believable
from sapwood.events.context import SelectedEntry
from sapwood.events.messages import Message
from tests.build import assistant, message_entry, usage, user


def entry(at: int, *messages: Message) -> SelectedEntry:
    return SelectedEntry(at, message_entry(str(at), user()), messages)


SAID = st.sampled_from([(), (user("u"),), (assistant("a", usage=usage(5)),), (assistant("b"), user("c"))])


def tokens(one: SelectedEntry) -> list[int]:
    return [one.place + 1] * len(one.messages)


def test_only_what_is_new_is_counted() -> None:
    gauge, selected, counted = Gauge(), list[SelectedEntry](), list[int]()

    def counting(one: SelectedEntry) -> list[int]:
        counted.append(one.place)
        return tokens(one)

    for at in range(3):
        selected.append(entry(at, user("u")))
        gauge.came(selected)
        assert gauge.total(selected, counting) == sum(range(1, at + 2))

    assert (counted, gauge.counted) == ([0, 1, 2], 3)
    selected[1], before = entry(1), selected[1]
    gauge.changed(selected, 1, before)
    assert gauge.counted == 1
    assert gauge.total(selected, counting) == 4
    assert counted == [0, 1, 2, 1, 2]


@given(st.lists(st.tuples(st.booleans(), SAID, st.integers(0, 20)), max_size=20))
def test_it_is_what_it_would_be_from_scratch(steps: list[tuple[bool, tuple[Message, ...], int]]) -> None:
    gauge, selected = Gauge(), list[SelectedEntry]()
    for grows, messages, place in steps:
        if grows or not selected:
            selected.append(entry(len(selected), *messages))
            gauge.came(selected)
        else:
            at = place % len(selected)
            selected[at], before = entry(at, *messages), selected[at]
            gauge.changed(selected, at, before)
        reports = [at for at, one in enumerate(selected) if any(map(believable, one.messages))]

        assert gauge.total(selected, tokens) == sum(sum(tokens(one)) for one in selected)
        assert gauge.said == sum(len(one.messages) for one in selected)
        assert gauge.report == (reports[-1] if reports else None)
