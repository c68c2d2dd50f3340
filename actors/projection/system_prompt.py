"""The system prompt of a path: what its messages replay to, and what has to be said so that they replay to something else. No I/O.

1. A prompt is content, sections by their names, and tools, in their order. What is replayed is one `SystemMessage` that says it all (P7).
2. A section that changes keeps its place; one that was taken away and comes back goes to the end. Of one message the tools that it
   removes go first, and those that it adds come after.
3. Nothing changed, nothing said: the delta of what is there already is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from sapwood.events.content import TextContent
from sapwood.events.errors import Refused
from sapwood.events.messages import Message, SystemMessage, ToolDefinition, ToolReference

PREAMBLE: Final = "preamble"
"""The one section that stands without a tag."""
SECTION_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
"""Pi's rule: the name is the section's tag as well."""


def check_section_name(name: str) -> str:
    """The name, if a section of one's own may bear it; else `Refused`, in Pi's words (P6)."""
    if not SECTION_NAME.fullmatch(name) or name == PREAMBLE:
        raise Refused("bad-input", f"Invalid system prompt section name: {name}")
    return name


def section(name: str, text: str) -> str:
    """A section as it is recorded: the preamble bare, any other in a tag of its name, so that a model can match an update to it (P6)."""
    return text if name == PREAMBLE else f"<{name}>\n{text}\n</{name}>"


def replay(messages: Iterable[Message]) -> SystemMessage | None:
    """What the system messages among these come to, in one message; None if there are none."""
    content: list[str] = []
    sections: dict[str, str | None] = {}
    tools: dict[str, ToolDefinition] = {}
    began: int | None = None
    for message in [one for one in messages if type(one) is SystemMessage]:  # one look at each of thousands, every turn
        began = message.timestamp if began is None else began
        if said := _words(message.content):
            content.append(said)
        for name, text in (message.sections or {}).items():
            if text is None:
                sections.pop(name, None)
            else:
                sections[name] = text
        for removed in message.tools_removed or ():
            tools.pop(removed.name, None)
        for added in message.tools_added or ():
            tools[added.name] = added
    if began is None:
        return None
    return SystemMessage(
        content="\n\n".join(content),
        sections=sections or None,
        tools_added=tuple(tools.values()) or None,
        timestamp=began,
    )


def rendered(prompt: SystemMessage) -> str:
    """A replayed prompt as one text: its content, then its sections, a blank line between them; empty parts are passed over."""
    parts = [_words(prompt.content), *(prompt.sections or {}).values()]
    return "\n\n".join(part for part in parts if part)


def delta(
    present: SystemMessage | None,
    sections: Mapping[str, str],
    tools: Sequence[ToolDefinition] = (),
    *,
    now_ms: int,
) -> SystemMessage | None:
    """What has to be recorded so that a path which replays to `present` has these sections and tools; None if it has them.

    Another order alone changes nothing. A tool whose definition changed is removed and added again.
    """
    old = {} if present is None else {name: text for name, text in (present.sections or {}).items() if text is not None}
    patch: dict[str, str | None] = {name: text for name, text in sections.items() if old.get(name) != text}
    patch.update({name: None for name in old if name not in sections})
    before = {} if present is None else _declared(present.tools_added or ())
    wanted = {tool.name: tool for tool in tools}
    after = _declared(wanted.values())
    added = tuple(tool for name, tool in wanted.items() if before.get(name) != after[name])
    removed = tuple(ToolReference(name=name) for name in before if before[name] != after.get(name))
    if not (patch or added or removed):
        return None
    return SystemMessage(
        content="",
        sections=patch or None,
        tools_added=added or None,
        tools_removed=removed or None,
        timestamp=now_ms,
    )


def _words(content: str | tuple[TextContent, ...]) -> str:
    """A line break between blocks, as Pi has it."""
    return content if isinstance(content, str) else "\n".join(block.text for block in content)


def _declared(tools: Iterable[ToolDefinition]) -> dict[str, bytes]:
    """Each tool as its JSON, by which two are the same or not: the order of keys counts, as it does for a provider's cache."""
    return {tool.name: msgspec.json.encode(tool) for tool in tools}
