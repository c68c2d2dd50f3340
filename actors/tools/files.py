"""Paths as a model gives them, and what is wrong with one, in words for the model. Looks at the disk, and changes nothing.

1. A path is taken from the session's folder. What no path can be is told as such.
2. Of a file that is not there, the deepest folder that is gets named, and what in it has a name like it.
3. Whatever the system says of a path, the model is told the path, what was tried, and why not.
"""

from __future__ import annotations

import errno
import os
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Final

from sapwood.actors.tools.results import ToolResult

MOST_NAMES: Final = 10_000
"""Names of a folder that are looked at for one like the one asked for: some 20 ms."""
LISTED: Final = 20
"""Names told of a folder that was taken for a file: enough to choose from, and not a listing."""


class Unfit(Exception):
    """What a tool is asked for cannot be done; in words for the model. Nothing was changed."""


def refused(fault: Unfit) -> ToolResult:
    """As the model is told."""
    return ToolResult(content=str(fault), is_error=True)


def place(cwd: str, path: str) -> str:
    """Where a path leads from the session's folder. Raises `Unfit` for what is none."""
    if not path.strip():
        raise Unfit("The path is empty.")
    try:
        if b"\0" in os.fsencode(path):
            raise Unfit(f"{path!r} is no path: there is a NUL in it.")
    except UnicodeEncodeError:
        raise Unfit(f"{path!r} is no path: there is half a character in it.") from None
    if not (Path(path).is_absolute() or os.path.isdir(cwd)):  # noqa: PTH112 - which never raises
        raise Unfit(f"{path!r} leads nowhere: the working folder {cwd} is not there, or is none.")
    return str(Path(cwd, path))


def no_file(path: str) -> Unfit:
    """What stands there can be neither read nor replaced as a whole."""
    return Unfit(f"{path} is no file: it is a pipe, a socket or a device.")


def there(data: bytes | None) -> bytes:
    """What was read, of a file that waits for nobody. Raises `BlockingIOError` where there is nothing now, and may be later."""
    if data is None:
        raise BlockingIOError(errno.EAGAIN, "nothing is there now, and whoever writes it may go on")
    return data


def why_not(error: OSError, path: str, doing: str) -> Unfit:
    """What the system's refusal means. `doing`: what was tried, as in "cannot be read"."""
    match error.errno:
        case errno.ENOENT:
            return Unfit(_missing(path))
        case errno.EISDIR:
            return Unfit(f"{path} is a folder, not a file. {_inside(path)}")
        case errno.ENOTDIR:
            above = next((str(one) for one in Path(path).parents if one.is_file()), str(Path(path).parent))
            return Unfit(f"{path} is no path: {above} is a file, and nothing can be in it.")
        case errno.EACCES | errno.EPERM:
            return Unfit(
                f"{path} cannot be {doing}: permission is denied to the user that runs this (uid {os.geteuid()})."
            )
        case _:
            return Unfit(f"{path} cannot be {doing}: {error.strerror or error}.")


def _missing(path: str) -> str:
    where = Path(path)
    if where.is_symlink():
        return f"{path} is a link to {where.readlink()}, which is not there."
    folder = where
    lacking = where.name
    while not folder.is_dir():
        if folder == folder.parent:
            return f"There is no {path}."
        lacking, folder = folder.name, folder.parent
    lead = (
        f"There is no {path}."
        if folder == where.parent
        else f"There is no {path}: {folder} is there, {lacking} in it is not."
    )
    try:
        names = {name.casefold(): name for name in _names(folder)}
    except OSError:
        return f"{lead} What is in {folder} cannot be seen."
    near = [names[one] for one in get_close_matches(lacking.casefold(), names, n=3)]
    return f"{lead} {folder} has {', '.join(near)}." if near else f"{lead} Nothing in {folder} has a name like it."


def _inside(path: str) -> str:
    try:
        names = sorted(_names(Path(path)))
    except OSError:
        return "What is in it cannot be seen."
    more = f", and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f"In it: {', '.join(names[:LISTED])}{more}." if names else "It is empty."


def _names(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in islice(entries, MOST_NAMES)]
