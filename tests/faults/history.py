"""Histories to take up: the entries of a session, written into a file as the runtime writes them."""

from __future__ import annotations

from pathlib import Path

from sapwood.events.codec import encode_entry
from sapwood.events.content import AssistantBlock
from sapwood.events.entries import (
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    KnownEntry,
    MessageEntry,
    Replacement,
)
from sapwood.events.ids import EntryId
from sapwood.events.messages import StoredMessage
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, TIME, assistant, message_entry, text, user
from tests.faults.logs import lines_of, put


def words_of(tokens: int, word: str = "word") -> str:
    """A text of about so many tokens by the rule of thumb, each of its words this one."""
    return (word + " ") * (4 * tokens // (len(word) + 1))


def compaction(entry_id: str, kept: str | None, parent: EntryId | None = None) -> Compaction:
    """None: nothing is kept."""
    return Compaction(
        id=EntryId(entry_id),
        parent_id=parent,
        timestamp=TIME,
        summary="## Goal\nTo go on",
        first_kept_entry_id=EntryId(entry_id if kept is None else kept),
        tokens_before=1000,
    )


class Log:
    """A session's entries, each under the one before it unless `at` has moved the leaf."""

    def __init__(self) -> None:
        self.entries: list[KnownEntry] = []
        self.leaf: EntryId | None = None

    def add(self, *messages: StoredMessage) -> EntryId:
        for message in messages:
            self._take(message_entry(self._next, message, self.leaf))
        return self.entries[-1].id

    def compact(self, kept: EntryId | None) -> EntryId:
        return self._take(compaction(self._next, kept, self.leaf))

    def edit(self, target: EntryId, content: str | tuple[AssistantBlock, ...] | None) -> EntryId:
        replacement = None if content is None else Replacement(content=content)
        return self._take(
            ContextEdit(
                id=EntryId(self._next),
                parent_id=self.leaf,
                timestamp=TIME,
                target_id=target,
                replacement=replacement,
            )
        )

    def note(self, words: str) -> EntryId:
        """An extension's."""
        return self._take(
            CustomMessageEntry(
                id=EntryId(self._next),
                parent_id=self.leaf,
                timestamp=TIME,
                custom_type="x",
                content=(text(words),),
                display=True,
            )
        )

    def at(self, leaf: EntryId | None) -> EntryId:
        """As a navigation without a summary leaves it (S6)."""
        self.leaf = leaf
        marker = Custom(id=EntryId(self._next), parent_id=leaf, timestamp=TIME, custom_type="sapwood.leaf")
        return self._take(marker)

    def turns(self, count: int, tokens: int = 0) -> list[EntryId]:
        """So many questions and answers, of about so many tokens together each: the ids of the questions."""
        asked: list[EntryId] = []
        for _ in range(count):
            asked.append(self.add(user(f"question {self._next} {words_of(tokens // 2)}".rstrip())))
            self.add(assistant(f"answer {self._next} {words_of(tokens // 2)}".rstrip()))
        return asked

    def write(self, path: Path) -> Path:
        return put(path, lines_of(self.entries))

    def store(self) -> MemoryStore:
        """The same in memory."""
        return MemoryStore(HEADER, map(encode_entry, self.entries))

    @property
    def messages(self) -> list[StoredMessage]:
        return [entry.message for entry in self.entries if isinstance(entry, MessageEntry)]

    def _take(self, entry: KnownEntry) -> EntryId:
        self.entries.append(entry)
        self.leaf = entry.id
        return entry.id

    @property
    def _next(self) -> str:
        return f"{len(self.entries):08x}"
