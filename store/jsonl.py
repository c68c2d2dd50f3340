"""One session, one append-only file in Pi's format: the embedded default.

1. Opening and reading write nothing; a new session's file appears with its first entries (S4).
2. An append is one write behind the old content, or nothing: what a failed write left is cut off again (S3).
3. A line that is no entry stays where it is and is remembered in `unread`.
4. A version 1 file is never written: its first append goes to a version 3 session beside it (S3).
"""

from __future__ import annotations

import errno
import gc
import os
from array import array
from collections.abc import Callable, Container, Sequence
from contextlib import suppress

import attrs
import msgspec

from sapwood.events.codec import decode_envelope, encode_entry, encode_header
from sapwood.events.entries import FORK_MARKER, SESSION_VERSION, Custom, Header
from sapwood.events.errors import CannotOpen, CannotWrite, NewerVersion, NotAnEntry, NotASession, StoreClosed
from sapwood.events.ids import EntryId
from sapwood.store.disk import Disk
from sapwood.store.scan import Scanned, Unread, scan
from sapwood.store.tree import Tree
from sapwood.store.upcast import from_version_1, from_version_2

NewId = Callable[[Container[str]], EntryId]


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
        path: the file.
        disk: the system calls.
        new: makes the header of a session that begins now.
        new_id: makes an entry's id that is not among those given.
        now: the time as entries bear it.

    Raises `NotASession` (no header; the file is untouched) and `CannotOpen`.
    """
    return JsonlStore(os.fspath(path), disk, Makers(header=new, entry_id=new_id, now=now))


class JsonlStore:
    """An open session file. Made by `open_jsonl`."""

    def __init__(self, path: str, disk: Disk, makers: Makers) -> None:
        self._path = path
        self._disk = disk
        self._makers = makers
        self._reading: int | None = None
        self._writing: int | None = None
        self._closed = False
        self._empty_file = False
        data = self._open()
        scanned = self._scan(data) if data else None
        self._header = makers.header() if scanned is None else scanned.header
        self._version = SESSION_VERSION if scanned is None else scanned.header.version
        self._tree = Tree() if scanned is None else scanned.tree
        self._offsets = array("Q") if scanned is None else scanned.offsets
        self._lengths = array("Q") if scanned is None else scanned.lengths
        self._torn = bool(data) and not data.endswith(b"\n")
        self.unread: tuple[Unread, ...] = () if scanned is None else scanned.unread
        """What is in the file and is no entry, in order."""

    @property
    def header(self) -> Header:
        return self._header

    @property
    def tree(self) -> Tree:
        return self._tree

    @property
    def where(self) -> str:
        return self._path

    @property
    def read_only(self) -> bool:
        return self._version > SESSION_VERSION

    def line(self, index: int) -> bytes:
        if self._closed or self._reading is None:
            raise StoreClosed(self._path)
        try:
            line = self._disk.read(self._reading, self._offsets[index], self._lengths[index])
        except OSError as error:
            raise CannotOpen(self._path, error) from error
        if self._version == 1:
            parent = None if index == 0 else self._tree.id(index - 1)
            return from_version_1(line, self._tree.id(index), parent, self._id_of_line)
        return from_version_2(line) if self._version == 2 else line

    def append(self, lines: Sequence[bytes]) -> None:
        if self._closed:
            raise StoreClosed(self._path)
        if self.read_only:
            raise NewerVersion(self._path, self._version, SESSION_VERSION)
        if not lines:
            return
        envelopes = [decode_envelope(line) for line in lines]
        fresh: set[str] = set()
        for line, envelope in zip(lines, envelopes, strict=True):
            if envelope.id in self._tree or envelope.id in fresh:
                raise NotAnEntry(f"the id {envelope.id} is taken", line)
            fresh.add(envelope.id)
        if self._version == 1:
            self._leave_version_1(lines)
            return
        if self._reading is None:
            self._begin(lines)
        else:
            self._add(lines)
        for envelope in envelopes:
            self._tree.grow(envelope.type, envelope.id, envelope.parentId)

    def close(self) -> None:
        self._closed = True
        for descriptor in (self._reading, self._writing):
            if descriptor is not None:
                with suppress(OSError):  # there is nothing left to lose: every append was one finished write
                    self._disk.close(descriptor)
        self._reading = self._writing = None

    def _open(self) -> bytes:
        try:
            self._reading = self._disk.open_read(self._path)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise CannotOpen(self._path, error) from error
        try:
            data = self._disk.read(self._reading, 0, self._disk.status(self._reading).size)
        except OSError as error:
            self.close()
            raise CannotOpen(self._path, error) from error
        self._empty_file = not data
        return data

    def _scan(self, data: bytes) -> Scanned:
        collecting = gc.isenabled()
        gc.disable()  # an opening makes many small objects and no garbage: 100,000 lines open in half of the time
        try:
            return scan(data)
        except NotAnEntry as error:
            self.close()
            raise NotASession(self._path) from error
        finally:
            if collecting:
                gc.enable()

    def _begin(self, lines: Sequence[bytes]) -> None:
        """The first append of a new session makes the file."""
        folder = os.path.dirname(os.path.abspath(self._path))  # noqa: PTH100, PTH120 - the port speaks in text paths
        try:
            self._disk.make_folder(folder)
        except OSError as error:
            raise CannotWrite(self._path, error) from error
        self._reading, self._writing = self._make_file(self._path, [encode_header(self._header), *lines])
        self._place(lines, len(encode_header(self._header)) + 1)

    def _add(self, lines: Sequence[bytes]) -> None:
        """Append to a file that is there."""
        try:
            if self._writing is None:
                self._writing = self._disk.open_append(self._path)
            start = self._disk.status(self._writing).size
            prefix = b"\n" if self._torn else b""
            if self._empty_file:
                prefix = encode_header(self._header) + b"\n"
            self._write(self._writing, prefix + _joined(lines), start)
        except OSError as error:
            raise CannotWrite(self._path, error) from error
        self._torn = self._empty_file = False
        self._place(lines, start + len(prefix))

    def _write(self, descriptor: int, data: bytes, start: int) -> None:
        """All of `data`, or nothing: a short write is cut off again."""
        written = 0
        try:
            written = self._disk.write(descriptor, data)
            if written < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 - a short write is that error, late
        except OSError:
            if written:
                self._disk.truncate(descriptor, start)
            raise

    def _make_file(self, path: str, lines: Sequence[bytes]) -> tuple[int, int]:
        """A new file with these lines: its descriptors for reading and for writing. Or no file, and `CannotWrite`."""
        writing: int | None = None
        try:
            writing = self._disk.create(path)
            self._write(writing, _joined(lines), 0)
            return self._disk.open_read(path), writing
        except OSError as error:
            if writing is not None:
                with suppress(OSError):  # the error that is told is the one that came first
                    self._disk.close(writing)
                    self._disk.unlink(path)
            raise CannotWrite(path, error) from error

    def _place(self, lines: Sequence[bytes], offset: int) -> None:
        """Remember where lines stand that were just written from `offset` on."""
        for line in lines:
            self._offsets.append(offset)
            self._lengths.append(len(line))
            offset += len(line) + 1

    def _leave_version_1(self, lines: Sequence[bytes]) -> None:
        """Copy the whole tree to a version 3 session beside the file, append there, and go on there."""
        raised = [self.line(index) for index in range(len(self._tree))]
        old = os.path.abspath(self._path)  # noqa: PTH100 - as above
        header = msgspec.structs.replace(self._makers.header(), cwd=self._header.cwd, parent_session=old)
        marker = encode_entry(self._fork_marker(lines[-1], old))
        path, reading, writing = self._make_beside([encode_header(header), *raised, *lines, marker])
        self.close()
        self._closed = False
        self._path, self._reading, self._writing = path, reading, writing
        self._header, self._version, self._torn, self.unread = header, SESSION_VERSION, False, ()
        self._offsets, self._lengths = array("Q"), array("Q")
        self._place([*raised, *lines, marker], len(encode_header(header)) + 1)
        for envelope in map(decode_envelope, (*lines, marker)):
            self._tree.grow(envelope.type, envelope.id, envelope.parentId)

    def _fork_marker(self, last_line: bytes, old_path: str) -> Custom:
        last = decode_envelope(last_line).id
        return Custom(
            id=self._makers.entry_id(_Taken(self._tree, last)),
            parent_id=last,
            timestamp=self._makers.now(),
            custom_type=FORK_MARKER,
            data={"parentId": self._header.id, "parentPath": old_path, "entries": len(self._tree)},
        )

    def _make_beside(self, lines: Sequence[bytes]) -> tuple[str, int, int]:
        stem = self._path.removesuffix(".jsonl")
        for n in range(1, 1000):
            path = f"{stem}.v3.jsonl" if n == 1 else f"{stem}.v3-{n}.jsonl"
            try:
                return path, *self._make_file(path, lines)
            except CannotWrite as error:
                if error.errno != errno.EEXIST:
                    raise
        raise CannotWrite(self._path, OSError(errno.EEXIST, "a thousand version 3 copies stand beside it"))

    def _id_of_line(self, place: int) -> EntryId | None:
        """The entry on the nth line of a version 1 file; its header is line 0."""
        return self._tree.id(place - 1) if 0 < place <= len(self._tree) else None


@attrs.frozen
class _Taken(Container[str]):
    """The ids of a tree and one more."""

    tree: Tree
    another: str

    def __contains__(self, entry_id: object) -> bool:
        return entry_id == self.another or entry_id in self.tree


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"\n".join(lines) + b"\n"
