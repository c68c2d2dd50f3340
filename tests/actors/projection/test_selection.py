"""What an entry gives to the model, and what an edit makes of it."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.actors.projection.selection import apply_edit, messages_of, without_prompt
from sapwood.events.content import AssistantBlock, ImageContent, TextContent, ThinkingContent
from sapwood.events.entries import (
    BranchSummary,
    Compaction,
    Custom,
    CustomMessageEntry,
    Entry,
    Label,
    ModelChange,
    Replacement,
    SessionInfo,
    ThinkingLevelChange,
    Unknown,
)
from sapwood.events.ids import EntryId
from sapwood.events.messages import BranchSummaryMessage, CompactionSummaryMessage, CustomMessage
from tests.build import MS, TIME, assistant, call, message_entry, result, system, text, user


def compaction(**more: object) -> Compaction:
    return Compaction(
        id=EntryId("e1"),
        parent_id=None,
        timestamp=TIME,
        summary="## Goal",
        first_kept_entry_id=EntryId("e1"),
        tokens_before=9,
        **more,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    )


SILENT: list[Entry] = [
    ModelChange(id=EntryId("e1"), parent_id=None, timestamp=TIME, provider="p", model_id="m"),
    ThinkingLevelChange(id=EntryId("e1"), parent_id=None, timestamp=TIME, thinking_level="high"),
    Custom(id=EntryId("e1"), parent_id=None, timestamp=TIME, custom_type="x"),
    Label(id=EntryId("e1"), parent_id=None, timestamp=TIME, target_id=EntryId("e0"), label="x"),
    SessionInfo(id=EntryId("e1"), parent_id=None, timestamp=TIME, name="x"),
    BranchSummary(id=EntryId("e1"), parent_id=None, timestamp=TIME, from_id="root", summary=""),
    Unknown(type="later", id=EntryId("e1"), parent_id=None, timestamp=TIME, line=b"{}"),
]


@pytest.mark.parametrize("entry", SILENT, ids=lambda entry: type(entry).__name__)
def test_kinds_that_the_model_never_sees_give_nothing(entry: Entry) -> None:
    assert messages_of(entry) == ()


def test_a_message_gives_itself() -> None:
    assert messages_of(message_entry("e1", user("hi"))) == (user("hi"),)


def test_an_extensions_message_takes_its_time_from_the_entry() -> None:
    entry = CustomMessageEntry(
        id=EntryId("e1"), parent_id=None, timestamp=TIME, custom_type="note", content="hi", display=False
    )

    assert messages_of(entry) == (CustomMessage(custom_type="note", content="hi", display=False, timestamp=MS),)


def test_a_branch_summary_gives_its_summary() -> None:
    entry = BranchSummary(id=EntryId("e1"), parent_id=None, timestamp=TIME, from_id="root", summary="found it")

    assert messages_of(entry) == (BranchSummaryMessage(summary="found it", from_id="root", timestamp=MS),)


def test_a_compaction_gives_the_prompt_of_its_boundary_and_then_its_summary() -> None:
    summary = CompactionSummaryMessage(summary="## Goal", tokens_before=9, timestamp=MS)
    prompt = system(rules="be kind")

    assert messages_of(compaction()) == (summary,)
    assert messages_of(compaction(system_message=prompt)) == (prompt, summary)
    assert without_prompt((prompt, summary)) == (summary,)


def test_null_hides_whatever_it_is() -> None:
    assert apply_edit(message_entry("e1", user("hi")), None) == ()
    assert apply_edit(compaction(), None) == ()


def test_an_edit_changes_content_and_nothing_else() -> None:
    other = Replacement(content="other")

    assert apply_edit(message_entry("e1", user("hi")), other) == (user("other"),)
    assert apply_edit(message_entry("e1", assistant(call("a"), stop="toolUse")), other) == (
        assistant("other", stop="toolUse"),
    )
    assert apply_edit(message_entry("e1", result("a", "long", error=True)), other) == (
        result("a", "other", error=True),
    )


def test_an_edit_keeps_only_blocks_that_the_role_can_hold() -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    mixed = Replacement(content=(text("x"), image, call("a")))

    assert apply_edit(message_entry("e1", user("hi")), mixed) == (user((TextContent(text="x"), image)),)
    assert apply_edit(message_entry("e1", assistant("hi")), mixed) == (assistant("x", call("a")),)


def test_an_edit_keeps_a_signed_thought_only_as_it_was_thought() -> None:
    """With other words, or another signature, every request would be refused from then on (P5)."""
    thought = ThinkingContent(thinking="hm", thinking_signature="s")
    other = msgspec.structs.replace(thought, thinking="h")
    unsigned = ThinkingContent(thinking="h")
    entry = message_entry("e1", assistant(thought, "long"))

    def edited(*blocks: AssistantBlock) -> object:
        return apply_edit(entry, Replacement(content=blocks))

    assert edited(thought, text("short")) == (assistant(thought, "short"),)
    assert edited(other, text("short")) == (assistant("short"),)
    assert edited(msgspec.structs.replace(thought, thinking_signature="t"), text("short")) == (assistant("short"),)
    assert edited(unsigned, text("short")) == (assistant(unsigned, "short"),)


def test_content_of_what_cannot_be_edited_stays() -> None:
    entry = compaction(system_message=system(rules="x"))

    assert apply_edit(entry, Replacement(content="other")) == messages_of(entry)


@pytest.mark.parametrize(
    ("stamp", "expected"), [(TIME, MS), ("2026-01-01T00:00:00.1236Z", MS + 123), ("yesterday", 0), ("", 0)]
)
def test_a_message_has_the_time_of_its_entry_and_no_time_is_zero(stamp: str, expected: int) -> None:
    entries: list[Entry] = [
        msgspec.structs.replace(compaction(), timestamp=stamp),
        BranchSummary(id=EntryId("e1"), parent_id=None, timestamp=stamp, summary="s", from_id="root"),
        CustomMessageEntry(
            id=EntryId("e1"), parent_id=None, timestamp=stamp, custom_type="x", content="c", display=True
        ),
    ]

    assert [message.timestamp for entry in entries for message in messages_of(entry)] == [expected] * 3
