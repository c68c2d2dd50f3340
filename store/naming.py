"""Where sessions stand and what their files are called, by Pi's rule (S14). No I/O.

The rule is many to one: `/a/b` and `/a-b` have one folder. So whose a session is, its header says, and not its folder.
"""

from __future__ import annotations

import re
from typing import Final

from sapwood.events.entries import Header

SUFFIX: Final = ".jsonl"
_ROOT: Final = re.compile(r"^[/\\]")
_SEPARATORS: Final = re.compile(r"[/\\:]")
_STOPS: Final = re.compile(r"[:.]")


def project_name(cwd: str) -> str:
    """The name of the folder for the sessions of a working folder: `/home/dev/My Proj` is `--home-dev-My Proj--`."""
    return f"--{_SEPARATORS.sub('-', _ROOT.sub('', cwd))}--"


def file_name(header: Header) -> str:
    """The name of a session's file: when it was begun, and its id."""
    return f"{_STOPS.sub('-', header.timestamp)}_{header.id}{SUFFIX}"
