"""What a move writes: all of it at once, or nothing (N6 to N8, S6). No I/O.

1. First the new answer to a question, if there is one; then the summary, or a leaf marker where neither would tell where the session is;
   then the label, on the summary or else on what was moved to.
2. The parents are the log's to set: the first entry hangs where the move ends, each next one under the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import attrs

from sapwood.actors.navigation.route import Route
from sapwood.events.base import Json
from sapwood.events.content import TextContent
from sapwood.events.entries import LEAF_MARKER, BranchSummary, Custom, KnownEntry, Label, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import ToolResultMessage, Usage


@attrs.frozen(kw_only=True)
class Draft:
    """What is to stand in the summary's entry."""

    text: str
    details: Json
    usage: Usage | None
    from_hook: bool = False


@attrs.frozen(kw_only=True)
class Stamp:
    """What entries of one write have in common."""

    new_id: Callable[[], EntryId]
    timestamp: str
    now_ms: int


def entries_of(
    route: Route,
    *,
    left: EntryId | None,
    target: EntryId | None,
    answer: str | None,
    draft: Draft | None,
    label: str | None,
    stamp: Stamp,
) -> tuple[KnownEntry, ...]:
    """The entries of one move, in their order. `left`: the leaf as it is now, which what is written remembers."""
    entries: list[KnownEntry] = []
    from_id: EntryId | Literal["root"] = "root" if left is None else left
    marked = target
    if route.answered is not None and answer is not None:
        marked = stamp.new_id()
        message = _result(route.answered, answer, stamp.now_ms)
        entries.append(MessageEntry(id=marked, parent_id=None, timestamp=stamp.timestamp, message=message))
    if draft is not None:
        marked = stamp.new_id()
        entries.append(
            BranchSummary(
                id=marked,
                parent_id=None,
                timestamp=stamp.timestamp,
                from_id=from_id,
                summary=draft.text,
                details=draft.details,
                usage=draft.usage,
                from_hook=draft.from_hook or None,
            )
        )
    if not entries:
        data: Json = {"fromId": from_id}
        entries.append(
            Custom(id=stamp.new_id(), parent_id=None, timestamp=stamp.timestamp, custom_type=LEAF_MARKER, data=data)
        )
    if label is not None and marked is not None:
        entries.append(
            Label(id=stamp.new_id(), parent_id=None, timestamp=stamp.timestamp, target_id=marked, label=label)
        )
    return tuple(entries)


def _result(old: ToolResultMessage, answer: str, now_ms: int) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=old.tool_call_id,
        tool_name=old.tool_name,
        content=(TextContent(text=answer),),
        is_error=False,
        timestamp=now_ms,
    )
