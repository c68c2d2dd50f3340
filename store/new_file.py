"""A file that nobody finds before it is whole.

1. It is written under another name beside its place, private, and gets its own name when all of it is on the medium, in one step.
2. Nothing that stands there is written over.
3. What fails, or is not committed, leaves nothing; a process that is killed leaves the other name, which no reader of sessions looks at.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from sapwood.store.disk import Disk, new_beside, write_all

_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL})
"""What file systems say that have no second names."""


class NewFile:
    """A file at `path` that is being made. Each call may block, and raises the system's own `OSError`."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._folder = os.path.dirname(path)  # noqa: PTH120 - the port speaks in plain text paths
        self._folders = [self._folder]
        self._name: str | None = None
        self._descriptor: int | None = None

    def begin(self) -> None:
        """Make it, under its other name, and the folders above it. FileExistsError if its place is taken."""
        self._refuse_taken()
        made = self._disk.make_folder(self._folder)
        self._folders += map(os.path.dirname, made)
        self._name, self._descriptor = new_beside(self._disk, self._path, "new")

    def write(self, data: bytes) -> None:
        """Add to it."""
        write_all(self._disk, self._begun(), data)

    def commit(self) -> None:
        """Give it its name, on the medium. FileExistsError if somebody has taken it since."""
        self._disk.sync(self._begun())
        name = self._name or ""
        try:
            self._disk.link(name, self._path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._refuse_taken()
            self._disk.rename(name, self._path)
            self._name = None
        try:
            for folder in dict.fromkeys(self._folders):
                self._disk.sync_folder(folder)
        except OSError:
            with suppress(OSError):
                self._disk.unlink(self._path)
            raise

    def end(self) -> None:
        """Let go of it, committed or not. Twice does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        name, self._name = self._name, None
        if descriptor is not None:
            with suppress(OSError):
                self._disk.close(descriptor)
        if name is not None:
            with suppress(OSError):
                self._disk.unlink(name)

    def _begun(self) -> int:
        if self._descriptor is None:
            raise ValueError("begin() comes first")
        return self._descriptor

    def _refuse_taken(self) -> None:
        with suppress(FileNotFoundError):
            self._disk.status_at(self._path)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
