"""Doing again what a host did to a session, as a recording has it."""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.events.base import Json
from sapwood.events.commands import Abort, AnyCommand, FollowUp, Navigate, Prompt, Steer, Withdraw
from sapwood.events.runtime import Event
from sapwood.session import Session

_PICKS_AN_ID: Final = "entryId"


async def redo(session: Session, value: Json) -> None:
    """Do it. Raises what it raised."""
    match value["type"]:
        case "close":
            await session.close()
        case "restore":
            await session.restore()
        case "feed":
            session.feed(msgspec.convert(value["event"], Event))
        case _:
            await _command(session, value)


async def _command(session: Session, value: Json) -> None:
    command: AnyCommand = msgspec.convert(value, AnyCommand)
    match command:
        case Prompt(input=said):
            session.submit(said.text, images=said.images)
        case Steer(input=said):
            session.steer(said.text, images=said.images)
        case FollowUp(input=said):
            session.follow_up(said.text, images=said.images)
        case Abort():
            await session.abort()
        case Withdraw(entry_id=entry_id):
            await session._withdraw(entry_id)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - what the handle of the recording did, which is not there
        case _:
            if _PICKS_AN_ID in value:
                session._new_id()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - it was drawn for the command
            await session._ask(command, again=not isinstance(command, Navigate))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the command as it was made
