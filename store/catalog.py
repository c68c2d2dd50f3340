"""Which sessions there are, without reading them whole (S14).

1. Of each file two bounded parts are read, whatever its size. The file's own bytes are the truth; there is no index.
2. The session in which something was said or done last comes first. One is told as soon as no file that is left can come before it, by
   when it was last written: at once, unless files were copied about.
3. A step reads one file, or one block of a search: who is asked for the next may stop there, and nothing is left open.
4. A file that cannot be listed is told, and stops nothing; one that was taken away since is gone. Two names of one file are one session.
5. Whose a session is, its header says; the name of its folder only spares a look into other folders.
"""

from __future__ import annotations

import errno
import heapq
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, TypeAlias

from sapwood.events.catalog import ListedSession, UnlistedFile
from sapwood.events.errors import NotAnEntry
from sapwood.events.times import nearest_iso
from sapwood.store.disk import Disk
from sapwood.store.ends import Ends, ends_of
from sapwood.store.folders import FolderItem, Folders
from sapwood.store.lock import SUFFIX as RECORD
from sapwood.store.naming import SUFFIX, folder_key, project_names
from sapwood.store.searching import BLOCK, Needle

SHORT: Final = 1 << 15
"""Bytes that are read at each end: a prompt with its tools, and a turn with a result."""
LONG: Final = 1 << 20
"""The same where those did not tell: a header may have as many in Pi, and so may a result."""
TOO_LONG: Final = "its first line is longer than a megabyte, and a list reads no more: `sapwood check` tells what it is"
_MS: Final = 1_000_000

Told: TypeAlias = ListedSession | UnlistedFile | None
"""None: a step was done, and there is nothing to tell yet."""


