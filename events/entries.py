"""The lines of a session: its header, the eleven kinds of entry, and `Unknown` for a later version's.

Every entry has an id, a parent and a time. None is ever changed once it is in the log; what changes the past (an edit, a
compaction, a label) is an entry of its own that points at it.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from sapwood.events.base import Json, Wire
from sapwood.events.content import ContentBlock, UserContent
from sapwood.events.ids import EntryId, SessionId
from sapwood.events.messages import StoredMessage, SystemMessage, Usage

SESSION_VERSION: Final = 3
"""The version that we write. 1 had no ids, 2 called custom messages hookMessage."""

EXTRA: Final = "~extra"
"""The name under which unknown fields travel inside our Structs; never on the wire."""


class Line(Wire, frozen=True, kw_only=True):
    """A line of the file. Fields that our type does not know are in `extra`, shaped as the line is (S2)."""

    extra: dict[str, Any] | None = msgspec.field(default=None, name=EXTRA)


class Header(Line, frozen=True, kw_only=True, tag_field="type", tag="session"):
    version: int = 1
    """Absent in version 1."""
    id: SessionId
    timestamp: str
    cwd: str = ""
    parent_session: str | None = None
    """The path of the session that this one was forked from."""

    @property
    def is_later(self) -> bool:
        """Whether a later release wrote it: the session can be read, and not written (S2)."""
        return self.version > SESSION_VERSION


class Node(Line, frozen=True, kw_only=True):
    """What every entry has. `timestamp` is ISO 8601 in UTC."""

    id: EntryId
    parent_id: EntryId | None
    timestamp: str


class MessageEntry(Node, frozen=True, kw_only=True, tag_field="type", tag="message"):
    message: StoredMessage


class ModelChange(Node, frozen=True, kw_only=True, tag_field="type", tag="model_change"):
    provider: str
    model_id: str


class ThinkingLevelChange(Node, frozen=True, kw_only=True, tag_field="type", tag="thinking_level_change"):
    thinking_level: str


class UsageEntry(Node, frozen=True, kw_only=True, tag_field="type", tag="usage"):
    """Something billed that no message carries; it is in the totals and not in the context."""

    kind: str
    provider: str
    model: str
    usage: Usage
    note: str | None = None


class Compaction(Node, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """The model reads `summary` in the place of what came before `first_kept_entry_id` (P1, C13)."""

    summary: str
    first_kept_entry_id: EntryId
    """This entry's own id: nothing is kept."""
    tokens_before: int
    details: Json = None
    usage: Usage | None = None
    from_hook: bool | None = None
    system_message: SystemMessage | None = None
    """The whole prompt and tools at the boundary."""


class Replacement(Wire, frozen=True, kw_only=True):
    content: str | tuple[ContentBlock, ...]


class ContextEdit(Node, frozen=True, kw_only=True, tag_field="type", tag="context_edit"):
    """Hides one earlier entry from the model (None) or gives it other content (P3)."""

    target_id: EntryId
    replacement: Replacement | None


class BranchSummary(Node, frozen=True, kw_only=True, tag_field="type", tag="branch_summary"):
    """What another branch found, hung under the place that was moved to (N7)."""

    from_id: EntryId | Literal["root"]
    """The leaf that was left."""
    summary: str
    details: Json = None
    usage: Usage | None = None
    from_hook: bool | None = None


class Custom(Node, frozen=True, kw_only=True, tag_field="type", tag="custom"):
    """State of an extension, or of ours (`sapwood.*`). The model never sees it."""

    custom_type: str
    data: Json = None


class CustomMessageEntry(Node, frozen=True, kw_only=True, tag_field="type", tag="custom_message"):
    """An extension's message; the model reads it as a user's."""

    custom_type: str
    content: UserContent
    display: bool
    details: Json = None


class Label(Node, frozen=True, kw_only=True, tag_field="type", tag="label"):
    """A person's mark on an entry; without `label` (or with an empty one) the mark is taken off."""

    target_id: EntryId
    label: str | None = None


class SessionInfo(Node, frozen=True, kw_only=True, tag_field="type", tag="session_info"):
    name: str | None = None


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a kind, or with a payload, that this release has no type for. `line` is kept whole and written back as it is."""

    type: str
    id: EntryId
    parent_id: EntryId | None
    timestamp: str
    line: bytes


KnownEntry = (
    MessageEntry
    | ModelChange
    | ThinkingLevelChange
    | UsageEntry
    | Compaction
    | ContextEdit
    | BranchSummary
    | Custom
    | CustomMessageEntry
    | Label
    | SessionInfo
)
Entry = (
    MessageEntry
    | ModelChange
    | ThinkingLevelChange
    | UsageEntry
    | Compaction
    | ContextEdit
    | BranchSummary
    | Custom
    | CustomMessageEntry
    | Label
    | SessionInfo
    | Unknown
)

BOOKKEEPING: Final[frozenset[str]] = frozenset(
    {"label", "session_info", "usage", "custom", "model_change", "thinking_level_change"}
)
"""Kinds that do not move the position (S6): the position is the nearest ancestor-or-self of another kind."""

LEAF_MARKER: Final = "sapwood.leaf"
"""`custom` entry under a new leaf, so that a move without a summary survives a restart (S6)."""
FORK_MARKER: Final = "sapwood.fork"
"""`custom` entry that says what a fork copied, so that inherited usage is told from own (S15)."""


def kind_of(entry: Entry) -> str:
    """The entry's `type` on the wire."""
    return entry.type if isinstance(entry, Unknown) else str(entry.__struct_config__.tag)
