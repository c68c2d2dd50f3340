"""One session, one append-only file in Pi's format: the embedded default.

1. Opening and reading write nothing; a new session's file appears with its first entries (S4).
2. An append is behind the old content, or nowhere; `growing` sees to that.
3. A line that is no entry stays where it is and is remembered in `unread`.
4. A version 1 file is never written: its first append goes to a version 3 session beside it (S3).
"""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable, Container, Sequence
from typing import Final

import attrs
import msgspec

from sapwood.events.codec import Envelope, encode_entry, encode_header
from sapwood.events.entries import FORK_MARKER, SESSION_VERSION, Custom, Header
from sapwood.events.errors import CannotOpen, CannotWrite, NewerVersion, NotAnEntry, NotASession, StoreClosed
from sapwood.events.ids import EntryId
from sapwood.events.unknown_fields import without_line
from sapwood.store.admitting import admit
from sapwood.store.disk import Disk
from sapwood.store.growing import GrowingFile
from sapwood.store.scan import Scanned, Unread, scan
from sapwood.store.tree import Tree
from sapwood.store.upcast import from_version_1, from_version_2

NewId = Callable[[Container[str]], EntryId]

MOST_COPIES: Final = 1000
"""Version 3 sessions beside one version 1 file: each is an append that somebody made without seeing the ones before."""


@attrs.frozen(kw_only=True)
class Makers:
    """Where a store gets what is new: handed in, so that a store knows no clock and no chance."""

    header: Callable[[], Header]
    entry_id: NewId
    now: Callable[[], str]


def open_jsonl(
    path: str | os.PathLike[str],
    *,
    disk: Disk,
    new: Callable[[], Header],
    new_id: NewId,
    now: Callable[[], str],
) -> JsonlStore:
    """Open a session's file; a missing or an empty one is a new session, which is written with its first append.

    Args:
        path: the file. A relative one is taken from the present folder, for as long as the store is open.
        disk: the system calls.
        new: makes the header of a session that begins now.
        new_id: makes an entry's id that is not among those given.
        now: the time as entries bear it.

    Raises `NotASession` (no header; the file is untouched) and `CannotOpen`, for a folder, a pipe or a device too.
    """
    return JsonlStore(os.fspath(path), disk, Makers(header=new, entry_id=new_id, now=now))


