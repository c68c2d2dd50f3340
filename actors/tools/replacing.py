"""A file's new content, put in its place in one step. Writes.

1. Whoever looks sees the old content or the new, never a part; when it fails, the old one stands, and no folder or file is left behind.
2. A link stays a link: what it leads to gets the content, and that is told. A link that leads nowhere is refused: nobody knows what
   was meant by it.
3. Only regular files are replaced, only those that may be written, and they keep their mode and, where the system lets us, their owner.
4. Other names of the same file (hard links) keep the old content, and that is told.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs

from sapwood.actors.tools.files import Unfit, no_file, why_not

_TELLING: Final = ("st_dev", "st_ino", "st_size", "st_mtime_ns")
"""What of a file is another when somebody has written to it, or put another in its place."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


@attrs.frozen(kw_only=True)
class Replaced:
    """What was done."""

    path: str
    """Where the content really is."""
    was: int | None
    """Bytes that the file had, if there was one."""
    notes: tuple[str, ...] = ()
    """What the model should know of it, if anything."""


def replace_file(path: str, data: bytes, *, unchanged: os.stat_result | None = None) -> Replaced:
    """Put the content at an absolute path, and make the folders above it. Raises `Unfit`.

    `unchanged`: what the file was when it was read; if it is another by now, nothing is done.
    """
    try:
        real = Path(_real(path))
        old = _existing(real)
        made = _made_folders(real.parent)
        try:
            _put(real, data, old, unchanged)
        except BaseException:
            for folder in reversed(made):
                with suppress(OSError):
                    folder.rmdir()
            raise
    except OSError as error:
        raise why_not(error, path, "written") from error
    return Replaced(path=str(real), was=None if old is None else old.st_size, notes=tuple(_notes(path, real, old)))


def _real(path: str) -> str:
    for one in (Path(path), *Path(path).parents):
        if one.is_symlink() and not os.path.lexists(os.path.realpath(one)):
            raise Unfit(f"{path} is not written: {one} is a link to {one.readlink()}, which is not there.")
    return os.path.realpath(path)


def _existing(real: Path) -> os.stat_result | None:
    try:
        old = real.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(old.st_mode):
        raise no_file(str(real))
    # its folder may let us put another in its place all the same
    if not os.access(real, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return old


def _made_folders(folder: Path) -> list[Path]:
    """Those that were not there, topmost first; all or none."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    made: list[Path] = []
    try:
        for one in reversed(missing):
            one.mkdir(exist_ok=True)
            made.append(one)
    except OSError:
        for one in reversed(made):
            with suppress(OSError):
                one.rmdir()
        raise
    return made


def _put(real: Path, data: bytes, old: os.stat_result | None, unchanged: os.stat_result | None) -> None:
    beside = real.with_name(f".sapwood-{os.urandom(6).hex()}")
    try:
        # what is to be as it was is nobody's to read before it is: whoever may not read the old content may not read the new
        descriptor = os.open(beside, _FLAGS, 0o666 if old is None else 0o600)
    except PermissionError:
        raise Unfit(
            f"{real} cannot be written: no file can be made in {real.parent} by the user that runs this (uid {os.geteuid()}), "
            "and it is replaced as a whole."
        ) from None
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if old is not None:
                _like(descriptor, old)  # after it is written to: that takes back the right to run as its owner
            os.fsync(descriptor)  # else a machine that dies may find the new name and none of its content
        finally:
            os.close(descriptor)
        if unchanged is not None:
            _check_unchanged(real, unchanged)
        beside.replace(real)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _like(descriptor: int, old: os.stat_result) -> None:
    mode = stat.S_IMODE(old.st_mode)
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except OSError:
        mode &= 0o777  # what runs with its owner's rights does not run with ours
    os.fchmod(descriptor, mode)


def _check_unchanged(real: Path, then: os.stat_result) -> None:
    try:
        now = real.stat()
    except FileNotFoundError:
        now = None
    if now is None or any(getattr(now, one) != getattr(then, one) for one in _TELLING):
        raise Unfit(f"{real} was changed by somebody else meanwhile: nothing was written. Read it again.")


def _notes(path: str, real: Path, old: os.stat_result | None) -> Iterator[str]:
    if Path(path).is_symlink():
        yield f"{path} is a link: {real} has the content."
    if old is not None and old.st_nlink > 1:
        yield f"The file had {old.st_nlink} names (hard links): the others keep the old content."
