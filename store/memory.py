"""A store without a file: a real one, for sessions that need not outlive their process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sapwood.events.entries import SESSION_VERSION, Header
from sapwood.events.errors import NewerVersion, StoreClosed
from sapwood.store.admitting import admit
from sapwood.store.tree import Tree

WHERE: Final = ":memory:"


class MemoryStore:
    """One session's lines in memory. `NotAnEntry` if one of those that it begins with is none."""

    def __init__(self, header: Header, lines: Iterable[bytes] = ()) -> None:
        self._header = header
        self._tree = Tree()
        self._lines: list[bytes] = []
        self._closed = False
        self._take(list(lines))

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
        return self._header.version > SESSION_VERSION

    def line(self, index: int) -> bytes:
        if self._closed:
            raise StoreClosed(WHERE)
        if index < 0:
            raise IndexError(index)
        return self._lines[index]

    def append(self, lines: Sequence[bytes]) -> None:
        if self._closed:
            raise StoreClosed(WHERE)
        if self.read_only:
            raise NewerVersion(WHERE, self._header.version, SESSION_VERSION)
        self._take(lines)

    def close(self) -> None:
        self._closed = True

    def _take(self, lines: Sequence[bytes]) -> None:
        envelopes = admit(lines, self._tree)
        self._lines.extend(lines)
        self._tree.extend(envelopes)
