"""What a catalogue tells of sessions (S14)."""

from __future__ import annotations

from sapwood.events.base import Wire
from sapwood.events.damage import Damage
from sapwood.events.ids import SessionId
from sapwood.events.stats import SessionStats


class ListedSession(Wire, frozen=True, kw_only=True):
    """A session, as far as the beginning and the end of its file tell; what they do not tell is None."""

    path: str
    id: SessionId
    version: int
    cwd: str
    """The working folder that it notes."""
    parent_session: str | None = None
    """The path of the session that it was forked from."""
    created: str
    """When it was begun, as its header has it: ISO 8601."""
    modified: str
    """When its file was last written, by the file system."""
    last_activity: str | None = None
    """When something was last said or done in it: bookkeeping is not counted."""
    size: int
    """Bytes."""
    name: str | None = None
    """The present name. None as well where there is none."""
    first_message: str | None = None
    """What a person said first, or how it begins."""
    open: bool | None = None
    """Whether somebody is writing it."""


class UnlistedFile(Wire, frozen=True, kw_only=True):
    """A file or a folder that stands where sessions do and could not be listed, and why."""

    path: str
    why: str


class ScannedSession(Wire, frozen=True, kw_only=True):
    """A session of which the whole file was read."""

    path: str
    id: SessionId
    name: str | None = None
    """None where there is none."""
    stats: SessionStats
    """How much is in it, and what it has cost."""
    damage: tuple[Damage, ...] = ()
    """What is wrong with the file (S7)."""
