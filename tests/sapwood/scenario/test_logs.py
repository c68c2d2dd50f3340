"""What two logs have in common."""

from __future__ import annotations

import attrs
import pytest

from sapwood.actors.tools.results import INTERRUPTED
from sapwood.events.entries import KnownEntry
from sapwood.scenario.language import Prompt, Story
from sapwood.scenario.logs import pairing_fault, renamed, strange_text, unlike
from sapwood.scenario.scripts import Answer, Answers, Call, ScriptedTool
from sapwood.scenario.wire import to_entries

STORY = Story(
    title="x",
    tools={"saw": ScriptedTool(result="sawn")},
    answers=Answers(
        turn=(Answer(text="An oak.", calls=(Call(name="saw", arguments={"n": 1}),)),),
        compaction=(Answer(text="## Goal"),),
    ),
    steps=(Prompt(prompt="Which tree?"),),
)


def said(role: str, text: str, **more: object) -> dict[str, object]:
    return {"type": "message", "message": {"role": role, "content": text}, **more}


def result(call: str, text: str = "sawn") -> dict[str, object]:
    return {
        "type": "message",
        "message": {"role": "toolResult", "toolCallId": call, "toolName": "saw", "content": text},
    }


def calling(*calls: str, ends: str = "toolUse") -> dict[str, object]:
    content: list[object] = [{"type": "toolCall", "id": call, "name": "saw", "arguments": {}} for call in calls]
    return {"type": "message", "message": {"role": "assistant", "content": content, "stopReason": ends}}


def entries(*values: dict[str, object]) -> tuple[KnownEntry, ...]:
    return to_entries(values)


def test_logs_that_differ_in_their_ids_alone_are_the_same() -> None:
    one = renamed(entries(said("user", "a", id="x"), said("user", "b", id="y")))
    two = renamed(entries(said("user", "a", id="p"), said("user", "b", id="q")))

    assert one == two
    assert unlike(one, two) is None
    assert one[1]["parentId"] == "#1"


def test_the_first_difference_is_told() -> None:
    whole = renamed(entries(said("user", "a"), said("user", "b")))

    assert "entry 2 is another one" in (unlike(whole, renamed(entries(said("user", "a"), said("user", "c")))) or "")
    assert unlike(whole, whole[:1]) == "it has 1 new entries for 2"


@pytest.mark.parametrize("text", ["", "Which tree?", "An oak.", "An o", "sawn", '{"n":1}', INTERRUPTED])
def test_what_the_story_could_have_brought_is_not_strange(text: str) -> None:
    assert strange_text(entries(said("user", text)), STORY, ()) is None


def test_what_nobody_said_is_strange() -> None:
    assert strange_text(entries(said("user", "Which tree?"), said("user", "A pine.")), STORY, ()) == "A pine."
    assert strange_text(entries(said("user", "A pine.")), STORY, entries(said("user", "A pine."))) is None


def test_a_summary_may_have_more_around_what_was_said() -> None:
    text = "## Goal\n<read-files>\na\n</read-files>"
    kept = said("user", "Which tree?")
    summary: dict[str, object] = {"type": "compaction", "summary": text, "firstKeptEntryId": "e1", "tokensBefore": 1}
    log = entries(kept, summary)

    assert strange_text(log, STORY, ()) is None
    assert strange_text(log, attrs.evolve(STORY, answers=Answers()), ()) == text


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ([calling("c1", "c2"), result("c2"), result("c1")], None),
        ([calling("c1")], None),
        ([result("c1")], "there is a result for the call 'c1', which nobody made"),
        ([calling("c1"), result("c1"), result("c1")], "the call 'c1' has two results"),
        ([calling("c1", ends="aborted"), result("c1")], "there is a result for the call 'c1', which nobody made"),
    ],
)
def test_each_call_has_one_result_at_most(values: list[dict[str, object]], fault: str | None) -> None:
    assert pairing_fault(entries(*values)) == fault


def test_a_call_that_an_extension_failed_to_decide_on_was_broken_off_too() -> None:
    blocked = result("c1", "the call was not run: the extension 'veto', which decides on it, failed: handlers crashed")

    assert strange_text(entries(calling("c1"), blocked), STORY, ()) is None
    assert strange_text(entries(calling("c1"), result("c1", "it was not run")), STORY, ()) == "it was not run"
