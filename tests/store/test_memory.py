"""The store without a file, beyond what `test_port.py` holds it to."""

from __future__ import annotations

import time

import pytest

from sapwood.events.entries import Header
from sapwood.events.errors import NewerVersion, NotAnEntry, StoreClosed
from sapwood.events.ids import SessionId
from sapwood.store.memory import WHERE, MemoryStore
from tests.build import HEADER, TIME
from tests.store.stores import ids_of, line, lines_of


def test_it_begins_with_the_lines_that_it_is_given() -> None:
    lines = [line("a"), line("b", "a"), line("c", "nowhere")]
    store = MemoryStore(HEADER, iter(lines))

    assert lines_of(store) == lines
    assert (store.header, store.where, store.read_only) == (HEADER, WHERE, False)
    assert store.tree.detached(2)


def test_it_does_not_begin_with_lines_that_are_none() -> None:
    with pytest.raises(NotAnEntry, match="the id a is taken"):
        MemoryStore(HEADER, [line("a"), line("a")])


def test_a_later_version_is_for_reading_only() -> None:
    store = MemoryStore(Header(version=4, id=SessionId("s"), timestamp=TIME), [line("a")])

    assert store.read_only
    with pytest.raises(NewerVersion) as caught:
        store.append([line("b", "a")])
    assert (caught.value.version, caught.value.known) == (4, 3)
    assert ids_of(store) == ["a"]


def test_a_closed_store_gives_nothing_and_takes_nothing() -> None:
    store = MemoryStore(HEADER, [line("a")])
    store.close()

    with pytest.raises(StoreClosed):
        store.line(0)
    with pytest.raises(StoreClosed):
        store.append([])


def test_a_long_append_takes_time_in_proportion() -> None:
    """This used to count each id among all of its append's: 10,000 lines took a second."""
    lines = [line(f"{number:08x}") for number in range(10_000)]
    store = MemoryStore(HEADER)
    started = time.process_time()
    store.append(lines)

    assert time.process_time() - started < 0.5
    assert len(store.tree) == 10_000
