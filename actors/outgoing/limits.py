"""What a model takes at most, kept on the way out (P11). No I/O.

1. The log is never touched; a prompt, a thought and the arguments of a call are never cut.
2. In the place of what is left out stands a word that says so; a text that is cut says how much is gone.
3. Too many images go by age, the oldest first, and in steps of half of what is taken: after an eviction there is room for more, so that
   the beginning of the requests stays the same for some time (P9).
4. Call and result get one id that the model takes; no two calls get the same one, and those of earlier calls never change.
5. Each limit that bit is told, with how often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import count
from typing import Final, Literal

import attrs
import msgspec

from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.actors.session_log.capping import cap, too_long
from sapwood.events.content import ContentBlock, ImageContent, TextContent, ToolCall, without_surrogates
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import AssistantMessage, SystemMessage, ToolResultMessage
from sapwood.events.models import LEAST_CALL_ID, Limits

Limit = Literal["image_bytes", "images", "text_bytes", "call_id_length"]
"""Named as in `Limits`, in the order in which they are kept: an image that is too large is none of those that are too many."""

TOO_LARGE: Final = "[An image stood here. It is not sent: it is larger than this model takes.]"
EVICTED: Final = "[An image stood here. It is not sent: this model takes only so many in one request.]"

_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS: Final = LEAST_CALL_ID - 4
"""Hexadecimal digits that stand for a whole id: beside them there is room for a dash, and for how it began, in the shortest one as well."""


@attrs.frozen
class Limited:
    """One limit that bit, and how often in this request."""

    limit: Limit
    times: int


Messages = Sequence[OutgoingMessage]


Keep = Callable[[Messages, int], tuple[Messages, int]]
"""Messages with a limit kept, and how often that changed something."""


def keep_within(messages: Messages, limits: Limits) -> tuple[Messages, tuple[Limited, ...]]:
    """Paired messages as this model takes them, and which limits that took. What is within all limits comes back as it is."""
    declared: tuple[tuple[Limit, int | None, Keep], ...] = (
        ("image_bytes", limits.image_bytes, _within_image_bytes),
        ("images", limits.images, _within_images),
        ("text_bytes", limits.text_bytes, _within_text_bytes),
        ("call_id_length", limits.call_id_length, with_legal_ids),
    )
    told: list[Limited] = []
    for limit, most, keep in declared:
        if most is not None:
            messages, times = keep(messages, most)
            told += [Limited(limit, times)] if times else []
    return messages, tuple(told)


def _within_image_bytes(messages: Messages, most: int) -> tuple[Messages, int]:
    def change(block: ContentBlock) -> ContentBlock | None:
        return TextContent(text=TOO_LARGE) if isinstance(block, ImageContent) and len(block.data) > most else None

    return _changed(messages, change)


def _within_images(messages: Messages, most: int) -> tuple[Messages, int]:
    contents = (message.content for message in messages if not isinstance(message.content, str))
    held = sum(isinstance(block, ImageContent) for content in contents for block in content)
    if held <= most:
        return messages, 0
    step = max(1, most // 2)
    going = -(-(held - most) // step) * step

    def change(block: ContentBlock) -> ContentBlock | None:
        return TextContent(text=EVICTED) if isinstance(block, ImageContent) else None

    return _changed(messages, change, at_most=going)


def _within_text_bytes(messages: Messages, most: int) -> tuple[Messages, int]:
    def cut(text: str) -> str | None:
        return None if too_long(text, most) is None else cap(without_surrogates(text), most)

    def change(block: ContentBlock) -> ContentBlock | None:
        said = cut(block.text) if isinstance(block, TextContent) else None
        return None if said is None else TextContent(text=said)  # without its signature, which was for the whole of it

    return _changed(messages, change, cut)


def _changed(
    messages: Messages,
    change: Callable[[ContentBlock], ContentBlock | None],
    change_text: Callable[[str], str | None] = lambda _: None,
    *,
    at_most: int | None = None,
) -> tuple[Messages, int]:
    """The messages with each block for which there is another one changed, the oldest `at_most` of them, and how many those are.

    `change_text` is for a content that is a text and no blocks. What has no other one is as it was.
    """
    times, sent = 0, list[OutgoingMessage]()
    for message in messages:
        before, blocks = times, list[ContentBlock]()
        if isinstance(message, SystemMessage):
            sent.append(message)
        elif isinstance(message.content, str):
            said = change_text(message.content)
            times += said is not None
            sent.append(message if said is None else msgspec.structs.replace(message, content=said))
        else:
            for block in message.content:
                other = None if times == at_most else change(block)
                times += other is not None
                blocks.append(block if other is None else other)
            sent.append(message if times == before else msgspec.structs.replace(message, content=tuple(blocks)))
    return (sent if times else messages), times


def with_legal_ids(messages: Messages, longest: int) -> tuple[Messages, int]:
    """The messages with ids of calls that any wire takes: letters, digits, `_` and `-`, `longest` of them; and how many changed."""
    given: dict[ToolCallId, ToolCallId] = {}
    taken: set[str] = set()

    def legal(call: ToolCallId) -> ToolCallId:
        if call not in given:
            given[call] = ToolCallId(next(name for name in _names(call, longest) if name not in taken))
            taken.add(given[call])
        return given[call]

    def renamed(message: OutgoingMessage) -> OutgoingMessage:
        match message:
            case AssistantMessage(content=content):
                blocks = tuple(
                    msgspec.structs.replace(block, id=legal(block.id)) if isinstance(block, ToolCall) else block
                    for block in content
                )
                return message if blocks == content else msgspec.structs.replace(message, content=blocks)
            case ToolResultMessage(tool_call_id=call) if legal(call) != call:
                return msgspec.structs.replace(message, tool_call_id=legal(call))
            case _:
                return message

    sent = [renamed(message) for message in messages]
    times = sum(call != name for call, name in given.items())
    return (sent if times else messages), times


def _names(call: str, longest: int) -> Iterator[str]:
    """Ids for a call, the best one first: its own, if that is legal. The same for the same call, in every process."""
    stem = _ILLEGAL.sub("_", call)
    if call == stem and 0 < len(call) <= longest:
        yield call
    for again in count():
        digest = sha256(f"{again} {call}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        yield f"{stem[: longest - _DIGITS - 1]}-{digest}"
