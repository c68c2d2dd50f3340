"""Sessions that are made for a story."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.codec import encode_entry
from sapwood.events.content import ToolCall
from sapwood.events.entries import MessageEntry
from sapwood.events.messages import AssistantMessage, ToolResultMessage, UserMessage
from sapwood.scenario.generating import entries_of
from sapwood.scenario.language import DEFAULT_MODEL, Generated
from sapwood.store.memory import MemoryStore
from tests.build import HEADER


@st.composite
def asked(draw: st.DrawFn) -> Generated:
    turns = draw(st.integers(0, 12))
    return Generated(
        turns=turns,
        calls=draw(st.integers(0, 3)),
        words=draw(st.integers(0, 5)),
        branches=draw(st.integers(0, turns)),
        seed=draw(st.integers(0, 2**40)),
    )


@given(asked())
def test_it_has_what_was_asked_for_and_is_the_same_each_time(wanted: Generated) -> None:
    entries = entries_of(wanted, DEFAULT_MODEL)
    tree = MemoryStore(HEADER, map(encode_entry, entries)).tree

    assert entries_of(wanted, DEFAULT_MODEL) == entries
    path = [entries[place] for place in tree.path(tree.leaf)]
    said = [entry.message for entry in path if isinstance(entry, MessageEntry)]
    assert sum(isinstance(one, UserMessage) for one in said) == wanted.turns
    assert len(said) == wanted.turns * (2 + 2 * wanted.calls)
    left = [place for place in range(len(entries)) if not tree.children(place)]
    assert len(left) == wanted.branches + (wanted.turns > 0)
    for question in (one for one in said if isinstance(one, UserMessage)):
        assert len(str(question.content).split()) == max(wanted.words, 1), "a dot is a word where there is none"


@given(asked())
def test_each_call_has_its_result_behind_it(wanted: Generated) -> None:
    entries = entries_of(wanted, DEFAULT_MODEL)
    for at, entry in enumerate(entries):
        assert isinstance(entry, MessageEntry)
        if isinstance(entry.message, AssistantMessage) and isinstance(call := entry.message.content[0], ToolCall):
            result = entries[at + 1]
            assert isinstance(result, MessageEntry)
            assert isinstance(result.message, ToolResultMessage)
            assert (result.parent_id, result.message.tool_call_id) == (entry.id, call.id)


@pytest.mark.parametrize("other", [Generated(turns=3, seed=1), Generated(turns=3, words=13), Generated(turns=4)])
def test_other_numbers_give_another_one(other: Generated) -> None:
    assert entries_of(other, DEFAULT_MODEL) != entries_of(Generated(turns=3), DEFAULT_MODEL)
