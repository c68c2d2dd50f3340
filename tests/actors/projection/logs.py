"""Sessions in memory and the folds of them: builders for the tests of what the model sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from hypothesis import strategies as st

from sapwood.actors.projection.fold import Fold
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.entries import (
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    Entry,
    Label,
    ModelChange,
    Replacement,
    ThinkingLevelChange,
)
from sapwood.events.ids import EntryId
from sapwood.events.messages import BranchSummaryMessage, CompactionSummaryMessage, Message, SystemMessage
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, TIME, assistant, message_entry, system, usage, user, words


def said(message: Message) -> str:
    """A message as one short word."""
    match message:
        case CompactionSummaryMessage(summary=summary) | BranchSummaryMessage(summary=summary):
            return f"[{summary}]"
        case SystemMessage(sections=sections):
            return f"system {sorted(sections or {})}"
        case _:
            return words(message)


class Log:
    """A session in memory, and a fold that pulls after each entry."""

    def __init__(self) -> None:
        self.store = MemoryStore(HEADER)
        self.view = View(self.store)
        self.fold = Fold(self.view)

    def add(self, entry: Entry, *, pull: bool = True) -> None:
        self.store.append([encode_entry(entry)])
        if pull:
            self.fold.pull()

    def say(self, name: str, parent: str | None, *, pull: bool = True, **more: int) -> None:
        message = assistant(name, usage=usage(more["tokens"])) if more else user(name)
        self.add(message_entry(name, message, parent), pull=pull)

    @property
    def seen(self) -> list[str]:
        self.fold.pull()
        return [said(message) for message in self.fold.context().messages]

    @property
    def from_scratch(self) -> Fold:
        fold = Fold(self.view)
        fold.pull()
        return fold


def compaction(name: str, parent: str | None, kept: str, *, prompt: SystemMessage | None = None) -> Compaction:
    return Compaction(
        id=EntryId(name),
        parent_id=None if parent is None else EntryId(parent),
        timestamp=TIME,
        summary=name,
        first_kept_entry_id=EntryId(kept),
        tokens_before=1,
        system_message=prompt,
    )


def edit(name: str, parent: str, target: str, content: str | None) -> ContextEdit:
    replacement = None if content is None else Replacement(content=content)
    return ContextEdit(
        id=EntryId(name), parent_id=EntryId(parent), timestamp=TIME, target_id=EntryId(target), replacement=replacement
    )


def watched(log: Log) -> list[int]:
    """The entries that are read from now on."""
    decoded: list[int] = []
    entry = log.view.entry

    def watching(index: int) -> Entry:
        decoded.append(index)
        return entry(index)

    log.view.entry = watching  # type: ignore[method-assign]
    return decoded


def chain(*names: str) -> Log:
    log = Log()
    for parent, name in zip([None, *names], names, strict=False):
        log.say(name, parent)
    return log


Make = Callable[[str, EntryId | None, EntryId], Entry]
"""An entry by its id, its parent, and another entry that it may point at."""
KINDS: Final[Sequence[Make]] = [
    lambda name, parent, _: msgspec.structs.replace(message_entry(name, user(name)), parent_id=parent),
    lambda name, parent, _: msgspec.structs.replace(message_entry(name, assistant(name)), parent_id=parent),
    lambda name, parent, _: msgspec.structs.replace(message_entry(name, system(x=name)), parent_id=parent),
    lambda name, parent, target: msgspec.structs.replace(compaction(name, None, target), parent_id=parent),
    lambda name, parent, target: msgspec.structs.replace(edit(name, "x", target, "edited"), parent_id=parent),
    lambda name, parent, target: msgspec.structs.replace(edit(name, "x", target, None), parent_id=parent),
    lambda name, parent, _: Custom(id=EntryId(name), parent_id=parent, timestamp=TIME, custom_type="sapwood.leaf"),
    lambda name, parent, target: Label(
        id=EntryId(name), parent_id=parent, timestamp=TIME, target_id=target, label="here"
    ),
    lambda name, parent, _: BranchSummary(
        id=EntryId(name), parent_id=parent, timestamp=TIME, from_id="root", summary=name
    ),
    lambda name, parent, _: CustomMessageEntry(
        id=EntryId(name), parent_id=parent, timestamp=TIME, custom_type="n", content=name, display=True
    ),
    lambda name, parent, _: ModelChange(
        id=EntryId(name), parent_id=parent, timestamp=TIME, provider="p", model_id=name
    ),
    lambda name, parent, _: ThinkingLevelChange(
        id=EntryId(name), parent_id=parent, timestamp=TIME, thinking_level=name
    ),
]
"""One of each kind that means something to the model, and of some that do not."""

STEPS = st.lists(
    st.tuples(st.integers(0, len(KINDS) - 1), st.integers(0, 30), st.integers(0, 30), st.booleans()), max_size=25
)
"""(kind, steps back to the parent, steps back to the target, whether the fold pulls)"""
