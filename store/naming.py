"""Where sessions stand and what their files are called, by Pi's rule (S14). No I/O.

The rule is many to one: `/a/b` and `/a-b` have one folder. So whose a session is, its header says, and not its folder; and by `folder_key`
one that is written in another way is the same.
"""

from __future__ import annotations

import hashlib
import ntpath
import os
import posixpath
import re
from typing import Final

from sapwood.events.entries import Header

SUFFIX: Final = ".jsonl"
LONGEST_NAME: Final = 255
"""Bytes of a name that file systems take. Pi has no sessions in a folder whose name is longer: it cannot make it."""

_ROOT: Final = re.compile(r"^[/\\]")
_SEPARATORS: Final = re.compile(r"[/\\:]")
_LONG_ROOT: Final = re.compile(r"^\\\\[?.]\\(?:UNC\\)?", re.IGNORECASE)
"""How a path of Windows begins that may be longer than others."""
_ON_WINDOWS: Final = re.compile(r"^(?:[A-Za-z]:(?:[\\/]|$)|\\\\)")
_STOPS: Final = re.compile(r"[:.]")


def project_name(cwd: str) -> str:
    """The name of the folder for the sessions of a working folder: `/home/dev/My Proj` is `--home-dev-My Proj--`.

    One that would be longer than a name may be is cut, and ends with a digest of the whole.
    """
    name = f"--{_SEPARATORS.sub('-', _ROOT.sub('', _LONG_ROOT.sub('', cwd)))}--"
    data = os.fsencode(name)
    if len(data) <= LONGEST_NAME:
        return name
    end = f"-{hashlib.sha256(data).hexdigest()[:16]}--"
    return data[: LONGEST_NAME - len(end)].decode("utf-8", "ignore") + end


def folder_key(cwd: str) -> str:
    """One text for each way to write a folder's path, and another one for every other folder. It asks no disk: links are not followed.

    A path of Windows is told by how it begins. There letters great and small are the same, and both slashes.
    """
    if not _ON_WINDOWS.match(cwd):
        return (
            cwd if ".." in cwd.split("/") else posixpath.normpath(cwd)
        )  # what lies behind a link, only the disk knows
    long = _LONG_ROOT.match(cwd)
    rest = cwd[long.end() :] if long else cwd
    root = "\\\\" if long and long[0].upper().endswith("UNC\\") else ""
    return ntpath.normcase(ntpath.normpath(root + rest))


def project_names(cwd: str) -> frozenset[str]:
    """The names that a folder's sessions may lie under, in small letters: by the path as it is given, and as most write it."""
    return frozenset(project_name(one).casefold() for one in (cwd, folder_key(cwd)))


def file_name(header: Header) -> str:
    """The name of a session's file: when it was begun, and its id."""
    return f"{_STOPS.sub('-', header.timestamp)}_{header.id}{SUFFIX}"
