"""From what a host names to an open store."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import partial
from typing import Final, cast

from sapwood.actors.environment import Environment
from sapwood.events.entries import SESSION_VERSION, Header
from sapwood.events.errors import Refused, Writer
from sapwood.events.ids import SessionId, check_session_id, new_entry_id, new_session_id
from sapwood.store.jsonl import JsonlStore, open_jsonl
from sapwood.store.memory import MemoryStore
from sapwood.store.port import Store
from sapwood.taking import take_place

NO_HEADER: Final = Header(version=SESSION_VERSION, id=SessionId(""), timestamp="", cwd="")
"""Of an empty file that is only read: no session has begun in it, so it has neither an id nor a folder, the next time either."""

LONG: Final = 1 << 23
"""Bytes of a file, from which on it is opened in a thread: it takes some 20 ms."""


def new_header(
    environment: Environment, *, cwd: str | os.PathLike[str] | None = None, session_id: str | None = None
) -> Header:
    """The header of a session that begins now. `InvalidSessionId` for an id that breaks the rule (S11), `Refused` for no folder at all."""
    now = environment.now_ms()
    if cwd is None:
        try:
            cwd = os.getcwd()  # noqa: PTH109 - it holds text
        except FileNotFoundError as error:
            raise Refused("bad-input", "the present folder is gone: say where the session works with cwd=…") from error
    return Header(
        version=SESSION_VERSION,
        id=new_session_id(now, environment.random) if session_id is None else check_session_id(session_id),
        timestamp=environment.timestamp(),
        cwd=os.fsencode(cwd).decode("utf-8", "replace"),
    )


def open_store(
    where: str | os.PathLike[str] | Store | None,
    environment: Environment,
    *,
    cwd: str | os.PathLike[str] | None = None,
    session_id: str | None = None,
    read_only: bool = False,
) -> Store:
    """The store of a session: a file's, a new one in memory (None), or the host's own. One that is only to be read must exist.

    Raises `Refused` for anything else, besides what the file says.
    """
    place = take_place(where)
    if read_only and not isinstance(place, str):
        raise Refused(
            "bad-input", "read_only is for files: a session in memory is new, and a Store says itself what it is"
        )
    if place is None:
        return MemoryStore(new_header(environment, cwd=cwd, session_id=session_id))
    if not isinstance(place, str):
        return place
    return open_file(place, environment, cwd=cwd, session_id=session_id, read_only=read_only)


async def open_store_beside(
    where: str | os.PathLike[str] | Store | None,
    environment: Environment,
    *,
    cwd: str | os.PathLike[str] | None = None,
    session_id: str | None = None,
    read_only: bool = False,
) -> Store:
    """The same for who shares a loop: a long file is read where that holds up nobody."""
    opening = partial(open_store, where, environment, cwd=cwd, session_id=session_id, read_only=read_only)
    return await environment.run_sync(opening) if _is_long(where, environment) else opening()


def _is_long(where: object, environment: Environment) -> bool:
    if isinstance(where, str | os.PathLike):
        with suppress(OSError, ValueError):  # opening it says what is wrong
            return environment.disk.status_at(os.fspath(cast("str", where))).size > LONG
    return False


def open_file(
    place: str,
    environment: Environment,
    *,
    cwd: str | os.PathLike[str] | None = None,
    session_id: str | None = None,
    read_only: bool = False,
) -> JsonlStore:
    """The store of a file. Raises what the file says."""
    return open_jsonl(
        place,
        disk=environment.disk,
        new=lambda: NO_HEADER if read_only else new_header(environment, cwd=cwd, session_id=session_id),
        new_id=lambda taken: new_entry_id(environment.random, taken),
        now=environment.timestamp,
        me=lambda: Writer(pid=os.getpid(), host=platform.node(), since=environment.timestamp()),
        read_only=read_only,
    )
