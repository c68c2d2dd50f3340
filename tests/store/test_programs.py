"""Any program of appends and reopenings gives the same answers from both stores, and only ever adds to the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.errors import (
    NotAnEntry,
)
from sapwood.store.jsonl import JsonlStore
from sapwood.store.memory import MemoryStore
from tests.build import HEADER
from tests.store.stores import (
    file_of,
    line,
    lines_of,
    opened,
    shape_of,
)

NAMES: Final = st.sampled_from([*"abcdefghij"])


def texted(entry_id: str, parent: str | None, kind: str, text: str) -> bytes:
    return line(entry_id, parent, kind, text=text)


LINES: Final = st.builds(
    texted,
    NAMES,
    st.none() | NAMES | st.just("nowhere"),
    st.sampled_from(["message", "label", "custom", "from.tomorrow"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
STEPS: Final = st.lists(st.just("reopen") | st.lists(LINES | st.just(b"rubbish"), max_size=3), max_size=8)


@pytest.mark.slow
@given(steps=STEPS)
def test_any_program_gives_the_same_in_memory_and_in_a_file(
    steps: list[str | list[bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("program") / "s.jsonl"
    file, memory, content = opened(path), MemoryStore(HEADER), b""
    for step in steps:
        if isinstance(step, str):
            file.close()
            file = opened(path)
        else:
            assert told(file, step) == told(memory, step)
        now = path.read_bytes() if path.exists() else b""
        assert now.startswith(content)
        content = now
        assert (lines_of(file), shape_of(file), file.tree.leaf) == (
            lines_of(memory),
            shape_of(memory),
            memory.tree.leaf,
        )
        assert list(file.tree.children(None)) == list(memory.tree.children(None))
    file.close()
    assert content == (file_of(*lines_of(memory)) if len(memory.tree) else b"")


def told(store: JsonlStore | MemoryStore, lines: Sequence[bytes]) -> str:
    try:
        store.append(lines)
    except NotAnEntry as refusal:
        return str(refusal)
    return "taken"


@pytest.mark.slow
@given(
    there=st.lists(LINES | st.binary(max_size=20), max_size=6),
    tail=st.binary(max_size=10),
    new=st.lists(LINES, min_size=1, max_size=2),
)
def test_whatever_stood_there_stays_as_a_prefix(
    there: list[bytes], tail: bytes, new: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("prefix") / "s.jsonl"
    content = file_of(*there) + tail
    path.write_bytes(content)
    store = opened(path)
    taken = told(store, new) == "taken"
    shown = lines_of(store), shape_of(store)
    store.close()

    assert path.read_bytes().startswith(content)
    assert taken or path.read_bytes() == content
    again = opened(path)
    assert (lines_of(again), shape_of(again)) == shown
    again.close()
