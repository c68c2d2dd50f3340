"""What answers of extensions make of an input, of a request and of what they want written."""

from __future__ import annotations

import pytest

from sapwood.actors.agent.rewriting import entry_of, forced, heard, targets, with_system
from sapwood.events.commands import Input
from sapwood.events.content import ImageContent
from sapwood.events.entries import ContextEdit, Custom, CustomMessageEntry, KnownEntry, Label, Replacement
from sapwood.events.errors import Refused
from sapwood.events.hooks import ChangeInput, Draft, DraftEdit, DraftLabel, DraftMessage, DraftState, Handled
from sapwood.events.ids import EntryId
from sapwood.events.messages import SystemMessage, ToolDefinition
from tests.build import MS, TIME, assistant, user

IMAGE = ImageContent(data="aGk=", mime_type="image/png")
SAID = Input(entry_id=EntryId("e1"), text="hi", images=(IMAGE,), timestamp=MS)
LOOK = ToolDefinition(name="look", description="Looks.", parameters={})
HEAD = SystemMessage(content="", sections={"preamble": "Be kind."}, tools_added=(LOOK,), timestamp=MS)
LATER = SystemMessage(content="", sections={"preamble": "Be brief."}, timestamp=MS + 1)


def test_an_input_is_taken_as_it_is_said_to_be_without_characters_that_nobody_types() -> None:
    assert heard(SAID, None) is SAID
    changed = heard(SAID, ChangeInput(text="h\x00o"))
    assert (changed.text, changed.images, changed.entry_id) == ("ho", (IMAGE,), "e1")
    assert heard(SAID, ChangeInput(text="ho", images=())).images == ()


@pytest.mark.parametrize(("reason", "words"), [("", "took care of it$"), ("noted", "took care of it: noted")])
def test_one_that_was_taken_care_of_is_refused_by_name(reason: str, words: str) -> None:
    with pytest.raises(Refused, match=f"the extension 'notes' {words}") as caught:
        heard(SAID, Handled(reason=reason, by="notes"))

    assert caught.value.reason == "handled"


def test_other_messages_come_behind_one_prompt_that_says_it_all() -> None:
    given = (user("b"),)
    prompt, other = with_system((HEAD, user("a"), LATER), given)

    assert isinstance(prompt, SystemMessage)
    assert (prompt.sections, prompt.tools_added, other) == ({"preamble": "Be brief."}, (LOOK,), user("b"))
    assert with_system((user("a"),), given) == given


def test_a_prompt_of_an_extension_takes_the_place_of_all_and_leaves_the_tools() -> None:
    head, first, last = forced((HEAD, user("a"), LATER, assistant("b")), "Speak Latin.", MS)

    assert isinstance(head, SystemMessage)
    assert (head.content, head.sections, head.tools_added) == ("Speak Latin.", None, (LOOK,))
    assert (first, last) == (user("a"), assistant("b"))
    assert forced((), "Speak Latin.", 7) == (SystemMessage(content="Speak Latin.", timestamp=7),)


E1, E2 = EntryId("e1"), EntryId("e2")
DRAFTS: list[tuple[Draft, KnownEntry, EntryId | None]] = [
    (
        DraftState(custom_type="t", data=[1]),
        Custom(id=E1, parent_id=None, timestamp=TIME, custom_type="t", data=[1]),
        None,
    ),
    (
        DraftMessage(custom_type="t", content="look", display=False, details=2),
        CustomMessageEntry(
            id=E1, parent_id=None, timestamp=TIME, custom_type="t", content="look", display=False, details=2
        ),
        None,
    ),
    (
        DraftEdit(target_id=E2, replacement=Replacement(content="x")),
        ContextEdit(id=E1, parent_id=None, timestamp=TIME, target_id=E2, replacement=Replacement(content="x")),
        E2,
    ),
    (DraftLabel(target_id=E2, label="l"), Label(id=E1, parent_id=None, timestamp=TIME, target_id=E2, label="l"), E2),
]


@pytest.mark.parametrize(("draft", "entry", "target"), DRAFTS, ids=lambda one: type(one).__name__)
def test_a_draft_becomes_an_entry(draft: Draft, entry: KnownEntry, target: EntryId | None) -> None:
    assert entry_of(draft, E1, TIME) == entry
    assert targets(draft) == target
