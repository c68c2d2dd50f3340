"""Where a scenario's session begins: nothing, entries, or a copy of a file; in memory or in a file of its own. Whom it has with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, assert_never

from sapwood.actors.environment import Environment
from sapwood.actors.extensions.extension import Extension
from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.entries import Header, KnownEntry
from sapwood.events.errors import SapwoodError
from sapwood.events.file_errors import CannotLoadExtension
from sapwood.extending import load_extension
from sapwood.opening import new_header
from sapwood.reading import read
from sapwood.scenario.errors import ScenarioError
from sapwood.scenario.generating import entries_of
from sapwood.scenario.language import FromEntries, FromFile, FromSeed, Scenario
from sapwood.scenario.loading import session_path
from sapwood.session import Session
from sapwood.store.memory import MemoryStore
from sapwood.words.wording import one_line

Kept = Path | MemoryStore
"""Where a story's session is kept."""
CWD: Final = "/scenario"
"""The folder that a new session believes to be in: not the machine's, so that its bytes are the same everywhere."""


def begin(scenario: Scenario, environment: Environment, folder: Path) -> Kept:
    """The session to open, laid out in `folder` if it is a file. `ScenarioError` if its file is no session, or its entries are none."""
    beginning = scenario.story.session
    path = folder / "session.jsonl"
    match beginning:
        case FromFile():
            found = session_path(scenario, beginning)
            path = folder / found.name
            try:
                shutil.copyfile(found, path)
                header, lines = _read(path)
            except (SapwoodError, OSError) as error:
                why = str(error).replace(str(path), str(found))
                raise _unplayable(scenario, "file", why) from error
            begun = header if header.id else new_header(environment, cwd=CWD)  # nothing has begun in an empty file
            return MemoryStore(begun, lines) if scenario.story.store == "memory" else path
        case FromEntries(entries=entries):
            return _laid_out(scenario, entries, new_header(environment, cwd=CWD), path)
        case FromSeed(generated=asked):
            entries = entries_of(asked, scenario.story.model)
            return _laid_out(scenario, entries, new_header(environment, cwd=CWD), path)
        case None:
            return path if scenario.story.store == "jsonl" else MemoryStore(new_header(environment, cwd=CWD))
        case _:
            assert_never(beginning)


def _laid_out(scenario: Scenario, entries: Sequence[KnownEntry], header: Header, path: Path) -> Kept:
    try:
        lines = [*map(encode_entry, entries)]
        store = MemoryStore(header, lines)
    except SapwoodError as error:
        raise _unplayable(scenario, "entries", str(error)) from error
    if scenario.story.store != "jsonl":
        return store
    path.write_bytes(b"\n".join([encode_header(header), *lines, b""]))
    return path


def extensions_of(scenario: Scenario) -> list[Extension]:
    """The extensions that it names, loaded anew: playing it twice gives the same. `ScenarioError` for one that cannot be."""
    extensions: list[Extension] = []
    for at, name in enumerate(scenario.story.extensions):
        try:
            extensions.append(load_extension(scenario.path.parent / name))
        except CannotLoadExtension as error:
            line = scenario.line_of(("extensions", at))
            why = f"extensions.{at + 1}: {name} cannot be loaded: {error.why}"
            raise ScenarioError(str(scenario.path), line, one_line(why)) from error
    return extensions


def leave(place: Kept, session: Session) -> Callable[[], Kept]:
    """What is there of a session now, laid out anew when it is asked for: whatever is written in between is not in it."""
    if isinstance(place, MemoryStore):
        lines = place.lines
        return lambda: MemoryStore(place.header, lines)
    path = Path(session.path)
    data = path.read_bytes() if path.exists() else None

    def laid_out() -> Path:
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(data)
        return path

    return laid_out


def _unplayable(scenario: Scenario, key: str, why: str) -> ScenarioError:
    return ScenarioError(str(scenario.path), scenario.line_of(("session", key)), one_line(why))


def _read(path: Path) -> tuple[Header, list[bytes]]:
    with read(path) as session:
        return session.header, [encode_entry(entry) for entry in session.entries()]
