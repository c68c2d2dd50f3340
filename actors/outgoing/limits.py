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
from itertools import count, islice
from operator import is_
from typing import Final, Literal, get_args

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


def keep_within(messages: Messages, limits: Limits) -> tuple[Messages, tuple[Limited, ...]]:
    """Paired messages as this model takes them, and which limits that took. What is within all limits comes back as it is."""
    within = Within(limits)
    kept = within.add(messages)
    return (messages if kept is None else kept), within.told()


class Within:
    """Keeps messages within limits that come piece by piece, as all of them at once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._images: int | None = None
        """How many there were until now; None before the first piece."""
        self._evicted = 0
        self._times: dict[Limit, int] = {}
        self._legal = _LegalIds(limits.call_id_length)

    def add(self, messages: Messages) -> Messages | None:
        """The next messages as the model takes them; the same where all are within.

        None where images of an earlier piece have to go because of this one: then all of them are to be given to another `Within`.
        """
        limits = self._limits
        if limits.image_bytes is not None:
            messages = self._count("image_bytes", _within_image_bytes(messages, limits.image_bytes))
        if limits.images is not None:
            images = images_of(messages) + (self._images or 0)
            evicted = _evicted(images, limits.images)
            if self._images is None:
                messages = self._count("images", _without_images(messages, evicted))
            elif evicted != self._evicted:
                return None
            self._images, self._evicted = images, evicted
        if limits.text_bytes is not None:
            messages = self._count("text_bytes", _within_text_bytes(messages, limits.text_bytes))
        return self._count("call_id_length", self._legal.of(messages))

    def told(self) -> tuple[Limited, ...]:
        """Each limit that bit until now, and how often, in the order in which they are kept."""
        return tuple(Limited(limit, self._times[limit]) for limit in get_args(Limit) if self._times.get(limit))

    def _count(self, limit: Limit, kept: tuple[Messages, int]) -> Messages:
        self._times[limit] = self._times.get(limit, 0) + kept[1]
        return kept[0]


def _within_image_bytes(messages: Messages, most: int) -> tuple[Messages, int]:
    def change(block: ContentBlock) -> ContentBlock | None:
        return TextContent(text=TOO_LARGE) if isinstance(block, ImageContent) and len(block.data) > most else None

    return _changed(messages, change)


def images_of(messages: Messages) -> int:
    """How many images are in them."""
    contents = (message.content for message in messages if not isinstance(message.content, str))
    return sum(isinstance(block, ImageContent) for content in contents for block in content)


def _evicted(held: int, most: int) -> int:
    """How many of so many images go."""
    step = max(1, most // 2)
    return max(0, -(-(held - most) // step) * step)


def _without_images(messages: Messages, going: int) -> tuple[Messages, int]:
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
    return _LegalIds(longest).of(messages)


class _LegalIds:
    """Ids that were given, one for each call; None: any length and letters will do."""

    def __init__(self, longest: int | None) -> None:
        self._longest = longest
        self._given: dict[ToolCallId, ToolCallId] = {}
        self._taken: set[str] = set()

    def of(self, messages: Messages) -> tuple[Messages, int]:
        """The next messages, and how many ids of calls changed that were not met before."""
        if self._longest is None:
            return messages, 0
        longest, known = self._longest, len(self._given)
        sent = [self._renamed(message, longest) for message in messages]
        changed = any(new is not old for new, old in zip(sent, messages, strict=True))
        times = sum(call != name for call, name in islice(self._given.items(), known, None))
        return (sent if changed else messages), times

    def _renamed(self, message: OutgoingMessage, longest: int) -> OutgoingMessage:
        match message:
            case AssistantMessage(content=content):
                blocks = tuple(
                    msgspec.structs.replace(block, id=legal)
                    if isinstance(block, ToolCall) and (legal := self._legal(block.id, longest)) != block.id
                    else block
                    for block in content
                )
                same = all(map(is_, blocks, content))
                return message if same else msgspec.structs.replace(message, content=blocks)
            case ToolResultMessage(tool_call_id=call) if (legal := self._legal(call, longest)) != call:
                return msgspec.structs.replace(message, tool_call_id=legal)
            case _:
                return message

    def _legal(self, call: ToolCallId, longest: int) -> ToolCallId:
        if call not in self._given:
            self._given[call] = ToolCallId(next(name for name in _names(call, longest) if name not in self._taken))
            self._taken.add(self._given[call])
        return self._given[call]


def _names(call: str, longest: int) -> Iterator[str]:
    """Ids for a call, the best one first: its own, if that is legal. The same for the same call, in every process."""
    stem = _ILLEGAL.sub("_", call)
    if call == stem and 0 < len(call) <= longest:
        yield call
    for again in count():
        digest = sha256(f"{again} {call}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        yield f"{stem[: longest - _DIGITS - 1]}-{digest}"
