"""What came of an input, as the log tells it. No I/O of its own."""

from __future__ import annotations

import attrs

from sapwood.actors.readable import Readable
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage


@attrs.frozen
class Behind:
    """The answers on the path behind an input."""

    turns: int = 0
    answer: AssistantMessage | None = None
    """The last one."""

    @property
    def interrupted(self) -> bool:
        """Whether the run stopped before it had a whole answer."""
        return self.answer is None or self.answer.stop_reason == "aborted"


def behind(view: Readable, entry_id: EntryId) -> Behind:
    """What is on the path from an input to the leaf; nothing if the input is not on it."""
    tree = view.tree
    answers: list[AssistantMessage] = []
    for index in tree.upwards(tree.leaf):
        if tree.id(index) == entry_id:
            return Behind(len(answers), answers[0] if answers else None)
        match view.entry(index):
            case MessageEntry(message=AssistantMessage() as answer):
                answers.append(answer)
            case _:
                pass
    return Behind()
