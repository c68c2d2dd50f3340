"""What a request begins with, and what of the system's prompt changed since. No I/O.

1. The head is what the system messages at the beginning come to; where none stands there, it is the first one. It stays as it is while the
   conversation goes on, so that what was sent before stays the beginning of what is sent next (P9).
2. A later change is a notice in its place, in words that any model can read: not every wire takes a system message there.
3. The tools are those that all of them together come to (P7): wires have one list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import attrs

from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.actors.projection.system_prompt import rendered, replay
from sapwood.events.content import text_of
from sapwood.events.messages import SystemMessage, ToolDefinition

NOTICE: Final = "<system-notice>\n{}\n</system-notice>"
CHANGED: Final = "This part of your instructions, `{}`, now reads:\n\n{}"
GONE: Final = "This part of your instructions, `{}`, no longer holds."


@attrs.frozen(kw_only=True)
class Instructed:
    """A request, its instructions apart from what was said."""

    prompt: str
    """Empty where there is none."""
    tools: tuple[ToolDefinition, ...]
    messages: tuple[OutgoingMessage, ...]
    """The rest; its system messages are changes."""


def instructed(messages: Sequence[OutgoingMessage]) -> Instructed:
    """The instructions of a request, and the rest."""
    head = list(takewhile(lambda message: isinstance(message, SystemMessage), messages))
    if not head:
        head += [message for message in messages if isinstance(message, SystemMessage)][:1]
    heads = {id(message) for message in head}
    prompt, present = replay(head), replay(messages)
    return Instructed(
        prompt="" if prompt is None else rendered(prompt),
        tools=() if present is None else present.tools_added or (),
        messages=tuple(message for message in messages if id(message) not in heads),
    )


def notice(change: SystemMessage) -> str | None:
    """A change of the instructions, in words; None for one of the tools alone, which the list of tools tells."""
    said = [text_of(change.content)] if change.content else []
    for name, text in (change.sections or {}).items():
        said.append(GONE.format(name) if text is None else CHANGED.format(name, text))
    return NOTICE.format("\n\n".join(said)) if said else None
