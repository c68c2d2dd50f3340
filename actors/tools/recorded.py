"""Results that are in the log already, when what ran the calls has broken. No I/O of its own."""

from __future__ import annotations

from sapwood.actors.readable import Readable
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import ToolResultMessage
from sapwood.events.requests import Ran


def results_behind(view: Readable, answer: EntryId) -> tuple[dict[ToolCallId, Ran], EntryId]:
    """The result of each call, on the path behind the answer that made them; and what came last of these, or the answer."""
    tree = view.tree
    found: list[Ran] = []
    for index in tree.upwards(tree.leaf):
        if tree.id(index) == answer:
            break
        match view.entry(index):
            case MessageEntry(message=ToolResultMessage() as message):
                found.append(Ran(message=message, entry_id=tree.id(index)))
            case _:
                pass
    else:
        found.clear()  # the answer is on another branch
    results: dict[ToolCallId, Ran] = {}
    for ran in reversed(found):
        results.setdefault(ran.message.tool_call_id, ran)
    return results, found[0].entry_id if found else answer
