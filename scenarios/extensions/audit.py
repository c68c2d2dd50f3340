"""An audit trail: every event of a session but the pieces of answers, a line of JSON each, in a file beside it.

It is told beside the run, so a slow disk delays no answer. How far the trail reaches is kept in the log when a run has settled and when the
session closes, and read back when it opens. What the log tells of this is no line itself.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

import attrs
import msgspec

import sapwood
from sapwood.events.hooks import SessionShutdown, SessionStart
from sapwood.events.runtime import AgentSettled, EntryAppended, MessageUpdate, News

extension = sapwood.Extension("audit")
folder = Path(tempfile.gettempdir())


@attrs.define
class Trail:
    """Of one session, while it is open."""

    file: IO[bytes]
    lines: int
    kept: int
    """How many of them the log tells of."""


trails: dict[str, Trail] = {}
"""By session: the extension may serve several."""


@extension.on(SessionStart)
def begin(question: SessionStart, context: sapwood.ExtensionContext) -> None:
    file = (folder / f"sapwood-audit-{context.session_id}.jsonl").open("ab")
    match context.kept("audit"):
        case (*_, {"lines": int(lines)}):
            trails[context.session_id] = Trail(file, lines, kept=lines)
        case _:
            trails[context.session_id] = Trail(file, 0, kept=0)


@extension.on(News)
def write(event: News, context: sapwood.ExtensionContext) -> None:
    trail = trails.get(context.session_id)
    if trail is None:  # it is closed: what others keep at their end is told behind ours
        return
    match event:
        case MessageUpdate() | EntryAppended(kind="custom"):
            pass
        case _:
            trail.file.write(msgspec.json.encode(event) + b"\n")
            trail.lines += 1


@extension.on(AgentSettled)
async def settled(event: AgentSettled, context: sapwood.ExtensionContext) -> None:
    await keep(trails[context.session_id], context)


@extension.on(SessionShutdown)
async def end(question: SessionShutdown, context: sapwood.ExtensionContext) -> None:
    trail = trails.pop(context.session_id)
    await keep(trail, context)
    trail.file.close()


async def keep(trail: Trail, context: sapwood.ExtensionContext) -> None:
    trail.file.flush()
    if trail.kept < trail.lines:
        trail.kept = trail.lines
        await context.append_custom("audit", {"lines": trail.lines})
