"""Where a move goes and what it leaves, or why it cannot be made (N1, N2, N8, N9). No I/O but reading entries.

1. A question that is answered anew gets another result beside the old one: the move ends at what stands before both, so that the old one
   is left (N8).
2. Who is there already goes nowhere; an answer is something new wherever one is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from sapwood.actors.navigation.branch import Destination, Left, destination, is_there, left
from sapwood.actors.readable import Readable
from sapwood.events.entries import MessageEntry
from sapwood.events.errors import Refused, no_entry
from sapwood.events.ids import EntryId
from sapwood.events.messages import ToolResultMessage
from sapwood.events.requests import NavigateTo

NO_MODEL: Final = "No model available for summarization"
"""Pi's words."""


@attrs.frozen(kw_only=True)
class Route:
    """One move, before anybody was asked about it."""

    leaf: EntryId | None
    """The leaf that is left."""
    to: EntryId | None
    """What is written hangs under this."""
    destination: Destination
    left: Left
    answered: ToolResultMessage | None
    """The result that gets another one beside it."""
    stays: bool
    """Whether the session stands there already."""


def route(view: Readable, asked: NavigateTo, asks: Callable[[str], bool]) -> Route | Refused:
    """The way from the present leaf to what is asked for; `asks` tells of a tool by name whether it asks the person."""
    tree = view.tree
    target = None if asked.target is None else tree.index(asked.target)
    if asked.target is not None and target is None:
        return no_entry(asked.target)
    if target is None and asked.label is not None and not asked.summarize:
        return Refused("bad-input", "a label needs an entry to stand at: before the first one there is none")
    answered: ToolResultMessage | None = None
    to = target
    if asked.answer is not None:
        answered = None if target is None else _result(view, target)
        if target is None or answered is None or not asks(answered.tool_name):
            told = f"{asked.target} is no result of a tool that asks: only such a one can be answered anew"
            return Refused("bad-input", told)
        to = tree.parent(target)
    ends = Destination(leaf=to) if answered is not None else destination(view, target)
    return Route(
        leaf=None if tree.leaf is None else tree.id(tree.leaf),
        to=None if ends.leaf is None else tree.id(ends.leaf),
        destination=ends,
        left=left(tree, tree.leaf, to),
        answered=answered,
        stays=answered is None and is_there(tree, ends),
    )


def _result(view: Readable, place: int) -> ToolResultMessage | None:
    match view.entry(place):
        case MessageEntry(message=ToolResultMessage() as result):
            return result
        case _:
            return None
