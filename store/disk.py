"""The few system calls that a store makes, as a port: so that a test can fail, shorten, lose and delay each of them.

Errors are the system's own `OSError`s; the stores translate them.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Final, Protocol

import attrs

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700
"""Sessions hold whatever a person and their tools said: nobody else's to read (S13)."""

_FLAGS: Final = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""A pipe with nobody at its other end must not hold us up before we have seen that it is no file."""


@attrs.frozen
class Status:
    """What a file is right now."""

    size: int
    device: int
    inode: int

    def is_same_file(self, other: Status) -> bool:
        return (self.device, self.inode) == (other.device, other.inode)


class Disk(Protocol):
    """System calls on files, by descriptor."""

    def open_read(self, path: str) -> int:
        """Open for reading; FileNotFoundError if there is none, EISDIR for a folder, EINVAL for a pipe or a device."""
        ...

    def open_append(self, path: str) -> int:
        """Open an existing file for appending; the errors of `open_read`."""
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

    def status_at(self, path: str) -> Status:
        """What stands at a path now; FileNotFoundError if nothing does."""
        ...

    def close(self, descriptor: int) -> None: ...
    def unlink(self, path: str) -> None: ...

    def make_folder(self, path: str) -> None:
        """Make a private folder and those above it, whatever the umask; nothing if it is there."""
        ...


class RealDisk:
    """The operating system's calls."""

    def open_read(self, path: str) -> int:
        return _regular(os.open(path, os.O_RDONLY | _FLAGS))

    def open_append(self, path: str) -> int:
        return _regular(os.open(path, os.O_WRONLY | os.O_APPEND | _FLAGS))

    def create(self, path: str) -> int:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            os.fchmod(descriptor, PRIVATE_FILE)  # the umask may have taken the owner's own bits away
        except OSError:
            os.close(descriptor)
            os.unlink(path)  # noqa: PTH108 - the port speaks in plain text paths
            raise
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
        return _status(os.fstat(descriptor))

    def status_at(self, path: str) -> Status:
        return _status(os.stat(path))  # noqa: PTH116 - as above

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def unlink(self, path: str) -> None:
        os.unlink(path)  # noqa: PTH108 - as above

    def make_folder(self, path: str) -> None:
        if not path or os.path.isdir(path):  # noqa: PTH112 - as above; "" is where we are
            return
        self.make_folder(os.path.dirname(path))  # noqa: PTH120 - as above
        try:
            os.mkdir(path, PRIVATE_FOLDER)  # noqa: PTH102 - as above
        except FileExistsError:
            if not os.path.isdir(path):  # noqa: PTH112 - somebody else may have made it in between
                raise
        else:
            os.chmod(path, PRIVATE_FOLDER)  # noqa: PTH101 - as for a file


def _status(status: os.stat_result) -> Status:
    return Status(size=status.st_size, device=status.st_dev, inode=status.st_ino)


def _regular(descriptor: int) -> int:
    """The descriptor, if it is of a file with a length and a place for everything in it."""
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file")  # noqa: TRY301 - as above
    except OSError:
        with suppress(OSError):  # the error that is told is the one that came first
            os.close(descriptor)
        raise
    return descriptor
