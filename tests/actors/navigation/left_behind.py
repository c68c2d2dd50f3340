"""Sessions and branches for the tests of navigation: small trees by a picture of them, and a count that can be done by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from hypothesis import strategies as st

from sapwood.actors.projection.parts import parts_of
from sapwood.actors.session_log.view import View
from sapwood.events.base import Json
from sapwood.events.codec import encode_entry
from sapwood.events.content import ImageContent, ThinkingContent, UserContent
from sapwood.events.entries import (
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    Entry,
    Label,
    Replacement,
)
from sapwood.events.ids import EntryId
from sapwood.events.messages import BashExecutionMessage, CustomMessage, Message, StopReason, StoredMessage
from sapwood.store.memory import MemoryStore
from sapwood.store.tree import Tree
from tests.build import HEADER, MS, TIME, assistant, call, message_entry, result, system, text, user

PICTURE: Final = ImageContent(data="aGk=", mime_type="image/png")
THOUGHT: Final = ThinkingContent(thinking="hmm")

_TEXT: Final = st.text(st.sampled_from("ab \n漢😀"), max_size=30)
_STOPS: Final[tuple[StopReason, ...]] = ("stop", "toolUse", "error", "aborted", "length")


def viewed(*entries: Entry) -> View:
    return View(MemoryStore(HEADER, [encode_entry(entry) for entry in entries]))


def drawn(picture: str) -> View:
    """A session from words such as `a ab bc ad`: each entry's name and before it that of its parent, if it has one.

    Lower case is said by a user; `K` stands for a custom entry, which is bookkeeping, and any other upper case for a compaction.
    """
    entries: list[Entry] = []
    for word in picture.split():
        name, parent = word[-1], word[:-1] or None
        if name.islower():
            entries.append(message_entry(name, user(name), parent))
        elif name == "K":
            entries.append(note(name, parent))
        else:
            entries.append(compaction(name, name, parent=parent))
    return viewed(*entries)


def names(tree: Tree, places: Sequence[int]) -> str:
    return "".join(tree.id(place) for place in places)


def note(name: str, parent: str | None = None) -> Custom:
    return Custom(id=EntryId(name), parent_id=_id(parent), timestamp=TIME, custom_type="sapwood.leaf")


def label(name: str, target: str, text: str | None, parent: str | None = None) -> Label:
    return Label(id=EntryId(name), parent_id=_id(parent), timestamp=TIME, target_id=EntryId(target), label=text)


def compaction(
    name: str, summary: str, *, details: Json = None, from_hook: bool | None = None, parent: str | None = None
) -> Compaction:
    return Compaction(
        id=EntryId(name),
        parent_id=_id(parent),
        timestamp=TIME,
        summary=summary,
        first_kept_entry_id=EntryId(name),
        tokens_before=9,
        details=details,
        from_hook=from_hook,
    )


def nested(
    name: str, summary: str, *, details: Json = None, from_hook: bool | None = None, parent: str | None = None
) -> BranchSummary:
    return BranchSummary(
        id=EntryId(name),
        parent_id=_id(parent),
        timestamp=TIME,
        from_id="root",
        summary=summary,
        details=details,
        from_hook=from_hook,
    )


def edit(name: str, target: str, content: str | None) -> ContextEdit:
    return ContextEdit(
        id=EntryId(name),
        parent_id=None,
        timestamp=TIME,
        target_id=EntryId(target),
        replacement=None if content is None else Replacement(content=content),
    )


def custom(content: UserContent) -> CustomMessage:
    return CustomMessage(custom_type="note", content=content, display=True, timestamp=MS)


def custom_entry(name: str, content: UserContent, parent: str | None = None) -> CustomMessageEntry:
    return CustomMessageEntry(
        id=EntryId(name), parent_id=_id(parent), timestamp=TIME, custom_type="note", content=content, display=True
    )


def command(line: str, output: str, *, excluded: bool | None = None) -> BashExecutionMessage:
    return BashExecutionMessage(
        command=line, output=output, cancelled=False, truncated=False, exclude_from_context=excluded, timestamp=MS
    )


@st.composite
def written(draw: st.DrawFn) -> list[Entry]:
    """A branch, as anybody may have written it: its entries, oldest first."""
    return [_entry(draw, f"e{at}") for at in range(draw(st.integers(0, 8)))]


def _entry(draw: st.DrawFn, name: str) -> Entry:
    match draw(st.sampled_from(["message"] * 5 + ["compaction", "nested", "edit", "note"])):
        case "message":
            return message_entry(name, _message(draw))
        case "edit":
            return edit(name, f"e{draw(st.integers(0, 8))}", draw(st.one_of(st.none(), _TEXT)))
        case "note":
            return note(name)
        case kind:
            details: Json = {"readFiles": [draw(_TEXT)], "modifiedFiles": [draw(_TEXT)]}
            from_hook = draw(st.sampled_from([None, False, True]))
            made = compaction if kind == "compaction" else nested
            return made(name, draw(_TEXT), details=details, from_hook=from_hook)


def _message(draw: st.DrawFn) -> StoredMessage:
    match draw(
        st.sampled_from(["user", "shown", "custom", "answer", "answer", "result", "result", "command", "system"])
    ):
        case "user":
            return user(draw(_TEXT))
        case "shown":
            return user((PICTURE, text(draw(_TEXT)), PICTURE))
        case "custom":
            return custom(draw(st.one_of(_TEXT, st.just((PICTURE,)))))
        case "answer":
            asked = call(
                draw(st.sampled_from(["c1", "c2"])), draw(st.sampled_from(["read", "write"])), path=draw(_TEXT)
            )
            blocks = draw(st.lists(st.one_of(_TEXT, st.just(asked), st.just(THOUGHT)), max_size=3))
            return assistant(*blocks, stop=draw(st.sampled_from(_STOPS)))
        case "result":
            words = draw(_TEXT) * draw(st.sampled_from([1, 1, 200]))
            made = result(draw(st.sampled_from(["c1", "c2"])), words, error=draw(st.booleans()))
            return msgspec.structs.replace(made, useless=draw(st.sampled_from([None, False, True])))
        case "command":
            return command(draw(_TEXT), draw(_TEXT))
        case _:
            return system(rules=draw(_TEXT))


def letters(message: Message) -> int:
    """A token a character. An image is none: whoever counts is given messages as they are told."""
    total = 0
    for part in parts_of(message):
        assert isinstance(part, str)
        total += len(part)
    return total


def _id(name: str | None) -> EntryId | None:
    return None if name is None else EntryId(name)
