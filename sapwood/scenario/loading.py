"""From a scenario's file to a `Scenario`. Reads; writes nothing.

1. Whatever is wrong is a `ScenarioError`; a pipe or a device is refused and not waited for.
2. A message is one line, whatever the file and its name hold.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from sapwood.events.base import is_object
from sapwood.scenario.errors import Misfit, ScenarioError
from sapwood.scenario.language import FromFile, Scenario
from sapwood.scenario.structuring import fit
from sapwood.scenario.text import BadText, parse
from sapwood.scenario.wire import ENTRY_KINDS
from sapwood.store.disk import RealDisk
from sapwood.words.paths import missing
from sapwood.words.wording import one_line, quoted

SUFFIXES: Final = (".yaml", ".yml")
MOST_BYTES: Final = 16 * 2**20
"""Of a scenario's file: beyond it reading it would take minutes. What is larger is a session, which a scenario may name."""


def load(path: str | os.PathLike[str]) -> Scenario:
    """The scenario in a file. Raises `ScenarioError`, with file and line: unreadable, no YAML, or not what the language says.

    Of several mistakes of form it is the first, and bears the `others`.
    """
    where = Path(path)
    try:
        document = parse(read_text(path))
    except BadText as error:
        raise ScenarioError(str(path), error.line, error.message) from error
    try:
        story = fit(document.value, document.line_of)
    except Misfit as misfit:
        first, *others = ((document.line_of(one.place), _spoken(one)) for one in misfit.each())
        more = tuple(ScenarioError(str(path), *other) for other in others)
        raise ScenarioError(str(path), *first, others=more) from misfit
    scenario = Scenario(path=where, story=story, line_of=document.line_of)
    if isinstance(story.session, FromFile):
        why = missing(session_path(scenario, story.session))
        if why is not None:
            line = document.line_of(("session", "file"))
            folder = one_line(str(where.parent))
            words = f"there is no session file {quoted(story.session.file)}: {why} (looked for from {folder} on, beside the scenario)"
            raise ScenarioError(str(path), line, words)
    return scenario


def session_path(scenario: Scenario, beginning: FromFile) -> Path:
    """Where the session of a scenario lies."""
    return scenario.path.parent / beginning.file


def find(path: str | os.PathLike[str]) -> list[Path]:
    """The scenarios that a path names: itself, or all in a folder and below it, by name. `ScenarioError` if there are none."""
    name = os.fspath(path)
    if not name:
        raise ScenarioError(name, None, "cannot be read: the name is empty")
    where = Path(name)
    if not os.path.isdir(name):  # noqa: PTH112 - the path may be any text
        return [where]
    found = sorted(file for file in where.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not found:
        raise ScenarioError(str(path), None, f"no scenario in this folder: put a file there that ends in {SUFFIXES[0]}")
    return found


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a scenario's file. Raises `ScenarioError`."""
    path = os.fspath(path)
    why = missing(path)
    if why is not None:
        raise ScenarioError(path, None, f"cannot be read: {why}")
    data = _bytes(path)
    if _is_session(data):
        raise ScenarioError(
            path,
            None,
            "is a session, and no story: sapwood show FILE shows it, and a story goes on with it by session: {file: ...}",
        )
    if len(data) > MOST_BYTES:
        raise ScenarioError(
            path, None, f"is longer than {MOST_BYTES // 2**20} MiB: a long session is better named as a file"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(path, line, "this is not UTF-8 text") from error


def _is_session(data: bytes) -> bool:
    """Whether it begins as a session file does: with its header, or another entry if that was lost."""
    try:
        first = msgspec.json.decode(data.split(b"\n", 1)[0])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return is_object(first) and first.get("type") in {"session", *ENTRY_KINDS}


def _bytes(path: str) -> bytes:
    """The file's content, or of what is too long one byte more than it may have. Never waits for a pipe."""
    disk = RealDisk()
    try:
        descriptor = disk.open_read(path)
        try:
            return disk.read(descriptor, 0, MOST_BYTES + 1)
        finally:
            disk.close(descriptor)
    except OSError as error:
        raise ScenarioError(path, None, f"cannot be read: {(error.strerror or str(error)).lower()}") from error


def _spoken(misfit: Misfit) -> str:
    """What is wrong, and at which key."""
    place = ".".join(one_line(step, 40) if isinstance(step, str) else str(step + 1) for step in misfit.place)
    return f"{place}: {misfit.message}" if place else misfit.message
