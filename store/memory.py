"""A store without a file: a real one, for sessions that need not outlive their process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sapwood.events.codec import Envelope
from sapwood.events.damage import Damage
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
        self._staged: tuple[Sequence[bytes], Sequence[Envelope]] = (), ()
        kept = list(lines)
        self._staged = kept, admit(kept, self._tree)
        self.commit()

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
        return self._header.is_later

    @property
    def lines(self) -> Sequence[bytes]:
        """All that is in it now, in order: also when it is closed, for whoever goes on with it in another one."""
        return tuple(self._lines)

    def line(self, index: int) -> bytes:
        self._check_open()
        if index < 0:
            raise IndexError(index)
        return self._lines[index]

    @property
    def damage(self) -> Sequence[Damage]:
        return ()

    def refresh(self) -> None:
        self._check_open()

    def append(self, lines: Sequence[bytes]) -> None:
        self.stage(lines)
        self.commit()

    def stage(self, lines: Sequence[bytes]) -> None:
        self._refuse_writing()
        self._staged = lines, admit(lines, self._tree)

    def sync(self) -> None:
        """As lasting as it gets: there is no medium."""
        self._check_open()

    def commit(self) -> None:
        lines, envelopes = self._staged
        self._staged = (), ()
        self._lines.extend(lines)
        self._tree.extend(envelopes)

    def discard(self) -> None:
        self._staged = (), ()

    def restore(self) -> str | None:
        self._refuse_writing()
        return None

    def close(self) -> None:
        self.discard()
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(WHERE)

    def _refuse_writing(self) -> None:
        self._check_open()
        if self.read_only:
            raise NewerVersion(WHERE, self._header.version, SESSION_VERSION)
