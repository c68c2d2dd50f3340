"""Sessions that move in their tree: a log to begin with, summaries that keep the contract, and what a state is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs

from sapwood import Environment, Runtime, Scripted, ScriptedAnswer, Session, Settings
from sapwood.actors.navigation.settings import BranchSummarySettings
from sapwood.events.base import is_object
from sapwood.events.codec import encode_entry
from sapwood.events.commands import QueuedInputs
from sapwood.events.context import Context
from sapwood.events.entries import BranchSummary, Custom, KnownEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import StoredMessage
from sapwood.store.memory import MemoryStore
from sapwood.store.port import Store
from tests.build import HEADER, MODEL, assistant, call, message_entry, result, user
from tests.sapwood.summarizing import said

FOUND: Final = """## Goal
Find a wood.

## Constraints & Preferences
(none)

## Progress

### Done
- [x] Ash was looked at.

### In Progress
(none)

### Blocked
(none)

## Key Decisions
- **No ash**: too heavy.

## Next Steps
1. Look at spruce."""
OMP: Final = Settings(branch_summary=BranchSummarySettings(manner="omp"))

TALK: Final[tuple[tuple[str, StoredMessage], ...]] = (
    ("u1", user("Which wood?")),
    ("a1", assistant("Ash or spruce.")),
    ("u2", user("Say more of ash.")),
    ("a2", assistant("I look.", call("c1", "read", path="ash.md"), stop="toolUse")),
    ("r2", result("c1", "Ash is heavy.")),
    ("a3", assistant("Heavy and tough.")),
)
"""One branch, from the first word to the last."""


def chain(*said: tuple[str, StoredMessage]) -> list[KnownEntry]:
    """Entries, each under the one before."""
    entries: list[KnownEntry] = []
    for name, message in said:
        entries.append(message_entry(name, message, entries[-1].id if entries else None))
    return entries


def kept(entries: Iterable[KnownEntry]) -> Store:
    """A store that holds these."""
    return MemoryStore(HEADER, [encode_entry(entry) for entry in entries])


@asynccontextmanager
async def branching(
    *answers: str | ScriptedAnswer,
    summaries: Sequence[str | ScriptedAnswer] | None = None,
    compactions: Sequence[str | ScriptedAnswer] = (),
    where: Any = None,
    entries: Sequence[KnownEntry] | None = None,
    **more: Any,
) -> AsyncGenerator[tuple[Session, Scripted]]:
    """A session that has said `TALK`, or these entries, or what is kept at a place; and the provider with what it was sent."""
    provider = Scripted(
        {
            "turn": said(answers),
            "branch_summary": said([FOUND] * 9 if summaries is None else summaries),
            "compaction": said(compactions),
        }
    )
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    store = kept(chain(*TALK) if entries is None else entries) if where is None else where
    given: dict[str, Any] = {"model": MODEL, **more}
    async with runtime.open_session(store, **given) as session:
        yield session, provider


@attrs.frozen
class State:
    """All that a move that came to nothing leaves as it was."""

    lines: tuple[bytes, ...]
    leaf: EntryId | None
    queue: QueuedInputs
    context: Context
    holder: str


def state_of(session: Session) -> State:
    view = session._wiring.view
    lines = tuple(bytes(view._store.line(at)) for at in range(len(view)))
    return State(lines, view.leaf, session.queue(), session.context(), session.state)


def summaries_of(session: Session) -> list[BranchSummary]:
    return [entry for entry in session.entries() if isinstance(entry, BranchSummary)]


def markers_of(session: Session) -> list[Custom]:
    return [entry for entry in session.entries() if isinstance(entry, Custom)]


def position_of(session: Session) -> str | None:
    """Where the session stands."""
    tree = session.tree()
    place = tree.position(tree.leaf)
    return None if place is None else tree.id(place)


def details_of(summary: BranchSummary | None) -> dict[str, Any]:
    """What an entry says beside its text."""
    assert summary is not None
    assert is_object(summary.details)
    return dict(summary.details)


def at(name: str) -> EntryId:
    return EntryId(name)
