"""A store without a file: a real one, for sessions that need not outlive their process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sapwood.events.codec import decode_envelope
from sapwood.events.entries import Header
from sapwood.events.errors import NotAnEntry, StoreClosed
from sapwood.store.tree import Tree

WHERE: Final = ":memory:"


class MemoryStore:
    """One session's lines in memory."""

    def __init__(self, header: Header, lines: Iterable[bytes] = ()) -> None:
        self._header = header
        self._tree = Tree()
        self._lines: list[bytes] = []
        self._closed = False
        self.append(list(lines))

    @property
    def header(self) -> Header:
        return self._header

    @property
    def tree(self) -> Tree:
        return self._tree

    @property
    def where(self) -> str:
        return WHERE

    @property
    def read_only(self) -> bool:
        return False

    def line(self, index: int) -> bytes:
        if self._closed:
            raise StoreClosed(WHERE)
        return self._lines[index]

    def append(self, lines: Sequence[bytes]) -> None:
        if self._closed:
            raise StoreClosed(WHERE)
        envelopes = [decode_envelope(line) for line in lines]
        ids = [envelope.id for envelope in envelopes]
        for line, envelope in zip(lines, envelopes, strict=True):
            if envelope.id in self._tree or ids.count(envelope.id) > 1:
                raise NotAnEntry(f"the id {envelope.id} is taken", line)
        for line, envelope in zip(lines, envelopes, strict=True):
            self._tree.grow(envelope.type, envelope.id, envelope.parentId)
            self._lines.append(line)

    def close(self) -> None:
        self._closed = True
