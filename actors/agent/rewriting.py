"""What the answers of extensions make of an input, of a request, and of what they want written. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from sapwood.actors.projection.system_prompt import replay
from sapwood.actors.session_log.hygiene import uncontrolled
from sapwood.events.commands import Input
from sapwood.events.entries import ContextEdit, Custom, CustomMessageEntry, KnownEntry, Label
from sapwood.events.errors import Refused
from sapwood.events.hooks import ChangeInput, Draft, DraftEdit, DraftLabel, DraftMessage, DraftState, Handled
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message, SystemMessage


def heard(said: Input, answer: ChangeInput | Handled | None) -> Input:
    """The input as it is taken. Raises `Refused("handled", …)` for one that an extension has taken care of."""
    match answer:
        case None:
            return said
        case ChangeInput(text=text, images=images):
            return msgspec.structs.replace(
                said, text=uncontrolled(text), images=said.images if images is None else images
            )
        case Handled(by=by, reason=reason):
            because = f": {reason}" if reason else ""
            raise Refused("handled", f"the extension {by!r} took care of it{because}")
        case _:
            assert_never(answer)


def with_system(messages: Sequence[Message], others: Sequence[Message]) -> tuple[Message, ...]:
    """Other messages behind what the system's of these come to: where each of those stood is not known any more."""
    prompt = replay(messages)
    return (*(() if prompt is None else (prompt,)), *others)


def forced(messages: Sequence[Message], prompt: str, now_ms: int) -> tuple[Message, ...]:
    """The messages under another system prompt; the tools stay as they were told."""
    there = replay(messages)
    tools = None if there is None else there.tools_added
    head = SystemMessage(content=prompt, tools_added=tools, timestamp=now_ms if there is None else there.timestamp)
    return (head, *(one for one in messages if not isinstance(one, SystemMessage)))


def targets(draft: Draft) -> EntryId | None:
    """The entry that a draft speaks of, if it does."""
    return draft.target_id if isinstance(draft, DraftEdit | DraftLabel) else None


def entry_of(draft: Draft, entry_id: EntryId, timestamp: str) -> KnownEntry:
    """The entry that a draft becomes; the log gives it its place."""
    match draft:
        case DraftState(custom_type=kind, data=data):
            return Custom(id=entry_id, parent_id=None, timestamp=timestamp, custom_type=kind, data=data)
        case DraftMessage(custom_type=kind, content=content, display=display, details=details):
            return CustomMessageEntry(
                id=entry_id,
                parent_id=None,
                timestamp=timestamp,
                custom_type=kind,
                content=content,
                display=display,
                details=details,
            )
        case DraftEdit(target_id=target, replacement=replacement):
            return ContextEdit(
                id=entry_id, parent_id=None, timestamp=timestamp, target_id=target, replacement=replacement
            )
        case DraftLabel(target_id=target, label=label):
            return Label(id=entry_id, parent_id=None, timestamp=timestamp, target_id=target, label=label)
        case _:
            assert_never(draft)
