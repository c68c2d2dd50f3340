"""Where a move ends, what it leaves behind, and what of that a summary is made of (N1 to N4). No I/O but reading entries.

1. To move to what somebody said is to say it anew: the leaf becomes its parent. To anything else: itself.
2. What is left are the entries from the old leaf up to the deepest one that lies on both paths. A compaction is no stop.
3. The files are those of every entry that was left, whether or not it fits.
4. What fits is taken from the newest on, until the first that does not fit. The newest is always in, cut if need be; an older summary at
   that point is let in, cut to what is left, if a tenth of the budget is.
5. What a summary is never told takes no place: the prompt, thinking, what was not sent (P5), and results in pi's manner.
6. An answer of the person's that is given anew is told in both manners, as what it is: something that was said (N8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

import attrs

from sapwood.actors.navigation.cutting import as_told, cut_to_fit
from sapwood.actors.navigation.settings import BranchSummarySettings, Manner
from sapwood.actors.outgoing.sending import unsent
from sapwood.actors.outgoing.texts import with_texts
from sapwood.actors.outgoing.veil import NOTHING, Veil
from sapwood.actors.projection.selection import apply_edit, messages_of
from sapwood.actors.readable import Readable
from sapwood.actors.summaries.file_lists import PATH_ARGUMENTS, Files, PathArguments, files_of_entries
from sapwood.events.content import ImageContent, TextContent, UserContent, text_of, without_surrogates
from sapwood.events.entries import BranchSummary, Compaction, ContextEdit, CustomMessageEntry, Entry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import (
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from sapwood.events.models import Model
from sapwood.store.tree import Tree


@attrs.frozen(kw_only=True)
class Destination:
    """Where a move ends (N1)."""

    leaf: int | None
    """The place in the tree that becomes the leaf; None: before the first entry."""
    text: str | None = None
    """What was said there, to be edited and said anew; None where nothing is handed back."""
    images: tuple[ImageContent, ...] = ()


@attrs.frozen(kw_only=True)
class Left:
    """What a move leaves behind (N2)."""

    common: int | None
    """The deepest entry on both paths; None if they share none."""
    entries: tuple[int, ...]
    """From below that one to the old leaf, oldest first."""


@attrs.frozen(kw_only=True)
class Prepared:
    """What a branch's summary is made of (N3)."""

    messages: tuple[Message, ...]
    """Oldest first, edits applied. Empty: there is nothing to summarise, and no model is to be asked."""
    files: Files
    tokens: int
    """What these messages weigh, as they are told."""
    dropped: int
    """How many entries that say something are not in."""


def destination(view: Readable, target: int | None) -> Destination:
    """Where a move to this entry ends. The text is clean enough to be said again."""
    if target is None:
        return Destination(leaf=None)
    said = _said(view.entry(target))
    if said is None:
        return Destination(leaf=target)
    return Destination(
        leaf=view.tree.parent(target),
        text=without_surrogates(text_of(said)),
        images=() if isinstance(said, str) else tuple(block for block in said if isinstance(block, ImageContent)),
    )


def is_there(tree: Tree, destination: Destination) -> bool:
    """Whether the session stands there already, by position (S6): only bookkeeping lies between the leaf and there, if anything."""
    return tree.position(tree.leaf) == tree.position(destination.leaf)


def left(tree: Tree, leaf: int | None, to: int | None) -> Left:
    """What a move from this leaf leaves behind.

    Args:
        tree: of the log.
        leaf: the old one; None stands before the first entry and leaves nothing.
        to: the entry that is moved to, not the leaf that comes of it: what is said anew is not left behind. For a question that is
            answered anew it is the parent of the answer, so that the old answer is (N8).
    """
    common = tree.common_ancestor(leaf, to)
    entries: list[int] = []
    for at in tree.upwards(leaf):
        if at == common:
            break
        entries.append(at)
    return Left(common=common, entries=tuple(reversed(entries)))


