"""What two playings of one story have in common: their logs, with other ids. No I/O.

1. An id that an entry bears is called by its place in the log, wherever it stands; nothing else is changed.
2. A log is interrupted where it holds no text but what the story could have brought, and what is said of a call that was broken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from sapwood.actors.extensions.merging import FAILED_CLOSED
from sapwood.actors.tools.hooks import UNGUARDED
from sapwood.actors.tools.results import BROKEN, INTERRUPTED, LEFT_BEHIND, UNSTARTED
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.codec import encode_entry
from sapwood.events.content import ToolCall
from sapwood.events.entries import BranchSummary, Compaction, Entry, MessageEntry
from sapwood.events.messages import FAILED, AssistantMessage, ToolResultMessage
from sapwood.scenario.language import FollowUp, Prompt, Steer, Story, Submit
from sapwood.words.describing import text_of_message

BROKEN_OFF: Final = frozenset({"", UNGUARDED, BROKEN, INTERRUPTED, LEFT_BEHIND, UNSTARTED})
"""What there may be in an interrupted log, besides what is in a whole one."""


def renamed(entries: Sequence[Entry]) -> list[Json]:
    """The entries in their wire form, with places for ids."""
    values: list[Json] = [msgspec.json.decode(encode_entry(entry)) for entry in entries]
    names = {value["id"]: f"#{at}" for at, value in enumerate(values, 1)}

    def rename(value: Json) -> Json:
        if isinstance(value, str):
            return names.get(value, value)
        if is_object(value):
            return {key: rename(item) for key, item in value.items()}
        return [rename(item) for item in value] if is_array(value) else value

    return [rename(value) for value in values]


def unlike(whole: Sequence[Json], other: Sequence[Json]) -> str | None:
    """Where two renamed logs differ first, in a sentence; None if they do not."""
    for at, (one, two) in enumerate(zip(whole, other, strict=False), 1):
        if one != two:
            return f"entry {at} is another one: {_short(two)} for {_short(one)}"
    if len(whole) != len(other):
        return f"it has {len(other)} new entries for {len(whole)}"
    return None


def strange_text(entries: Sequence[Entry], story: Story, whole: Sequence[Entry]) -> str | None:
    """A text that neither the story nor a call that was broken off could have brought; None if there is none."""
    known = {*BROKEN_OFF, *_said(story), *_texts(whole)}
    return next(
        (
            text
            for text in _texts(entries)
            if text not in known and not text.startswith(FAILED_CLOSED) and not _is_made_of(text, known)
        ),
        None,
    )


def pairing_fault(entries: Sequence[Entry]) -> str | None:
    """What is wrong with the calls of a log: a result twice, or of no call; None if nothing is."""
    called: set[str] = set()
    answered: set[str] = set()
    for entry in entries:
        message = entry.message if isinstance(entry, MessageEntry) else None
        if isinstance(message, AssistantMessage) and message.stop_reason not in FAILED:
            called |= {block.id for block in message.content if isinstance(block, ToolCall)}
        elif isinstance(message, ToolResultMessage):
            if message.tool_call_id not in called:
                return f"there is a result for the call {message.tool_call_id!r}, which nobody made"
            if message.tool_call_id in answered:
                return f"the call {message.tool_call_id!r} has two results"
            answered.add(message.tool_call_id)
    return None


def _said(story: Story) -> Iterator[str]:
    """Every text that the story can bring."""
    answers = story.answers
    for queue in (answers.turn, answers.compaction, answers.turn_prefix, answers.branch_summary):
        for answer in queue:
            yield answer.text
            yield from (msgspec.json.encode(call.arguments).decode() for call in answer.calls)
    for tool in (story.tools or {}).values():
        yield from (text for text in (tool.result, tool.error) if text is not None)
    for step in story.steps:
        match step:
            case Prompt(prompt=text) | Submit(submit=text) | Steer(steer=text) | FollowUp(follow_up=text):
                yield text
            case _:
                pass


def _texts(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        match entry:
            case MessageEntry(message=message):
                yield text_of_message(message)
            case Compaction(summary=summary) | BranchSummary(summary=summary):
                yield summary
            case _:
                pass


def _is_made_of(text: str, known: set[str]) -> bool:
    """Of a part of what was said: an answer that was broken off. Or of a summary, which has more around it."""
    return text.startswith(UNGUARDED) or any(one and (one.startswith(text) or one in text) for one in known)


def _short(value: Json) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else f"{text[:199]}…"
