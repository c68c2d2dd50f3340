"""Sessions that a story has made for it: long ones, from a few numbers. The same numbers give the same bytes (Z1). No I/O."""

from __future__ import annotations

from random import Random
from typing import Final

from sapwood.actors.environment import EPOCH_MS
from sapwood.events.content import TextContent, ToolCall
from sapwood.events.entries import KnownEntry, MessageEntry
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import (
    NO_USAGE,
    AssistantMessage,
    StopReason,
    StoredMessage,
    ToolResultMessage,
    UserMessage,
)
from sapwood.events.models import Model
from sapwood.events.times import iso
from sapwood.scenario.language import Generated

EVERY_MS: Final = 60_000
"""Milliseconds between two entries."""
TOOL: Final = "look"
"""What its calls call."""
WORDS: Final = (
    "oak",
    "ash",
    "elm",
    "beech",
    "birch",
    "alder",
    "willow",
    "maple",
    "lime",
    "larch",
    "spruce",
    "fir",
    "yew",
    "rowan",
    "hazel",
    "hornbeam",
    "bark",
    "sap",
    "ring",
    "root",
    "crown",
    "branch",
    "twig",
    "leaf",
)


def entries_of(asked: Generated, model: Model) -> tuple[KnownEntry, ...]:
    """The entries of such a session, whose answers this model gave. The last one is the leaf."""
    growing = _Growing(asked, model)
    chance = growing.chance
    left = sorted(chance.randrange(asked.turns) for _ in range(asked.branches)) if asked.turns else []
    for turn in range(asked.turns):
        for _ in range(left.count(turn)):
            growing.leave(chance.randint(1, 3))
        growing.turn()
    return tuple(growing.entries)


class _Growing:
    def __init__(self, asked: Generated, model: Model) -> None:
        self.entries: list[KnownEntry] = []
        self.chance = Random(asked.seed)  # noqa: S311 - the same for the same seed is the point
        self._asked = asked
        self._model = model
        self._leaf: EntryId | None = None

    def leave(self, turns: int) -> None:
        """Grow a branch here that nobody goes on with."""
        stands = self._leaf
        for _ in range(turns):
            self.turn()
        self._leaf = stands

    def turn(self) -> None:
        """A question, the calls that it took, and the answer."""
        self._add(UserMessage(content=self._said(), timestamp=self._now()))
        for _ in range(self._asked.calls):
            call = ToolCall(id=ToolCallId(f"c{len(self.entries)}"), name=TOOL, arguments={"at": self._word()})
            self._add(self._answer(call, reason="toolUse"))
            self._add(
                ToolResultMessage(
                    tool_call_id=call.id,
                    tool_name=TOOL,
                    content=(TextContent(text=self._said()),),
                    is_error=False,
                    timestamp=self._now(),
                )
            )
        self._add(self._answer(TextContent(text=self._said()), reason="stop"))

    def _answer(self, block: TextContent | ToolCall, *, reason: StopReason) -> AssistantMessage:
        return AssistantMessage(
            content=(block,),
            api=self._model.api,
            provider=self._model.provider,
            model=self._model.id,
            usage=NO_USAGE,
            stop_reason=reason,
            timestamp=self._now(),
        )

    def _add(self, message: StoredMessage) -> None:
        name = EntryId(f"e{len(self.entries) + 1}")
        self.entries.append(
            MessageEntry(id=name, parent_id=self._leaf, timestamp=iso(message.timestamp), message=message)
        )
        self._leaf = name

    def _now(self) -> int:
        return EPOCH_MS + EVERY_MS * len(self.entries)

    def _said(self) -> str:
        return " ".join(self._word() for _ in range(self._asked.words)).capitalize() + "."

    def _word(self) -> str:
        return self.chance.choice(WORDS)
