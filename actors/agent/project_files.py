"""The files in which a project says how it wants to be worked on: from the root of the disk down to a folder. Reads, and writes nothing.

1. Of a folder's `NAMES` the first that is there counts; a folder with none says nothing.
2. What cannot be read, and what is too large for a prompt, is left out, and named.
"""

from __future__ import annotations

import errno
import os
from pathlib import PurePath
from typing import Final

import attrs

from sapwood.actors.agent.prepare import ProjectFile
from sapwood.store.disk import Disk

NAMES: Final = ("AGENTS.md", "CLAUDE.md")
MOST_FILE_BYTES: Final = 1 << 18
"""256 KiB, some 65,000 tokens: more than anybody writes by hand, and half of the window of a usual model."""


@attrs.frozen
class LeftOut:
    """A file that is there and not in the prompt."""

    path: str
    why: str


@attrs.frozen
class Found:
    """The files of a folder and of those above it, root-most first."""

    files: tuple[ProjectFile, ...]
    left_out: tuple[LeftOut, ...]


def find_project_files(disk: Disk, folder: str) -> Found:
    """What stands on the way from the root of the disk down to a folder. Never raises for what is there."""
    here = PurePath(os.path.normpath(folder))
    files: list[ProjectFile] = []
    left_out: list[LeftOut] = []
    for place in [*reversed(here.parents), here]:
        for name in NAMES:
            path = str(place / name)
            try:
                text = _text(disk, path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                left_out.append(LeftOut(_shown(path), error.strerror or str(error)))
            else:
                files.append(ProjectFile(_shown(path), text))
            break
    return Found(tuple(files), tuple(left_out))


def _text(disk: Disk, path: str) -> str:
    descriptor = disk.open_read(path)
    try:
        data = disk.read(descriptor, 0, MOST_FILE_BYTES + 1)
    finally:
        disk.close(descriptor)
    if len(data) > MOST_FILE_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {MOST_FILE_BYTES:,} bytes")
    return data.decode("utf-8-sig", "replace").strip()


def _shown(path: str) -> str:
    """A path as text, also one that is none."""
    return os.fsencode(path).decode("utf-8", "replace")
