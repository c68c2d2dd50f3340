"""What stands at a path, in words. Looks; opens nothing, and never waits."""

from __future__ import annotations

import os
import stat
from typing import Final

from sapwood.words.wording import one_line

NOT_THERE: Final = "no such file"


def missing(path: str | os.PathLike[str]) -> str | None:
    """Why there is no file at a path, in words; None if there is one."""
    name = os.fspath(path)
    if not name:
        return "the name is empty"
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 - the path may be any text
    except FileNotFoundError:
        if not os.path.islink(name):  # noqa: PTH114 - as above
            return NOT_THERE
        return f"it is a link to {one_line(os.readlink(name))}, which is missing"  # noqa: PTH115 - as above
    except OSError as error:
        return (error.strerror or str(error)).lower()
    except ValueError:
        return "no file can have this name"
    if stat.S_ISDIR(mode):
        return "it is a folder, not a file"
    return None if stat.S_ISREG(mode) else "it is no regular file, but a pipe or a device"
