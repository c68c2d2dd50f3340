"""The model and the thinking level that a path was last on (P7)."""

from __future__ import annotations

import pytest

from sapwood.actors.projection.last_chosen import last_model, last_thinking_level
from sapwood.actors.readable import Readable
from sapwood.events.entries import Entry, ModelChange, ThinkingLevelChange
from sapwood.events.ids import EntryId
from sapwood.store.tree import Tree
from tests.actors.projection.logs import Log
from tests.build import TIME, assistant, message_entry, user


class Reading:
    """A log that keeps which entries were read."""

    def __init__(self, readable: Readable) -> None:
        self._readable = readable
        self.read: list[int] = []

    def __len__(self) -> int:
        return len(self._readable)

    @property
    def tree(self) -> Tree:
        return self._readable.tree

    def entry(self, index: int) -> Entry:
        self.read.append(index)
        return self._readable.entry(index)


def made(words: str) -> Reading:
    """One entry a word: `u` user, `a:m` an answer of that model, `m:m` a change of the model, `t:x` one of the thinking level."""
    log = Log()
    parent: str | None = None
    for at, word in enumerate(words.split()):
        kind, _, value = word.partition(":")
        name, above = EntryId(f"e{at}"), None if parent is None else EntryId(parent)
        match kind:
            case "u":
                log.add(message_entry(name, user(), parent))
            case "a":
                log.add(message_entry(name, assistant("x", provider="p", model=value), parent))
            case "m":
                log.add(ModelChange(id=name, parent_id=above, timestamp=TIME, provider="q", model_id=value))
            case _:
                log.add(ThinkingLevelChange(id=name, parent_id=above, timestamp=TIME, thinking_level=value))
        parent = name
    return Reading(log.view)


@pytest.mark.parametrize(
    ("words", "model", "read"),
    [
        ("", None, []),
        ("u t:high", None, [0]),
        ("a:one u", ("p", "one"), [1, 0]),
        ("m:two u", ("q", "two"), [1, 0]),
        ("m:two a:one", ("p", "one"), [1]),
        ("a:one m:two t:low", ("q", "two"), [1]),
    ],
)
def test_the_model_is_that_of_the_last_change_or_answer(
    words: str, model: tuple[str, str] | None, read: list[int]
) -> None:
    log = made(words)

    assert last_model(log, range(len(log))) == model
    assert log.read == read


@pytest.mark.parametrize(
    ("words", "level", "read"),
    [
        ("", "off", []),
        ("u a:one", "off", []),
        ("t:low t:high u a:one", "high", [1]),
        ("t:low u", "low", [0]),
    ],
)
def test_the_thinking_level_is_that_of_the_last_change(words: str, level: str, read: list[int]) -> None:
    log = made(words)

    assert last_thinking_level(log, range(len(log))) == level
    assert log.read == read


def test_only_the_path_counts() -> None:
    log = made("m:one t:low m:two t:high")

    assert last_model(log, [0, 1]) == ("q", "one")
    assert last_thinking_level(log, [0, 1]) == "low"
