"""The files in which a project says how it wants to be worked on: from the root of the disk down to a folder. Reads, and writes nothing.

1. Of a folder's `NAMES` the first that says something counts; a folder with none says nothing.
2. What cannot be read, what is no text and what is too large for a prompt is left out, and named.
3. All together have room in a prompt: the innermost comes first, for it knows most of the work, and one that has no room left is left out.
4. A folder that is not there, and one of which nobody knows where it is, is named as well. The process's own folder is never meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

import attrs

from sapwood.actors.agent.prepare import ProjectFile, project_text
from sapwood.store.disk import Disk

NAMES: Final = ("AGENTS.md", "CLAUDE.md")
MOST_FILE_BYTES: Final = 1 << 18
"""256 KiB, some 65,000 tokens: more than anybody writes by hand, and half of the window of a usual model."""
MOST_TOGETHER: Final = 1 << 19
"""Of all files, as they stand in the prompt: half of what a section may have (S12), and about the window of a usual model."""
REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
_HALVES: Final = re.compile("[\ud800-\udfff]")


@attrs.frozen
class LeftOut:
    """A file that is there and not in the prompt, or a folder that is not there."""

    path: str
    why: str


@attrs.frozen
class Found:
    """The files of a folder and of those above it, root-most first."""

    files: tuple[ProjectFile, ...]
    left_out: tuple[LeftOut, ...]


class _NoUseError(Exception):
    """A file that can be read and is nothing for a prompt, and why."""


def find_project_files(disk: Disk, folder: str) -> Found:
    """What stands on the way from the root of the disk down to a folder. Never raises for what is there."""
    files: list[ProjectFile] = []
    left_out: list[LeftOut] = []
    room = MOST_TOGETHER
    for one in _innermost_first(disk, folder):
        if isinstance(one, LeftOut):
            left_out.append(one)
            continue
        size = len(project_text((one,)).encode())
        if size > room:
            left_out.append(
                LeftOut(one.path, f"{MOST_TOGETHER:,} bytes are all that such files have room for together")
            )
        else:
            room -= size
            files.append(one)
    return Found(tuple(reversed(files)), tuple(reversed(left_out)))


def _innermost_first(disk: Disk, folder: str) -> Iterator[ProjectFile | LeftOut]:
    here = PurePath(os.path.normpath(folder))
    if not folder:
        yield LeftOut(NAMES[0], "the session notes no folder")
        return
    if not here.is_absolute():
        yield LeftOut(_shown(folder), "it is not told from the root of the disk on, so nobody knows where it is")
        return
    try:
        why = _why_none(disk, str(here))
    except ValueError:
        yield LeftOut(_shown(folder), "nothing can have this name")
        return
    if why is not None:
        yield LeftOut(_shown(folder), why)
    for place in (here, *here.parents):
        yield from _of_folder(disk, place)


def _why_none(disk: Disk, folder: str) -> str | None:
    """Why there is no such folder, if there is none."""
    try:
        disk.close(disk.open_read(folder))
    except (FileNotFoundError, NotADirectoryError):
        hint = "; a name that is not UTF-8 is not kept: give it as project_context" if REPLACED in folder else ""
        return f"there is no such folder{hint}"
    except OSError:  # it is a folder, or one that may not be listed
        return None
    return "it is a file and no folder"


def _of_folder(disk: Disk, folder: PurePath) -> Iterator[ProjectFile | LeftOut]:
    for name in NAMES:
        path = str(folder / name)
        try:
            text = _text(disk, path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except _NoUseError as error:
            yield LeftOut(_shown(path), str(error))
        except OSError as error:
            yield LeftOut(_shown(path), error.strerror or str(error))
        else:
            if text:
                yield ProjectFile(_shown(path), text)
                return


def _text(disk: Disk, path: str) -> str:
    descriptor = disk.open_read(path)
    try:
        data = disk.read(descriptor, 0, MOST_FILE_BYTES + 1)
    finally:
        disk.close(descriptor)
    if len(data) > MOST_FILE_BYTES:
        raise _NoUseError(f"it has more than {MOST_FILE_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _NoUseError("it is no text in UTF-8") from error
    if "\0" in text:
        raise _NoUseError("it is no text")
    return text.strip()


def _shown(path: str) -> str:
    """A path as text, also one that is none."""
    return _HALVES.sub(REPLACED, path)
