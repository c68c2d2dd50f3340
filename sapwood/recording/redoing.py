"""Doing again what a host did to a session, and what extensions had it do, as a recording has it."""

from __future__ import annotations

import msgspec
import trio

from sapwood.events.base import Json
from sapwood.events.commands import Abort, AnyCommand, FollowUp, Navigate, Prompt, Steer, Withdraw
from sapwood.events.content import ImageContent
from sapwood.events.hooks import Draft, DraftMessage, SessionBeforeFork
from sapwood.events.runtime import Event
from sapwood.lending import Lending
from sapwood.session import Session


async def redo(session: Session, value: Json) -> None:
    """Do it. Raises what it raised."""
    match value["type"]:
        case "close":
            await session.close()
        case "restore":
            await session.restore()
        case "session_before_fork":
            question = msgspec.convert(value, SessionBeforeFork)
            await session._ask_whether_to_fork(question)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the copy itself is no part of the session
        case "feed":
            session.feed(msgspec.convert(value["event"], Event))
        case _:
            await _command(session, value)


async def _command(session: Session, value: Json) -> None:
    command: AnyCommand = msgspec.convert(value, AnyCommand)
    match command:
        case Prompt() | Steer() | FollowUp():
            session.say_as_taken(command)
        case Abort():
            await session.abort()
        case Withdraw(entry_id=entry_id):
            await session._withdraw(entry_id)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - what the handle of the recording did, which is not there
        case _:
            await session._ask(command, again=not isinstance(command, Navigate))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the command as it was made


async def redo_lent(lending: Lending, value: Json) -> None:
    """Have it done as an extension had. What becomes of it is told to nobody: who asked for it is not there. Raises what it raised."""
    extension = value.get("extension", "")
    match value["type"]:
        case "append":
            await lending.append(msgspec.convert(value["draft"], Draft))
        case "set_name":
            await lending.set_name(value["name"])
        case "prompt":
            lending.prompt(extension, value["text"], msgspec.convert(value["images"], tuple[ImageContent, ...]))
        case "compact":
            lending.compact(extension, value["instructions"])
        case "append_message":
            draft = msgspec.convert(value["draft"], DraftMessage)
            lending.append_message(
                extension, draft.custom_type, draft.content, display=draft.display, details=draft.details
            )
        case _:
            lending.start_soon(extension, trio.sleep_forever)  # it is done on the tape's side
