"""Which sessions a host looks for, and a look through one whole file (S14). Without trio."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import attrs

from sapwood.actors.environment import Environment
from sapwood.events.catalog import ScannedSession
from sapwood.events.errors import Refused, shown
from sapwood.opening import open_store
from sapwood.places import sessions_folder
from sapwood.reading import ReadSession
from sapwood.store.catalog import Catalog, Told
from sapwood.store.searching import Needle
from sapwood.taking import take_folder, take_path, take_text


@attrs.frozen(kw_only=True)
class SessionsWanted:
    """Which sessions are looked for."""

    folders: tuple[str, ...]
    cwd: str | None
    needle: Needle | None


def looked_for(folders: Sequence[object], cwd: object, search: object) -> SessionsWanted:
    """What a host asked for, checked; without a folder the platform's, if it is there. `Refused` for what is none."""
    named = tuple(take_path(one, "a folder of sessions") for one in folders)
    if not named:
        default = sessions_folder()
        named = (default,) if os.path.isdir(default) else ()  # noqa: PTH112 - paths are plain text
    text = None if search is None else take_text(search, "what is searched for")
    if text is not None and not text.strip():
        raise Refused("bad-input", f"what is searched for is a text, not {shown(search)}")
    return SessionsWanted(folders=named, cwd=take_folder(cwd), needle=None if text is None else Needle(text))


def listing(want: SessionsWanted, environment: Environment) -> Iterator[Told]:
    """The steps of a look, each of which may block for a moment."""
    return Catalog(environment.disk, environment.folders).sessions(want.folders, cwd=want.cwd, needle=want.needle)


def scanned(path: str, environment: Environment) -> ScannedSession:
    """What the whole of a file tells."""
    with ReadSession(open_store(path, environment, read_only=True)) as session:
        return ScannedSession(
            path=path, id=session.header.id, name=session.name, stats=session.stats(), damage=tuple(session.damage)
        )
