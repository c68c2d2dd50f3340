"""The few system calls that a store makes, as a port: so that a test can fail, shorten, lose and delay each of them.

Errors are the system's own `OSError`s; the stores translate them.
"""

from __future__ import annotations

import os
from typing import Final, Protocol

import attrs

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700
"""Sessions hold whatever a person and their tools said: nobody else's to read (S13)."""


@attrs.frozen
class Status:
    """What a file is right now."""

    size: int
    device: int
    inode: int


class Disk(Protocol):
    """System calls on files, by descriptor."""

    def open_read(self, path: str) -> int:
        """Open for reading; FileNotFoundError if there is none."""
        ...

    def open_append(self, path: str) -> int:
        """Open an existing file for appending."""
        ...

    def create(self, path: str) -> int:
        """Make a file that was not there, private whatever the umask, open for appending; FileExistsError if it was."""
        ...

    def read(self, descriptor: int, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer only at the end of the file."""
        ...

    def write(self, descriptor: int, data: bytes) -> int:
        """One write; how many bytes it took."""
        ...

    def truncate(self, descriptor: int, size: int) -> None: ...
    def status(self, descriptor: int) -> Status: ...
    def close(self, descriptor: int) -> None: ...
    def unlink(self, path: str) -> None: ...

    def make_folder(self, path: str) -> None:
        """Make a private folder and those above it; nothing if it is there."""
        ...


class RealDisk:
    """The operating system's calls."""

    def open_read(self, path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def open_append(self, path: str) -> int:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def create(self, path: str) -> int:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        os.fchmod(descriptor, PRIVATE_FILE)  # the umask may have taken the owner's own bits away
        return descriptor

    def read(self, descriptor: int, offset: int, length: int) -> bytes:
        parts: list[bytes] = []
        while length > 0:
            part = os.pread(descriptor, length, offset)
            if not part:
                break
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, descriptor: int, data: bytes) -> int:
        return os.write(descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def status(self, descriptor: int) -> Status:
        status = os.fstat(descriptor)
        return Status(size=status.st_size, device=status.st_dev, inode=status.st_ino)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def unlink(self, path: str) -> None:
        os.unlink(path)  # noqa: PTH108 - the port speaks in plain text paths

    def make_folder(self, path: str) -> None:
        if not os.path.isdir(path):  # noqa: PTH112 - as above
            self.make_folder(os.path.dirname(path))  # noqa: PTH120 - as above
            os.mkdir(path, PRIVATE_FOLDER)  # noqa: PTH102 - as above
