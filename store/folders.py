"""The few system calls that a look into folders makes, as a port. Errors are the system's own `OSError`s."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

import msgspec

_LOCKS: Final = "/proc/locks"


class FolderItem(msgspec.Struct, frozen=True, gc=False):
    """What a folder has under a name, links followed. Thousands are made at a time."""

    path: str
    is_folder: bool
    size: int
    modified_ns: int
    device: int
    inode: int

    @property
    def file(self) -> tuple[int, int]:
        """The same for each name of a file."""
        return self.device, self.inode


class Folders(Protocol):
    """Looks into folders."""

    def look(self, path: str) -> Sequence[FolderItem]:
        """The files and folders in a folder, in any order; nothing of what is neither, or is gone again."""
        ...

    def locked(self) -> frozenset[tuple[int, int]]:
        """The files of which somebody has the lock, as far as the system tells."""
        ...


class RealFolders:
    """The operating system's calls."""

    def look(self, path: str) -> Sequence[FolderItem]:
        found: list[FolderItem] = []
        with os.scandir(path) as entries:
            for entry in entries:
                with suppress(OSError):  # a link that leads nowhere, or a file that is gone by now
                    seen = entry.stat()
                    is_folder = stat.S_ISDIR(seen.st_mode)
                    if is_folder or stat.S_ISREG(seen.st_mode):
                        found.append(
                            FolderItem(entry.path, is_folder, seen.st_size, seen.st_mtime_ns, seen.st_dev, seen.st_ino)
                        )
        return found

    def locked(self) -> frozenset[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        with suppress(OSError), open(_LOCKS, encoding="ascii") as locks:  # noqa: PTH123 - as the disk does
            for line in locks:
                fields = line.split()
                if fields[1] == "FLOCK" and fields[3] == "WRITE":
                    major, minor, inode = fields[5].split(":")
                    found.add((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
        return frozenset(found)