class JsonlStore:
    """An open session file. Made by `open_jsonl`."""

    def __init__(self, path: str, disk: Disk, makers: Makers) -> None:
        self._disk = disk
        self._makers = makers
        self._closed = False
        self._path = path
        self._file = GrowingFile(path, disk)
        try:
            data = self._open(path)
            self._held = _indexed(data) if data else Scanned(makers.header())
        except NotAnEntry as error:
            self.close()
            raise NotASession(path) from error
        except BaseException:
            self.close()
            raise
        self._headless = not data
        """Whether the header is still to be written."""

    @property
    def header(self) -> Header:
        return self._held.header

    @property
    def tree(self) -> Tree:
        return self._held.tree

    @property
    def where(self) -> str:
        return self._path

    @property
    def read_only(self) -> bool:
        return self.header.version > SESSION_VERSION

    @property
    def unread(self) -> Sequence[Unread]:
        """What was in the file when it was opened and is no entry, in order."""
        return self._held.unread

    def line(self, index: int) -> bytes:
        if self._closed:
            raise StoreClosed(self.where)
        if index < 0:
            raise IndexError(index)
        try:
            return self._line(index)
        except OSError as error:
            raise CannotOpen(self.where, error) from error

    def append(self, lines: Sequence[bytes]) -> None:
        if self._closed:
            raise StoreClosed(self.where)
        if self.read_only:
            raise NewerVersion(self.where, self.header.version, SESSION_VERSION)
        envelopes = admit(lines, self.tree)
        if not lines:
            return
        try:
            if self.header.version < 2:
                self._leave_version_1(lines, envelopes)
            else:
                self._add(lines, envelopes)
        except OSError as error:
            raise CannotWrite(self.where, error) from error

    def close(self) -> None:
        self._closed = True
        self._file.close()

    def _open(self, path: str) -> bytes:
        try:
            self._file = GrowingFile(_rooted(path), self._disk)
            return self._file.open()
        except OSError as error:
            raise CannotOpen(path, error) from error
        except ValueError as error:  # a NUL in the path, or what the file system's encoding has not
            raise CannotOpen(path, OSError(errno.EINVAL, str(error))) from error

    def _line(self, index: int) -> bytes:
        held = self._held
        line = self._file.read(held.offsets[index], held.lengths[index])
        if held.header.version < 2:
            parent = None if index == 0 else held.tree.id(index - 1)
            return from_version_1(line, held.tree.id(index), parent, self._id_of_line)
        return from_version_2(line) if held.header.version == 2 else line

    def _add(self, lines: Sequence[bytes], envelopes: Sequence[Envelope]) -> None:
        head = encode_header(self.header) + b"\n" if self._headless else b""
        start = self._file.append(head + _joined(lines))
        self._headless = False
        self._held.placed(map(len, lines), start + len(head))
        self.tree.extend(envelopes)

    def _leave_version_1(self, lines: Sequence[bytes], envelopes: Sequence[Envelope]) -> None:
        """Copy the whole tree to a version 3 session beside the file, append there, and go on there."""
        old, old_path = self.header, _as_text(self._file.path)
        # what another writer put into the header is as good as it was
        more = without_line(old.extra)
        header = msgspec.structs.replace(self._makers.header(), cwd=old.cwd, parent_session=old_path, extra=more)
        marker = self._fork_marker(envelopes, old_path)
        everything = [*map(self._line, range(len(self.tree))), *lines, encode_entry(marker)]
        head = encode_header(header) + b"\n"
        path, file, start = self._beside(head + _joined(everything))
        self._file.close()
        self._path, self._file = path, file
        self._held = Scanned(header, self.tree)
        self._held.placed(map(len, everything), start + len(head))
        self.tree.extend([*envelopes, Envelope("custom", marker.id, marker.parent_id)])

    def _fork_marker(self, envelopes: Sequence[Envelope], old_path: str) -> Custom:
        return Custom(
            id=self._makers.entry_id(_Taken(self.tree.ids, {envelope.id for envelope in envelopes})),
            parent_id=envelopes[-1].id,
            timestamp=self._makers.now(),
            custom_type=FORK_MARKER,
            data={"parentId": self.header.id, "parentPath": old_path, "entries": len(self.tree)},
        )

    def _beside(self, data: bytes) -> tuple[str, GrowingFile, int]:
        """A new file with these lines, and where they begin in it."""
        for n in range(1, MOST_COPIES):
            suffix = ".v3.jsonl" if n == 1 else f".v3-{n}.jsonl"
            path = self._path.removesuffix(".jsonl") + suffix
            file = GrowingFile(self._file.path.removesuffix(".jsonl") + suffix, self._disk)
            try:
                return path, file, file.append(data)
            except FileExistsError:
                continue
            except OSError as error:
                file.close()
                raise CannotWrite(path, error) from error
        raise FileExistsError(errno.EEXIST, "a thousand version 3 copies stand beside it")

    def _id_of_line(self, place: int) -> EntryId | None:
        """The entry on the nth line of a version 1 file; its header is line 0."""
        return self.tree.id(place - 1) if 0 < place <= len(self.tree) else None


@attrs.frozen
class _Taken(Container[str]):
    """The ids of a tree and some more."""

    held: Container[str]
    fresh: Container[str]

    def __contains__(self, entry_id: object) -> bool:
        return isinstance(entry_id, str) and (entry_id in self.fresh or entry_id in self.held)


def _indexed(data: bytes) -> Scanned:
    collecting = gc.isenabled()
    gc.disable()  # an opening makes many small objects and no garbage: 100,000 lines open in half of the time
    try:
        return scan(data)
    finally:
        if collecting:
            gc.enable()


def _rooted(path: str) -> str:
    """From the root of the file system, and otherwise as it was said: where `a/../b` leads, only the system knows."""
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH117, PTH118 - text paths


def _as_text(path: str) -> str:
    """A path as JSON can hold it."""
    return os.fsencode(path).decode("utf-8", "replace")


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"\n".join(lines) + b"\n"
