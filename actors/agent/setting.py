"""What a host sets and marks in a session: an entry each, and the news of it. It holds from the next request on.

1. What is said is checked first: a name that is not known, an entry that is not there, is `Refused`, and nothing is changed.
2. The entry is in the log before anything else changes or is told.
3. It has the id that its asker picked: asked again after a crash, there is one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import assert_never

from sapwood.actors.agent.desk import Desk
from sapwood.actors.kernel import Refuse, Reply, Start, insist
from sapwood.events.commands import AppendCustom, Edit, SetLabel, SetModel, SetThinkingLevel, SetTools
from sapwood.events.entries import (
    ContextEdit,
    Custom,
    CustomMessageEntry,
    KnownEntry,
    Label,
    MessageEntry,
    ModelChange,
    ThinkingLevelChange,
)
from sapwood.events.errors import Refused, StoreError, no_entry
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, ToolResultMessage, UserMessage
from sapwood.events.requests import Append
from sapwood.events.runtime import ModelChanged, ThinkingLevelChanged

Setting = SetModel | SetThinkingLevel | SetTools | Edit | SetLabel | AppendCustom


class Setter:
    """Does what is set, for the agent."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def handle(self, message: Setting) -> Reply | Refuse | Start:
        match message:
            case SetModel():
                return self._start("set model", lambda: self._set_model(message))
            case SetThinkingLevel():
                return self._start("set thinking level", lambda: self._set_thinking_level(message))
            case SetTools(names=names):
                return self._set_tools(names)
            case Edit() | SetLabel():
                why = self._why_not(message)
                if why is not None:
                    return Refuse(why)
                return self._start("mark", lambda: self._append(self._mark(message)))
            case AppendCustom():
                return self._start("append custom", lambda: self._append(self._mark(message)))
            case _:
                assert_never(message)

    def _why_not(self, message: Edit | SetLabel) -> Refused | StoreError | None:
        """Why nothing is to be said of this entry, in Pi's words (P3)."""
        view, target = self._desk.pen.view, message.target
        place = view.tree.index(target)
        if place is None:
            return no_entry(target)
        if isinstance(message, SetLabel):
            return None
        if view.tree.leaf is None or not view.tree.is_ancestor(place, view.tree.leaf):
            return Refused("bad-input", f"Entry {target} is not on the active branch")
        try:
            entry = view.entry(place)
        except StoreError as error:
            return error
        match entry:
            case CustomMessageEntry() | MessageEntry(message=UserMessage() | AssistantMessage() | ToolResultMessage()):
                return None
            case _:
                return Refused("bad-input", f"Entry {target} does not contribute editable model content")

    def _start(self, name: str, operation: Callable[[], Awaitable[object]]) -> Start:
        return Start(operation, name=name, owner="actor")

    async def _set_model(self, message: SetModel) -> None:
        model, pen = message.model, self._desk.pen
        change = ModelChange(
            id=message.entry_id,
            parent_id=None,
            timestamp=pen.environment.timestamp(),
            provider=model.provider,
            model_id=model.id,
        )
        await self._append(change)
        self._desk.chosen.model = model
        self._desk.publish(ModelChanged(provider=model.provider, model_id=model.id))

    async def _set_thinking_level(self, message: SetThinkingLevel) -> None:
        pen = self._desk.pen
        change = ThinkingLevelChange(
            id=message.entry_id, parent_id=None, timestamp=pen.environment.timestamp(), thinking_level=message.level
        )
        await self._append(change)
        self._desk.publish(ThinkingLevelChanged(level=message.level))

    def _set_tools(self, names: tuple[str, ...]) -> Reply | Refuse:
        """Nothing is recorded now: the next turn says what changed (P7)."""
        known = self._desk.chosen.known
        unknown = [name for name in names if name not in known]
        if unknown:
            there = ", ".join(known) or "none"
            return Refuse(Refused("bad-input", f"there is no tool called {unknown[0]!r} (there are: {there})"))
        self._desk.chosen.active = tuple(dict.fromkeys(names))
        return Reply()

    def _mark(self, message: Edit | SetLabel | AppendCustom) -> KnownEntry:
        entry_id, timestamp = message.entry_id, self._desk.pen.environment.timestamp()
        match message:
            case Edit(target=target, replacement=replacement):
                return ContextEdit(
                    id=entry_id, parent_id=None, timestamp=timestamp, target_id=target, replacement=replacement
                )
            case SetLabel(target=target, label=label):
                return Label(id=entry_id, parent_id=None, timestamp=timestamp, target_id=target, label=label)
            case AppendCustom(custom_type=custom_type, data=data):
                return Custom(id=entry_id, parent_id=None, timestamp=timestamp, custom_type=custom_type, data=data)
            case _:
                assert_never(message)

    async def _append(self, entry: KnownEntry) -> EntryId:
        await insist(self._desk.pen.session_log, Append(entries=(entry,)))
        return entry.id
