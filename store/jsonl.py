"""One session, one append-only file in Pi's format: the embedded default.

1. Opening and reading write nothing into it; a new session's file appears with its first entries (S4).
2. An append is behind the old content, or nowhere; `growing` sees to that.
3. What is damaged stays where it is and is named in `damage` (S7).
4. A file of version 1, and one whose header has lost its version, is never written: its first append goes to a version 3 session beside
   it (S3), since other readers would make one chain of what is in it.
"""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from sapwood.events.codec import Envelope, encode_header
from sapwood.events.damage import Damage
from sapwood.events.entries import SESSION_VERSION, Header
from sapwood.events.errors import (
    CannotOpen,
    CannotWrite,
    NewerVersion,
    NotAnEntry,
    NotASession,
    ReadOnly,
    StoreClosed,
    Writer,
)
from sapwood.events.ids import EntryId
from sapwood.store.admitting import admit
from sapwood.store.beside import Makers, made_beside, raised
from sapwood.store.copying import as_copied
from sapwood.store.disk import Disk
from sapwood.store.growing import GrowingFile
from sapwood.store.lock import WriterLock
from sapwood.store.scan import BLOCK, scan_more, scan_windows
from sapwood.store.scanned import Scanned
from sapwood.store.tree import Tree
from sapwood.store.upcast import from_version_1, from_version_2

NewId = Callable[[Container[str]], EntryId]


def open_jsonl(
    path: str | os.PathLike[str],
    *,
    disk: Disk,
    new: Callable[[], Header],
    new_id: NewId,
    now: Callable[[], str],
    me: Callable[[], Writer],
    read_only: bool = False,
) -> JsonlStore:
    """Open a session's file; a missing or an empty one is a new session, which is written with its first append.

    Args:
        path: the file. A relative one is taken from the present folder, for as long as the store is open.
        disk: the system calls.
        new: makes the header of a session that begins now.
        new_id: makes an entry's id that is not among those given.
        now: the time as entries bear it.
        me: what others are told of us while we hold the session.
        read_only: whether it is only to be read: then it must exist, and somebody else may be writing it.

    Raises `NotASession` (no header; the file is untouched), `SessionInUse`, and `CannotOpen`: for a folder, a pipe or a device too, and for
    a place where nothing may be written, unless it is only to be read.
    """
    makers = Makers(header=new, entry_id=new_id, now=now)
    return JsonlStore(os.fspath(path), disk, makers, None if read_only else me)


class _Staged(msgspec.Struct, frozen=True):
    """What is in a file and not yet in the tree. A Struct, since each append makes one."""

    path: str
    file: GrowingFile
    held: Scanned
    envelopes: Sequence[Envelope]
    lengths: Sequence[int]
    start: int


