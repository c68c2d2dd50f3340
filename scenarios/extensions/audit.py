"""An audit trail: every event but the pieces of answers, a line of JSON each, in a file beside the session.

It is told beside the run, so a slow disk delays no answer; how far the trail reaches is kept in the log when a run has settled.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

import msgspec

import sapwood
from sapwood.events.hooks import SessionShutdown, SessionStart
from sapwood.events.runtime import AgentSettled, MessageUpdate, News

extension = sapwood.Extension("audit")
folder = Path(tempfile.gettempdir())
trails: dict[str, IO[bytes]] = {}
lines: dict[str, int] = {}


@extension.on(SessionStart)
def begin(question: SessionStart, context: sapwood.ExtensionContext) -> None:
    trails[context.session_id] = (folder / f"sapwood-audit-{context.session_id}.jsonl").open("ab")
    lines[context.session_id] = 0


@extension.on(News)
def write(event: News, context: sapwood.ExtensionContext) -> None:
    if not isinstance(event, MessageUpdate):
        trails[context.session_id].write(msgspec.json.encode(event) + b"\n")
        lines[context.session_id] += 1


@extension.on(AgentSettled)
async def keep(event: AgentSettled, context: sapwood.ExtensionContext) -> None:
    trails[context.session_id].flush()
    await context.append_custom("audit", {"lines": lines[context.session_id]})


@extension.on(SessionShutdown)
def end(question: SessionShutdown, context: sapwood.ExtensionContext) -> None:
    trails.pop(context.session_id).close()
