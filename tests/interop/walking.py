"""The walk of Pi and of omp over what was left, with our departures to choose from, and every departure by name.

With none of them it gives what Pi gives, or omp, and with all of them what we give: the tests hold it against both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import attrs
import msgspec

from sapwood.actors.navigation.branch import prepared
from sapwood.actors.navigation.cutting import as_told
from sapwood.actors.navigation.settings import Manner
from sapwood.actors.outgoing.sending import unsent
from sapwood.actors.projection.counter import heuristic
from sapwood.actors.projection.selection import apply_edit, messages_of, without_prompt
from sapwood.actors.summaries.file_lists import Files, files_of, inherited, union
from sapwood.actors.summaries.flatten import cut_result
from sapwood.events.content import TextContent, text_of
from sapwood.events.entries import BranchSummary, Compaction, ContextEdit, Entry, MessageEntry
from sapwood.events.messages import (
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
)
from sapwood.events.times import milliseconds

Count = Callable[[Message], int]
LEAST_CUT: Final = 12
"""Tokens of the mark of a summary that is cut, and of a little of it: with less left it is left out."""

Departure = Literal[
    "floor", "newest", "cut", "prompt", "thinking", "unsent", "blank", "hidden", "files", "compactions", "ran"
]
DEPARTURES: Final[Mapping[Departure, str]] = {
    "floor": "a budget of nothing or less is no budget; in Pi there is then no limit (N3)",
    "newest": "the newest message is in, cut to fit; in Pi there is then nothing to summarise (N3)",
    "cut": "a summary at the stop is cut to what is left; in Pi it goes above the budget (N3)",
    "prompt": "the system's messages take no room, for a summary is never told them",
    "thinking": "nor does thinking, and an image takes as much as its mark",
    "unsent": "nor does what was never sent to a model (P5): failed answers, empty messages, commands kept from it",
    "blank": "nor does a summary or a result that says nothing",
    "hidden": "a summary that an edit hides is hidden here too, as it is from the model (P3)",
    "files": "files are those of every entry, whether or not it fits (N3)",
    "compactions": "and of compactions of ours as well (N3)",
    "ran": "and of calls that ran, hidden since or not; those of failed answers never did (C12)",
}
EVERY: Final = frozenset(DEPARTURES)


@attrs.frozen(kw_only=True)
class Walked:
    """What comes of the walk."""

    messages: tuple[Message, ...]
    """Oldest first, all of them whole."""
    cut_to: int | None
    """What the oldest is cut to, in tokens; None if it is whole."""
    tokens: int
    """Of those that are whole."""
    files: Files


class Walk:
    """Pi's walk over these entries, or omp's, with these departures: for any budget, and what is alike for all is made once."""

    def __init__(
        self,
        entries: Sequence[Entry],
        departing: frozenset[Departure],
        manner: Manner = "pi",
        count: Count = heuristic,
    ) -> None:
        edits = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEdit)}
        said = [
            (entry, message) for entry in entries for message in said_by(entry, edits.get(entry.id), departing, manner)
        ]
        self._entries = entries
        self._departing = departing
        self._newest = [
            (entry, message, count(as_told(message) if "thinking" in departing else as_counted(message)))
            for entry, message in reversed(without_the_untold(said, departing))
        ]
        self._files = files_by(entries, None, departing) if "files" in departing else None

    def within(self, budget: int) -> Walked:
        departing = self._departing
        kept: list[Message] = []
        passed: list[Message] = []
        tokens = 0
        cut_to: int | None = None
        limited = budget > 0 or "floor" in departing
        for entry, message, size in self._newest:
            passed.append(message)
            if limited and tokens + size > max(budget, 0):
                is_summary = isinstance(entry, Compaction | BranchSummary) and tokens < max(budget, 0) * 0.9
                if is_summary or ("newest" in departing and not kept):
                    kept.append(message)
                    if "cut" in departing or not is_summary:
                        cut_to = max(budget, 0) - tokens
                    else:
                        tokens += size
                break
            kept.append(message)
            tokens += size
        files = self._files or files_by(self._entries, passed, departing)
        return Walked(messages=tuple(reversed(kept)), cut_to=cut_to, tokens=tokens, files=files)


def as_counted(message: Message) -> Message:
    """What omp counts of a result: its text, as it is cut."""
    if not isinstance(message, ToolResultMessage):
        return message
    text = cut_result(text_of(message.content))
    return msgspec.structs.replace(message, content=(TextContent(text=text),))


def said_by(
    entry: Entry, edit: ContextEdit | None, departing: frozenset[Departure], manner: Manner
) -> tuple[Message, ...]:
    """What an entry says: results as the manner has it."""
    match entry:
        case MessageEntry(message=ToolResultMessage(useless=useless, is_error=is_error)) if manner == "pi" or (
            useless and not is_error
        ):
            return ()
        case BranchSummary(summary="") if "blank" not in departing:
            said: tuple[Message, ...] = (
                BranchSummaryMessage(summary="", from_id=entry.from_id, timestamp=milliseconds(entry.timestamp) or 0),
            )
        case Compaction():
            said = without_prompt(messages_of(entry))
        case _:
            said = messages_of(entry)
    if edit is None:
        return said
    if isinstance(entry, Compaction | BranchSummary):
        return () if "hidden" in departing and edit.replacement is None else said
    return apply_edit(entry, edit.replacement)


def without_the_untold(
    said: Sequence[tuple[Entry, Message]], departing: frozenset[Departure]
) -> list[tuple[Entry, Message]]:
    verdicts = unsent([message for _, message in said])
    return [
        (entry, message)
        for (entry, message), why in zip(said, verdicts, strict=True)
        if not ("unsent" in departing and why is not None)
        and not ("prompt" in departing and isinstance(message, SystemMessage))
        and not ("blank" in departing and is_blank(message))
    ]


def is_blank(message: Message) -> bool:
    match message:
        case BranchSummaryMessage(summary=summary) | CompactionSummaryMessage(summary=summary):
            return not summary.strip()
        case ToolResultMessage(content=content):
            return not any(not isinstance(block, TextContent) or block.text.strip() for block in content)
        case _:
            return False


def files_by(entries: Sequence[Entry], passed: Sequence[Message] | None, departing: frozenset[Departure]) -> Files:
    """Pi looks at the calls of what it passed on its walk, as edited, and takes those of failed answers for ones that ran.

    `passed`: None where the departures make it nothing to go by.
    """
    kinds = (BranchSummary, Compaction) if "compactions" in departing else (BranchSummary,)
    nested = [inherited(entry) for entry in entries if isinstance(entry, kinds)]
    messages: Sequence[Message] = passed or ()
    if "files" in departing:
        edits = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEdit)}
        every = (entry for entry in entries if isinstance(entry, MessageEntry))
        messages = [
            message
            for entry in every
            for message in (
                (entry.message,) if "ran" in departing else said_by(entry, edits.get(entry.id), frozenset(), "omp")
            )
        ]
    if "ran" not in departing:
        messages = [as_if_it_ran(message) for message in messages]
    return union(files_of(messages), *nested)


def as_if_it_ran(message: Message) -> Message:
    return msgspec.structs.replace(message, stop_reason="stop") if isinstance(message, AssistantMessage) else message


def assert_ours(
    entries: Sequence[Entry], budget: int, expected: Walked, manner: Manner = "pi", count: Count = heuristic
) -> None:
    """What we prepare is the walk with every departure."""
    ours = prepared(entries, budget, count, manner=manner)
    assert ours.files == expected.files
    if expected.cut_to is None:
        assert ours.messages == expected.messages
        assert ours.tokens == expected.tokens
        return
    whole = expected.messages[1:]
    assert ours.messages[len(ours.messages) - len(whole) :] == whole
    if len(ours.messages) == len(whole):
        assert whole
        assert expected.cut_to < LEAST_CUT
        assert ours.tokens == expected.tokens
    else:
        assert ours.messages[0].role == expected.messages[0].role
        assert ours.tokens - expected.tokens <= max(expected.cut_to, 0 if whole else 1)
