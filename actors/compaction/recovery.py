"""Which answers call for a compaction and another attempt (C16, R7). No I/O.

1. A request that the provider found too large, and an answer that was cut off before it had its own limit: its attempt is hidden, the
   past is compacted, and the model is asked once more.
2. A whole answer to a request larger than the window stands; the past is compacted all the same.
3. Once, until a user's message or a good answer comes between. The log says whether it was tried: a hidden attempt stands behind them.
"""

from __future__ import annotations

from typing import Final, Literal

import attrs

from sapwood.actors.model.overflow import NEARLY, is_too_much, overflowed
from sapwood.actors.projection.tokens import context_tokens
from sapwood.actors.readable import Readable
from sapwood.events.content import ToolCall
from sapwood.events.entries import ContextEdit, MessageEntry
from sapwood.events.messages import AssistantMessage, UserMessage
from sapwood.events.models import Model

FAILED_WORDS: Final = {
    "overflow": "Context overflow recovery failed after one compact-and-retry attempt. "
    "Try reducing context or switching to a larger-context model.",
    "truncated": "Truncated response recovery failed after one compact-and-retry attempt.",
}
"""What is said of a second time (the seed's words)."""

Kind = Literal["overflow", "truncated"]


@attrs.frozen
class Recovery:
    """What an answer calls for."""

    kind: Kind
    retries: bool
    """Whether the attempt is hidden and made again; else the answer stands."""


def recovery(answer: AssistantMessage, model: Model) -> Recovery | None:
    """What an answer of this model calls for; None for one that stands or failed for another reason."""
    if any(isinstance(block, ToolCall) for block in answer.content):
        return None  # its calls come first; the next request tells more
    match answer.stop_reason:
        case "error" if is_too_much(answer):
            return Recovery("overflow", retries=True)
        case "stop" if overflowed(answer, model.context_window):
            return Recovery("overflow", retries=False)
        case "length" if overflowed(answer, model.window):
            return Recovery("overflow", retries=True)
        case "length" if _is_early(answer, model):
            return Recovery("truncated", retries=True)
        case _:
            return None


def _is_early(answer: AssistantMessage, model: Model) -> bool:
    """Whether an answer was cut off before it had filled its own limit. Without a usage nobody can tell: it stands."""
    if context_tokens(answer.usage) == 0:
        return False
    if model.max_output:
        return answer.usage.output < model.max_output
    return context_tokens(answer.usage) >= NEARLY * model.window


def was_tried(view: Readable) -> bool:
    """Whether an attempt was hidden since the last user's message or good answer of the path to the leaf."""
    tree = view.tree
    hidden: set[str] = set()
    for index in tree.upwards(tree.leaf):
        match view.entry(index):
            case ContextEdit(target_id=target, replacement=None):
                hidden.add(target)
            case MessageEntry(id=entry_id, message=AssistantMessage(stop_reason=reason)):
                if reason not in {"error", "length"}:
                    return False
                if entry_id in hidden:
                    return True
            case MessageEntry(message=UserMessage()):
                return False
            case _:
                pass
    return False