class Catalog:
    """Looks for sessions in folders: in each, and in the folders in it."""

    def __init__(self, disk: Disk, folders: Folders) -> None:
        self._disk = disk
        self._folders = folders

    def sessions(self, roots: Sequence[str], *, cwd: str | None = None, needle: Needle | None = None) -> Iterator[Told]:
        """All sessions, step by step; those of one working folder, those in which something is said."""
        files, records, missed = self._files(roots, None if cwd is None else project_names(cwd))
        yield from missed
        files.sort(key=lambda seen: -seen.modified_ns)
        locked = self._folders.locked()
        waiting: list[tuple[int, int, ListedSession]] = []
        for nth, seen in enumerate(files):
            while waiting and -waiting[0][0] >= seen.modified_ns // _MS:
                yield heapq.heappop(waiting)[2]
            for told in self._steps(seen, records, locked, cwd, needle):
                if isinstance(told, tuple):
                    heapq.heappush(waiting, (-told[0], nth, told[1]))
                    yield None
                else:
                    yield told
        while waiting:
            yield heapq.heappop(waiting)[2]

    def find(self, roots: Sequence[str], session_id: str) -> tuple[ListedSession, ...]:
        """The session with this id, or else those whose ids begin so. Files that bear it in their names are looked at first."""
        files, records, _ = self._files(roots, None)
        named = [seen for seen in files if session_id in os.path.basename(seen.path)]  # noqa: PTH119 - paths are plain text
        for some in (named, files):
            listed = [one for seen in some if (one := self._listed(seen, records, frozenset())) is not None]
            exact = tuple(one for one in listed if one.id == session_id)
            if found := exact or tuple(one for one in listed if one.id.startswith(session_id)):
                return found
        return ()

    def _files(
        self, roots: Sequence[str], projects: frozenset[str] | None
    ) -> tuple[list[FolderItem], set[str], list[UnlistedFile]]:
        """The files that may be sessions, once each; the records of who writes; and the folders that cannot be looked into."""
        files: dict[tuple[int, int], FolderItem] = {}
        records: set[str] = set()
        missed: list[UnlistedFile] = []
        for folder in self._folders_in(roots, projects, missed):
            for seen in folder:
                if seen.path.endswith(RECORD):
                    records.add(seen.path)
                elif seen.path.endswith(SUFFIX) and not seen.is_folder:
                    files.setdefault(seen.file, seen)
        return list(files.values()), records, missed

    def _folders_in(
        self, roots: Sequence[str], projects: frozenset[str] | None, missed: list[UnlistedFile]
    ) -> Iterator[Sequence[FolderItem]]:
        for root in roots:
            inside = self._look(root, missed)
            yield inside
            names = {seen.path for seen in inside}
            for seen in inside:
                # what omp keeps of a session lies in a folder of its name, with sessions of helpers in it
                if seen.is_folder and seen.path + SUFFIX not in names and seen.path != root:
                    name = os.path.basename(seen.path)  # noqa: PTH119 - as above
                    if projects is None or name.casefold() in projects:
                        yield self._look(seen.path, missed, was_there=True)

    def _look(self, folder: str, missed: list[UnlistedFile], *, was_there: bool = False) -> Sequence[FolderItem]:
        try:
            return self._folders.look(folder)
        except OSError as error:
            if not (was_there and isinstance(error, FileNotFoundError)):
                missed.append(UnlistedFile(path=folder, why=_why(error)))
            return ()

    def _steps(
        self,
        seen: FolderItem,
        records: set[str],
        locked: frozenset[tuple[int, int]],
        cwd: str | None,
        needle: Needle | None,
    ) -> Iterator[tuple[int, ListedSession] | UnlistedFile | None]:
        """A file, and when something was last done in it, in ms."""
        try:
            with self._opened(seen) as descriptor:
                ends = self._ends(descriptor, seen.size)
                listed = _listed(seen, ends, open=self._is_open(descriptor, seen, records, locked))
                if cwd is not None and folder_key(listed.cwd) != folder_key(cwd):
                    return
                if needle is not None and not (needle.is_in(listed.name) or needle.is_in(listed.first_message)):
                    found = False
                    for said in needle.steps(self._blocks(descriptor, seen.size)):
                        found = said
                        yield None
                    if not found:
                        return
        except FileNotFoundError:
            return
        except OSError as error:
            yield UnlistedFile(path=seen.path, why=_why(error))
        except NotAnEntry:
            yield UnlistedFile(path=seen.path, why="it has no session header" if seen.size else "it is empty")
        else:
            last = ends.last_activity_ms
            yield (seen.modified_ns // _MS if last is None else last), listed

    def _listed(self, seen: FolderItem, records: set[str], locked: frozenset[tuple[int, int]]) -> ListedSession | None:
        for told in self._steps(seen, records, locked, None, None):
            if isinstance(told, tuple):
                return told[1]
        return None

    @contextmanager
    def _opened(self, seen: FolderItem) -> Generator[int]:
        descriptor = self._disk.open_read(seen.path)
        try:
            yield descriptor
        finally:
            with suppress(OSError):
                self._disk.close(descriptor)

    def _ends(self, descriptor: int, size: int) -> Ends:
        with suppress(NotAnEntry):
            ends = self._read_ends(descriptor, size, SHORT)
            if not ends.short_of or size <= 2 * SHORT:
                return ends
        try:
            return self._read_ends(descriptor, size, LONG)
        except NotAnEntry as error:
            if size < LONG or b"\n" in self._disk.read(descriptor, 0, LONG):
                raise
            raise OSError(errno.EFBIG, TOO_LONG) from error

    def _read_ends(self, descriptor: int, size: int, length: int) -> Ends:
        if size <= 2 * length:
            return ends_of(self._disk.read(descriptor, 0, size), None)
        head = self._disk.read(descriptor, 0, length)
        return ends_of(head, self._disk.read(descriptor, size - length, length))

    def _blocks(self, descriptor: int, size: int) -> Iterator[bytes]:
        for at in range(0, size, BLOCK):
            yield self._disk.read(descriptor, at, BLOCK)

    def _is_open(
        self, descriptor: int, seen: FolderItem, records: set[str], locked: frozenset[tuple[int, int]]
    ) -> bool | None:
        """By the lock. It is tried, for an instant, only where somebody is likely to have it: nobody who opens the session is kept out."""
        if seen.file in locked:
            return True
        if seen.path + RECORD not in records and all(seen.inode != inode for _, inode in locked):
            return False
        try:
            if not self._disk.lock(descriptor):
                return True
            self._disk.unlock(descriptor)
        except OSError:
            return None
        return False


def _listed(seen: FolderItem, ends: Ends, *, open: bool | None) -> ListedSession:  # noqa: A002 - as it is called where it goes
    header, last = ends.header, ends.last_activity_ms
    return ListedSession(
        path=seen.path,
        id=header.id,
        version=header.version,
        cwd=header.cwd,
        parent_session=header.parent_session,
        created=header.timestamp,
        modified=nearest_iso(seen.modified_ns // _MS),
        last_activity=None if last is None else nearest_iso(last),
        size=seen.size,
        name=ends.name,
        first_message=ends.first_message,
        open=open,
    )


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
