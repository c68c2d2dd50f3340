"""Every call has its one result right behind it (P4). No I/O.

1. Each tool call of an answer is followed, before any other role, by exactly one result with its id.
2. No result is without a call; no id is used twice.
3. What the log lacks is supplied in place, what is surplus is left out; each repair is told.
4. It never raises, and a list that is in order comes back as it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, Literal

import attrs
import msgspec

from sapwood.events.content import TextContent, ToolCall
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import AssistantMessage, Message, ToolResultMessage

RepairKind = Literal["supplied", "dropped_result", "dropped_call", "renamed", "moved"]

UNKNOWN_FATE: Final = (
    "No result of this call is on record. It may have run, in part or as a whole, and may have had effects: "
    "check before you repeat it."
)
"""What the model is told when nothing in the log says how far a call got."""


@attrs.frozen
class Repair:
    """One departure from what the log holds."""

    kind: RepairKind
    call: ToolCallId


def pair(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Repair, ...]]:
    """The messages with calls and results paired, and what that took."""
    return Pairing().add(messages)


class Pairing:
    """Pairs messages that come piece by piece, as all of them at once, as long as no result of a later piece is `awaited` by an earlier."""

    def __init__(self) -> None:
        self.awaited: set[ToolCallId] = set()
        """Ids of calls for which a result was supplied: one that comes later would have been taken."""
        self._ids: set[ToolCallId] = set()
        self._suffix: dict[ToolCallId, int] = {}
        """The last number that an id was told apart with."""

    def add(self, messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Repair, ...]]:
        """The next messages with their calls and results paired, and what that took."""
        return _Piece(messages, self.awaited, self._ids, self._suffix).run()


class _Piece:
    def __init__(
        self,
        messages: Sequence[Message],
        awaited: set[ToolCallId],
        ids: set[ToolCallId],
        suffix: dict[ToolCallId, int],
    ) -> None:
        self._messages = messages
        self._paired: list[Message] = []
        self._repairs: list[Repair] = []
        self._used: set[int] = set()
        self._awaited, self._ids, self._suffix = awaited, ids, suffix
        self._results: dict[ToolCallId, deque[int]] = {}
        """Where the results of each id stand that no call has taken."""
        self._calls: dict[ToolCallId, deque[int]] = {}
        """Where the answers stand that call with an id, from the one in hand on."""
        for at, message in enumerate(messages):
            match message:
                case ToolResultMessage(tool_call_id=call):
                    self._results.setdefault(call, deque()).append(at)
                case AssistantMessage(content=content):
                    for call in dict.fromkeys(block.id for block in content if isinstance(block, ToolCall)):
                        self._calls.setdefault(call, deque()).append(at)
                case _:
                    pass

    def run(self) -> tuple[tuple[Message, ...], tuple[Repair, ...]]:
        for at, message in enumerate(self._messages):
            match message:
                case AssistantMessage():
                    self._answer(at, message)
                case ToolResultMessage(tool_call_id=call):
                    if at not in self._used:
                        self._repairs.append(Repair("dropped_result", call))
                case _:
                    self._paired.append(message)
        return tuple(self._paired), tuple(self._repairs)

    def _answer(self, at: int, message: AssistantMessage) -> None:
        content: list[object] = []
        results: list[ToolResultMessage] = []
        seen: set[ToolCallId] = set()
        changed = False
        for block in message.content:
            if not isinstance(block, ToolCall):
                content.append(block)
                continue
            if block.id in seen:
                self._repairs.append(Repair("dropped_call", block.id))
                changed = True
                continue
            seen.add(block.id)
            call = self._unique(block)
            changed = changed or call is not block
            content.append(call)
            results.append(self._result_of(at, block, call))
        self._paired.append(message if not changed else msgspec.structs.replace(message, content=tuple(content)))
        self._paired.extend(results)

    def _unique(self, call: ToolCall) -> ToolCall:
        """The call under an id that no earlier call of the request has."""
        unique, n = call.id, self._suffix.get(call.id, 1)
        while unique in self._ids:
            n += 1
            unique = ToolCallId(f"{call.id}-{n}")
        self._suffix[call.id] = n
        self._ids.add(unique)
        if unique == call.id:
            return call
        self._repairs.append(Repair("renamed", call.id))
        return msgspec.structs.replace(call, id=unique)

    def _result_of(self, at: int, call: ToolCall, sent: ToolCall) -> ToolResultMessage:
        found = self._find(at, call.id)
        if found is None:
            self._repairs.append(Repair("supplied", call.id))
            self._awaited.add(call.id)
            return ToolResultMessage(
                tool_call_id=sent.id,
                tool_name=call.name,
                content=(TextContent(text=UNKNOWN_FATE),),
                is_error=True,
                timestamp=self._messages[at].timestamp,
            )
        where, result = found
        self._used.add(where)
        if any(not isinstance(self._messages[between], ToolResultMessage) for between in range(at + 1, where)):
            self._repairs.append(Repair("moved", call.id))
        return result if sent is call else msgspec.structs.replace(result, tool_call_id=sent.id)

    def _find(self, at: int, call: ToolCallId) -> tuple[int, ToolResultMessage] | None:
        """The first result of the call that comes before the same id is called again."""
        calls, results = self._calls[call], self._results.get(call, deque[int]())
        while calls and calls[0] <= at:
            calls.popleft()
        while results and results[0] < at:
            results.popleft()
        if not results or (calls and calls[0] < results[0]):
            return None
        where = results.popleft()
        result = self._messages[where]
        return (where, result) if isinstance(result, ToolResultMessage) else None
