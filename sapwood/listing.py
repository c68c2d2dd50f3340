"""The sessions that there are, for a host: a channel of what is listed, and a look through one whole file (S14)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import trio

from sapwood.actors.environment import Environment
from sapwood.events.catalog import ListedSession, ScannedSession, UnlistedFile
from sapwood.events.errors import Refused, shown
from sapwood.opening import open_store
from sapwood.places import sessions_folder
from sapwood.reading import ReadSession
from sapwood.store.catalog import Catalog, Told
from sapwood.store.searching import Needle
from sapwood.taking import take_folder, take_path, take_text

STEPS: Final = 32
"""Files that are looked into, or megabytes that are searched, between two looks whether anybody still waits: some milliseconds."""


class Sessions(trio.abc.ReceiveChannel[ListedSession]):
    """Sessions as they are found, the last active first. Ends with `EndOfChannel`; made by `Runtime.sessions`.

    Whoever stops, or is cancelled, waits for the step that is being done, and loses nothing that was found. For one reader at a time.
    """

    def __init__(self, told: Iterator[Told], environment: Environment) -> None:
        self._told = told
        self._environment = environment
        self._ready: deque[ListedSession] = deque()
        self._unlisted: list[UnlistedFile] = []
        self._is_open = True

    @property
    def unlisted(self) -> Sequence[UnlistedFile]:
        """The files and folders so far that could not be listed, and why."""
        return tuple(self._unlisted)

    async def receive(self) -> ListedSession:
        """The next one."""
        if not self._is_open:
            raise trio.ClosedResourceError
        while not self._ready:
            some = await self._environment.run_sync(self._some)
            if not some:
                raise trio.EndOfChannel
            for one in some:
                if isinstance(one, ListedSession):
                    self._ready.append(one)
                elif one is not None:
                    self._unlisted.append(one)
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Stop looking."""
        self._is_open = False
        self._ready.clear()
        await trio.lowlevel.checkpoint()

    def _some(self) -> list[Told]:
        """A few steps: up to the first that is told, so that nobody waits for the second."""
        some: list[Told] = []
        for one in self._told:
            some.append(one)
            if isinstance(one, ListedSession) or len(some) == STEPS:
                break
        return some


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
    if search is not None and not take_text(search, "what is searched for").strip():
        raise Refused("bad-input", f"what is searched for is a text, not {shown(search)}")
    return SessionsWanted(
        folders=named, cwd=take_folder(cwd), needle=None if search is None else Needle(take_text(search, "a text"))
    )


def listing(want: SessionsWanted, environment: Environment) -> Iterator[Told]:
    """The steps of a look, each of which may block for a moment."""
    return Catalog(environment.disk, environment.folders).sessions(want.folders, cwd=want.cwd, needle=want.needle)


def scanned(path: str, environment: Environment) -> ScannedSession:
    """What the whole of a file tells."""
    with ReadSession(open_store(path, environment, read_only=True)) as session:
        return ScannedSession(
            path=path, id=session.header.id, name=session.name, stats=session.stats(), damage=tuple(session.damage)
        )
