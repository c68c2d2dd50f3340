"""Sums of a selection that grows and changes: the same as from scratch, and nothing is summed twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.projection.gauge import Gauge
from sapwood.actors.projection.tokens import Report, believable
from sapwood.events.context import SelectedEntry
from sapwood.events.messages import Message, Usage
from tests.build import assistant, message_entry, usage, user


def entry(at: int, *messages: Message) -> SelectedEntry:
    return SelectedEntry(at, message_entry(str(at), user()), messages)


SAID = st.sampled_from(
    [
        (),
        (user("u"),),
        (assistant("a", usage=usage(5)),),
        (assistant("b"), user("c")),
        (assistant("a", usage=usage(5)), user("d")),
    ]
)


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


def test_only_what_came_behind_a_report_is_counted_and_once() -> None:
    gauge, selected, counted = Gauge(), list[SelectedEntry](), list[int]()

    def counting(one: SelectedEntry) -> list[int]:
        counted.append(one.place)
        return tokens(one)

    messages: list[Message] = [user("u"), assistant("a", usage=usage(5)), user("u"), user("u")]
    for at, said in enumerate(messages):
        selected.append(entry(at, said))
        gauge.came(selected)
        if at > 0:
            assert [one.place for one in gauge.uncounted_behind(selected)] == [at] * (at > 1)
            assert gauge.behind(selected, counting) == sum(range(3, at + 2))

    assert counted == [2, 3]
    selected[3], before = entry(3), selected[3]
    gauge.changed(selected, 3, before)
    assert gauge.behind(selected, counting) == 3


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
        said = [(one, message) for one in selected for message in one.messages]
        reports = [at for at, (_, message) in enumerate(said) if believable(message)]

        assert gauge.total(selected, tokens) == sum(sum(tokens(one)) for one in selected)
        assert gauge.said == sum(len(one.messages) for one in selected)
        report = gauge.report(selected)
        if report is None:
            assert not reports
            with pytest.raises(ValueError, match="nothing is reported"):
                gauge.behind(selected, tokens)
            continue
        own, following = said[reports[-1]][0], said[reports[-1] + 1 :]
        assert report == Report(place=own.place, asked=report.asked, usage=usage(5), following=len(following))
        late = [one for one, _ in following if one is own]
        counted = [one.place for one in gauge.uncounted_behind(selected)]
        assert set(counted) <= {one.place for one in selected[own.place :]}
        assert gauge.behind(selected, tokens) == sum(one.place + 1 for one, _ in following)
        assert [one.place for one in gauge.uncounted_behind(selected)] == [own.place] * bool(late)


def test_of_many_edits_none_looks_at_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand entries and three thousand edits took forty seconds."""
    looked: list[Message] = []

    def looking(message: Message) -> Usage | None:
        looked.append(message)
        return believable(message)

    monkeypatch.setattr("sapwood.actors.projection.gauge.believable", looking)
    gauge, selected = Gauge(), [entry(at, user("u")) for at in range(50)]
    for at in range(50):
        gauge.came(selected[: at + 1])
    for at in range(50):
        before, selected[at] = selected[at], entry(at, user("v"))
        gauge.changed(selected, at, before)

    assert gauge.said == 50
    assert len(looked) == 100, "each as it came, and as it was changed"
