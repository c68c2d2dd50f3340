"""The model and the thinking level that a path was last on (P7). No I/O of its own.

Looks back from the end, and reads no more entries than it must.
"""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.actors.readable import Readable
from sapwood.events.entries import MessageEntry, ModelChange, ThinkingLevelChange
from sapwood.events.messages import AssistantMessage


def last_model(view: Readable, path: Sequence[int]) -> tuple[str, str] | None:
    """Provider and id; None for a path that says nothing of a model."""
    for index in view.tree.latest(path, ("model_change", "message")):
        match view.entry(index):
            case ModelChange(provider=provider, model_id=model):
                return provider, model
            case MessageEntry(message=AssistantMessage(provider=provider, model=model)):
                return provider, model
            case _:
                pass
    return None


def last_thinking_level(view: Readable, path: Sequence[int]) -> str:
    """`off` for a path that says nothing of it."""
    for index in view.tree.latest(path, ("thinking_level_change",)):
        match view.entry(index):
            case ThinkingLevelChange(thinking_level=level):
                return level
            case _:
                pass
    return "off"
