"""The few system calls that a store makes, as a port: so that a test can fail, shorten, lose and delay each of them.

Errors are the system's own `OSError`s; the stores translate them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

import msgspec

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700
"""Sessions hold whatever a person and their tools said: nobody else's to read (S13)."""

MOST_NAMES: Final = 1000
"""Tries for a name that is free: each one that is taken was left, or set aside, before."""

_FLAGS: Final = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""A pipe with nobody at its other end must not hold us up before we have seen that it is no file."""


class Status(msgspec.Struct, frozen=True, gc=False):
    """What a file is right now. A Struct, since two are made for every append."""

    size: int
    device: int
    inode: int

    def is_same_file(self, other: Status) -> bool:
        return self.inode == other.inode and self.device == other.device


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

    def position(self, descriptor: int) -> int:
        """Where the last write to a descriptor for appending ended: whoever else appends, that was the end of the file then."""
        ...

    def truncate(self, descriptor: int, size: int) -> None: ...
    def status(self, descriptor: int) -> Status: ...

    def status_at(self, path: str) -> Status:
        """What stands at a path now; FileNotFoundError if nothing does."""
        ...

    def sync(self, descriptor: int) -> None:
        """Return when what was written is on the medium (fdatasync). May take long: call it where it may."""
        ...

    def sync_folder(self, path: str) -> None:
        """The same for the names in a folder."""
        ...

    def exchange(self, descriptor: int, new: int) -> None:
        """Let a descriptor stand for what `new` is open on, in one step for whoever reads by it in another thread. Closes `new`."""
        ...

    def close(self, descriptor: int) -> None: ...
    def unlink(self, path: str) -> None: ...

    def rename(self, path: str, new: str) -> None:
        """Put a file in the place of whatever stands at `new`, in one step."""
        ...

    def link(self, path: str, new: str) -> None:
        """A second name for a file; FileExistsError if something has it."""
        ...

    def make_folder(self, path: str) -> Sequence[str]:
        """Make a private folder and those above it, whatever the umask, or none; those that were made, topmost first."""
        ...

    def check_folder(self, path: str) -> None:
        """Raise what making a file in this folder would raise, the folder being made first: EACCES, EROFS or ENOTDIR. Makes nothing."""
        ...

    def real_path(self, path: str) -> str:
        """The path with every symlink followed."""
        ...

    def lock(self, descriptor: int) -> bool:
        """Take the one lock of an open file, if nobody has it: not even this process, through another descriptor. Ends with the process."""
        ...

    def unlock(self, descriptor: int) -> None:
        """Give the lock back, for forked children too, who have it from us."""
        ...

    def lock_holder(self, descriptor: int) -> int | None:
        """The process that has the lock of this file, if the system tells."""
        ...

    def process(self, pid: int) -> str | None:
        """What tells a running process from others that had or will have its number (no text where nothing does); None if there is none."""
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
        part = os.pread(descriptor, length, offset)
        parts = [part]
        while part and len(part) < length:
            offset += len(part)
            length -= len(part)
            part = os.pread(descriptor, length, offset)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, descriptor: int, data: bytes) -> int:
        return os.write(descriptor, data)

    def position(self, descriptor: int) -> int:
        return os.lseek(descriptor, 0, os.SEEK_CUR)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def status(self, descriptor: int) -> Status:
        return _status(os.fstat(descriptor))

    def status_at(self, path: str) -> Status:
        return _status(os.stat(path))  # noqa: PTH116 - as above

    def sync(self, descriptor: int) -> None:
        os.fdatasync(descriptor)

    def sync_folder(self, path: str) -> None:
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def exchange(self, descriptor: int, new: int) -> None:
        os.dup2(new, descriptor, inheritable=False)
        os.close(new)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def unlink(self, path: str) -> None:
        os.unlink(path)  # noqa: PTH108 - as above

    def rename(self, path: str, new: str) -> None:
        os.replace(path, new)  # noqa: PTH105 - as above

    def link(self, path: str, new: str) -> None:
        os.link(path, new)

    def make_folder(self, path: str) -> Sequence[str]:
        if not path or os.path.isdir(path):  # noqa: PTH112 - as above; "" is where we are
            return []
        made = [*self.make_folder(os.path.dirname(path))]  # noqa: PTH120 - as above
        try:
            os.mkdir(path, PRIVATE_FOLDER)  # noqa: PTH102 - as above
            made.append(path)
            os.chmod(path, PRIVATE_FOLDER)  # noqa: PTH101 - as for a file
        except OSError as error:
            # somebody else may have made it in between
            if not isinstance(error, FileExistsError) or not os.path.isdir(path):  # noqa: PTH112 - as above
                for one in reversed(made):
                    with suppress(OSError):
                        os.rmdir(one)  # noqa: PTH106 - as above
                raise
        return made

    def check_folder(self, path: str) -> None:
        while path and not os.path.lexists(path):
            path = os.path.dirname(path)  # noqa: PTH120 - as above
        path = path or "."
        if not os.path.isdir(path):  # noqa: PTH112 - as above
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(path, os.W_OK | os.X_OK):
            read_only = os.statvfs(path).f_flag & os.ST_RDONLY
            number = errno.EROFS if read_only else errno.EACCES
            raise OSError(number, os.strerror(number))

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def lock(self, descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def lock_holder(self, descriptor: int) -> int | None:
        status = os.fstat(descriptor)
        file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        with open("/proc/locks", encoding="ascii") as locks:  # noqa: PTH123 - as above
            for line in locks:
                fields = line.split()
                if fields[1] == "FLOCK" and fields[5] == file and int(fields[4]) > 0:
                    return int(fields[4])
        return None

    def process(self, pid: int) -> str | None:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat_file:  # noqa: PTH123 - as above
                # behind the name, which may hold anything: the 20th field is when it was started, in ticks since the machine was
                return stat_file.read().rpartition(b")")[2].split()[19].decode()
        except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while we read
            return "" if not os.path.isdir("/proc/self") and _is_running(pid) else None  # noqa: PTH112 - as above


def write_all(disk: Disk, descriptor: int, data: bytes) -> None:
    """All of it, in as many writes as the system makes of it. ENOSPC where one takes nothing."""
    while data:
        try:
            taken = disk.write(descriptor, data)
        except InterruptedError:
            continue
        if taken == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data = data[taken:]


def new_beside(disk: Disk, path: str, what: str) -> tuple[str, int]:
    """A new file beside a path, under the first free name: its path, and it open for appending."""
    for n in range(MOST_NAMES):
        with suppress(FileExistsError):
            return f"{path}.{what}-{n}", disk.create(f"{path}.{what}-{n}")
    raise FileExistsError(errno.EEXIST, "every name beside it is taken")


def _status(status: os.stat_result) -> Status:
    return Status(status.st_size, status.st_dev, status.st_ino)


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


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
