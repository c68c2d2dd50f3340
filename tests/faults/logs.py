"""Logs to break, sessions whose requests can be looked at, and what a file says."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner, Result

from sapwood import Model, Runtime, Scripted, ScriptedAnswer, Session
from sapwood.actors.environment import Environment
from sapwood.actors.model.providers.base import Request
from sapwood.cli.main import sapwood
from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.entries import KnownEntry, Label
from sapwood.events.ids import EntryId
from sapwood.events.requests import Append, Appended
from sapwood.reading import Reading
from sapwood.store.port import Durability
from tests.build import HEADER, MODEL, TIME, assistant, message_entry, user, words

LOOKING: Final = ("check", "tree", "show")
"""The commands that look into one file."""


def nth_id(nth: int) -> str:
    """The id of the nth entry of a chain, as long as Pi's."""
    return f"{nth:08x}"


def nth_message(nth: int, said: str | None = None) -> KnownEntry:
    """An entry of a chain: question and answer by turns."""
    text = f"message {nth}, and some more words" if said is None else said
    parent = nth_id(nth - 1) if nth else None
    return message_entry(nth_id(nth), assistant(text) if nth % 2 else user(text), parent)


def nth_label(nth: int) -> KnownEntry:
    """An entry of a chain that says nothing to the model."""
    above = EntryId(nth_id(nth - 1))
    return Label(id=EntryId(nth_id(nth)), parent_id=above, timestamp=TIME, target_id=above, label="here")


def lines_of(entries: Sequence[KnownEntry]) -> list[bytes]:
    """A file's lines: its header, and these entries."""
    return [encode_header(HEADER), *map(encode_entry, entries)]


def put(path: Path, lines: Sequence[bytes]) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    """The file's lines as JSON: fails for one that is none. Lines end at LF alone, and the last one does."""
    *lines, rest = path.read_bytes().split(b"\n")
    assert rest == b""
    return [json.loads(line) for line in lines]


def assert_whole(path: Path) -> None:
    """One header, which comes first; each entry once; each under the one before it in the file."""
    header, *entries = rows(path)
    assert header["type"] == "session"
    assert "session" not in [entry["type"] for entry in entries]
    ids = [entry["id"] for entry in entries]
    assert len(set(ids)) == len(ids)
    assert [entry["parentId"] for entry in entries] == [None, *ids[:-1]][: len(ids)]


def said(session: Reading) -> list[str]:
    """What is selected for the model at the leaf."""
    return [words(message) for message in session.context().messages]


def cli(*arguments: object) -> Result:
    """A command, run. A traceback is an exception here."""
    return CliRunner().invoke(sapwood, list(map(str, arguments)), standalone_mode=False)


@asynccontextmanager
async def wired(
    *answers: str,
    where: Path | str | None = None,
    environment: Environment | None = None,
    durability: Durability = "os",
    model: Model = MODEL,
) -> AsyncGenerator[tuple[Session, list[Request]]]:
    """A session, and the requests that its provider was sent."""
    provider = Scripted({"turn": [ScriptedAnswer(text=answer) for answer in answers]})
    runtime = Runtime(providers=[provider], environment=environment or Environment.scripted(), counter="heuristic")
    async with runtime.open_session(where, model=model, cwd="/home/dev", durability=durability) as session:
        yield session, provider.requests


async def append(session: Session, *entries: KnownEntry) -> Appended:
    """Into the log as actors do it: hosts have no way of their own yet."""
    return await session._wiring.pen.session_log.ask(Append(entries=entries))