def budget(model: Model, settings: BranchSummarySettings) -> int:
    """Tokens that a branch may have of this model's window: all but the reserve, and a quarter at least (N3)."""
    window = model.window
    return max(window - settings.reserve_tokens, -(-window // 4))


def prepared(
    entries: Sequence[Entry],
    budget: int,
    count: Callable[[Message], int],
    *,
    manner: Manner,
    paths: PathArguments = PATH_ARGUMENTS,
    veil: Veil = NOTHING,
    answered: EntryId | None = None,
) -> Prepared:
    """What the summary of these entries is made of. They are more than the budget only if a single character is.

    Args:
        entries: what was left, oldest first.
        budget: tokens. Less than one is taken as none: what is newest is in all the same, by a character.
        count: tokens of a message. Asked for messages as they are told, which have no images and no thinking.
        manner: pi leaves results of tools out; omp has them, but for those that their tool called useless and that are no errors (N4).
        paths: which arguments of which tool are paths.
        answered: the result of a tool that asks, which is about to get another one beside it.
        veil: what is secret is hidden before anything is cut: half of it would be known to nobody (E6).
    """
    telling = tuple((entry, with_texts(message, veil.hide)) for entry, message in _telling(entries, manner, answered))
    room, used = max(budget, 0), 0
    kept: list[Message] = []
    for entry, message in reversed(telling):
        tokens = count(as_told(message))
        if used + tokens > room:
            is_summary = isinstance(entry, Compaction | BranchSummary)
            # a summary is dense: a tenth of the budget is enough for a part of it that is worth having
            if not kept or (is_summary and 10 * used < 9 * room):
                cut = cut_to_fit(message, room - used, count, always=not kept)
                if cut is not None:
                    kept.append(cut)
                    used += count(cut)
            break
        kept.append(message)
        used += tokens
    return Prepared(
        messages=tuple(reversed(kept)),
        files=files_of_entries(entries, paths),
        tokens=used,
        dropped=len(telling) - len(kept),
    )


def _said(entry: Entry) -> UserContent | None:
    """What a user or an extension said with an entry; None for any other one."""
    match entry:
        case MessageEntry(message=UserMessage(content=content) | CustomMessage(content=content)):
            return content
        case CustomMessageEntry(content=content):
            return content
        case _:
            return None


def _telling(entries: Sequence[Entry], manner: Manner, answered: EntryId | None) -> Iterator[tuple[Entry, Message]]:
    """The messages that a summary is told of, each with its entry, oldest first."""
    edits = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEdit)}
    said: list[tuple[Entry, Message]] = []
    for entry in entries:
        edit = edits.get(entry.id)
        messages = messages_of(entry) if edit is None else apply_edit(entry, edit.replacement)
        said.extend((entry, message) for message in messages)
    verdicts = unsent([message for _, message in said])
    for (entry, message), why in zip(said, verdicts, strict=True):
        if why is None and manner == "pi" and entry.id == answered and _was_answered(message):
            yield entry, UserMessage(content=message.content, timestamp=message.timestamp)
        elif why is None and _tells(message, manner):
            yield entry, message


def _was_answered(message: Message) -> TypeGuard[ToolResultMessage]:
    """Whether a person said something; that nobody could be asked is no answer."""
    return isinstance(message, ToolResultMessage) and not message.is_error and bool(text_of(message.content).strip())


def _tells(message: Message, manner: Manner) -> bool:
    """Whether a summary is told anything of a message that goes out."""
    match message:
        case SystemMessage():
            return False
        case ToolResultMessage(content=content, useless=useless, is_error=is_error):
            if manner == "pi" or (useless and not is_error):
                return False
            return any(not isinstance(block, TextContent) or block.text.strip() for block in content)
        case CompactionSummaryMessage(summary=summary) | BranchSummaryMessage(summary=summary):
            return bool(summary.strip())
        case _:
            return True