class JsonlStore:
    """An open session file. Made by `open_jsonl`."""

    def __init__(self, path: str, disk: Disk, makers: Makers, me: Callable[[], Writer] | None) -> None:
        self._disk = disk
        self._makers = makers
        self._me = me
        self._closed = False
        self._path = path
        self._staged: _Staged | None = None
        self._file = self._growing(path)
        try:
            held = self._open(path)
            self._held = Scanned(makers.header()) if held is None else held
            self._headless = held is None
            """Whether the header is still to be written."""
            self._be_ready()
        except NotAnEntry as error:
            self.close()
            raise NotASession(path) from error
        except BaseException:
            self.close()
            raise

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
        return self._me is None or self.header.is_later

    @property
    def damage(self) -> Sequence[Damage]:
        return self._held.damage

    @property
    def unfinished(self) -> int | None:
        """Where the last line begins, if it had no end when the file was last read."""
        return self._held.unfinished

    def offset(self, index: int) -> int:
        """Where an entry begins in the file."""
        return self._held.offsets[index]

    def line(self, index: int) -> bytes:
        if self._closed:
            raise StoreClosed(self.where)
        if index < 0:
            raise IndexError(index)
        with self._reading():
            return self._line(index)

    def refresh(self) -> None:
        if self._closed:
            raise StoreClosed(self.where)
        with self._reading():
            self._take_in(self._file.news())

    def append(self, lines: Sequence[bytes]) -> None:
        self.stage(lines)
        self.commit()

    def stage(self, lines: Sequence[bytes]) -> None:
        self._refuse_writing()
        try:  # spelt out: an append is short, and a context manager a tenth of it
            if came := self._file.news():
                self._take_in(came)
            envelopes = admit(lines, self._held.tree)
            if lines:
                self._staged = (
                    self._beside(lines, envelopes) if self._held.goes_on_beside else self._behind(lines, envelopes)
                )
        except OSError as error:
            raise CannotWrite(self.where, error) from error

    def sync(self) -> None:
        if self._closed:
            raise StoreClosed(self.where)
        file = self._file if self._staged is None else self._staged.file
        with self._writing():
            file.sync()

    def commit(self) -> None:
        staged, self._staged = self._staged, None
        if staged is None:
            return
        if staged.file is self._file:
            if came := staged.file.before_ours():
                self._take_in(came)  # as it stands in the file
        else:
            self._file.close()
        self._path, self._file, self._held = staged.path, staged.file, staged.held
        self._headless = False
        staged.held.placed(staged.lengths, staged.start)
        for nth in reversed(staged.held.tree.extend(staged.envelopes)):  # an id that somebody else took since
            staged.held.unplaced(nth - len(staged.lengths))

    def discard(self) -> None:
        staged, self._staged = self._staged, None
        if staged is None:
            return
        staged.file.take_back()
        if staged.file is not self._file:
            staged.file.close()

    def restore(self) -> str | None:
        self._refuse_writing()
        with self._writing():
            return self._file.restore()

    def close(self) -> None:
        self.discard()
        self._closed = True
        self._file.close()

    def _refuse_writing(self) -> None:
        if self._closed:
            raise StoreClosed(self.where)
        if self._me is None:
            raise ReadOnly(self.where)
        if self.header.is_later:
            raise NewerVersion(self.where, self.header.version, SESSION_VERSION)

    def _take_in(self, came: Sequence[tuple[int, bytes]]) -> None:
        for offset, data in came:
            scan_more(self._held, data, offset, self._earlier)

    def _earlier(self, index: int) -> bytes | None:
        """An entry's line as it is in the file now, if that can be read: news is not lost for one that cannot."""
        with suppress(OSError):
            return self._line(index)
        return None

    def _growing(self, path: str) -> GrowingFile:
        return GrowingFile(path, self._disk, None if self._me is None else WriterLock(self._disk, self._me))

    def _open(self, path: str) -> Scanned | None:
        """What the file holds; None for one that is not there or has nothing in it."""
        try:
            self._file = self._growing(_rooted(path))
            return _indexed(self._file) if self._file.open(must_exist=self._me is None) else None
        except OSError as error:
            raise CannotOpen(path, error) from error
        except ValueError as error:  # a NUL in the path, or what the file system's encoding has not
            raise CannotOpen(path, OSError(errno.EINVAL, str(error))) from error

    def _be_ready(self) -> None:
        """Find out now what could not be written later."""
        if self.read_only:
            self._file.unlock()
            return
        with self._reading():
            if self._held.goes_on_beside:
                self._disk.check_folder(os.path.dirname(self._file.path))  # noqa: PTH120 - paths are plain text
            else:
                self._file.open_for_writing()

    @contextmanager
    def _reading(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise CannotOpen(self.where, error) from error

    @contextmanager
    def _writing(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise CannotWrite(self.where, error) from error

    def _line(self, index: int) -> bytes:
        held = self._held
        line = self._file.read(held.offsets[index], held.lengths[index])
        if held.header.version < 2:
            parent = None if index == 0 else held.tree.id(index - 1)
            return from_version_1(line, held.tree.id(index), parent, self._id_of_line)
        return from_version_2(line) if held.header.version == 2 else line

    def _behind(self, lines: Sequence[bytes], envelopes: Sequence[Envelope]) -> _Staged:
        head = encode_header(self.header) + b"\n" if self._headless else b""
        start = self._file.append(b"%b%b\n" % (head, b"\n".join(lines)))
        return _Staged(self._path, self._file, self._held, envelopes, [*map(len, lines)], start + len(head))

    def _beside(self, lines: Sequence[bytes], envelopes: Sequence[Envelope]) -> _Staged:
        old = (as_copied(self.tree, place, self._line(place)) for place in range(len(self.tree)))
        everything = [*old, *lines]
        copy = raised(self._held, self._file.path, everything, envelopes, self._makers)
        path, file, start = made_beside(self._file, self._path, copy.bytes, self._growing)
        held = Scanned(copy.header, self.tree)
        return _Staged(path, file, held, [*envelopes, copy.marker], [*map(len, copy.lines)], start + len(copy.head))

    def _id_of_line(self, place: int) -> EntryId | None:
        """The entry on the nth line of a version 1 file; its header is line 0."""
        return self.tree.id(place - 1) if 0 < place <= len(self.tree) else None


def _indexed(file: GrowingFile) -> Scanned:
    collecting = gc.isenabled()
    gc.disable()  # an opening makes many small objects and no garbage: 100,000 lines open in half of the time
    try:
        return scan_windows(file.windows(BLOCK), file.read)
    finally:
        if collecting:
            gc.enable()


def _rooted(path: str) -> str:
    """From the root of the file system, and otherwise as it was said: where `a/../b` leads, only the system knows."""
    if not path:
        raise ValueError("the path is empty")
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH117, PTH118 - text paths
