"""A session by its path or by its id (V1).

1. What has a folder in it, ends as a session's file does, or is there, is a path. Anything else may be an id, or how one begins.
2. An id is looked for where sessions stand by themselves: in the platform's data folder, and in Pi's.
3. An id that nothing has is taken for a path: what cannot be opened says so in its own words, and where it was looked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from sapwood.cli.trouble import Trouble
from sapwood.events.catalog import ListedSession
from sapwood.words.wording import one_line

SHORTEST: Final = 6
"""Characters of an id that are looked for: fewer may be a word."""
SHOWN: Final = 3
"""Sessions that are named where several are meant."""


def path_of(named: str) -> str:
    """The path of a session that is named by it, or by its id. `Trouble` for one that several sessions have."""
    if not may_be_id(named):
        return named
    found = _found(named)
    if len(found) > 1:
        some = ", ".join(one.path for one in found[:SHOWN])
        raise Trouble(f"{one_line(named)} may be {len(found)} sessions ({some} …): give more of its id, or its path")
    return found[0].path if found else named


def may_be_id(named: str) -> bool:
    """Whether it is looked for among the ids of sessions."""
    is_path = os.path.dirname(named) or named.endswith(".jsonl") or os.path.lexists(named)  # noqa: PTH120 - paths are plain text
    return len(named) >= SHORTEST and not is_path


def looked_in() -> Sequence[str]:
    """The folders in which an id is looked for, there or not."""
    from sapwood.places import pi_sessions_folder, sessions_folder

    return sessions_folder(), pi_sessions_folder()


def _found(named: str) -> Sequence[ListedSession]:
    from sapwood.store.catalog import Catalog
    from sapwood.store.disk import RealDisk
    from sapwood.store.folders import RealFolders

    catalog = Catalog(RealDisk(), RealFolders())
    roots = [one for one in looked_in() if os.path.isdir(one)]  # noqa: PTH112 - as above
    return catalog.find(roots, named)
