"""Taking what was seen for what is expected: only that is rewritten, and the story is as expected then."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.scenario import Played, play
from sapwood.scenario.accepting import LONGEST, accept, short
from sapwood.scenario.spelling import WIDTH
from sapwood.scenario.text import parse
from tests.sapwood.scenario.stories import TALK, written


def accepted(path: Path) -> tuple[str, Played]:
    """The text with what was seen, and what comes of it."""
    text = path.read_text(encoding="utf-8")
    path.write_text(accept(text, parse(text), play(path).differences), encoding="utf-8")
    return path.read_text(encoding="utf-8"), play(path)


COMMENTED = (
    TALK
    + """\
    # what the step brings
    expect:
      events:
        # first
        - agent_start
        - {type: turn_start, turnIndex: 7}   # the turn

        - compaction_start
        - ...
        # last
        - agent_settled
      state: run   # busy
expect:
  usage: 3%/7
  projection: [user, {role: assistant, text: "Bad, thanks."}, user]   # both
"""
)


def test_comments_and_what_is_as_expected_stay_as_they_are(tmp_path: Path) -> None:
    text, again = accepted(written(tmp_path, COMMENTED))

    assert again.differences == ()
    assert text == COMMENTED.replace("turnIndex: 7}", "turnIndex: 0}").replace("state: run ", "state: idle ").replace(
        "        - compaction_start\n", ""
    ).replace("usage: 3%/7", "usage: 0.0%/128000").replace('"Bad, thanks."}, user]', "'Fine, thanks.'}]")


@pytest.mark.parametrize("key", ["events", "entries", "projection"])
def test_an_empty_list_is_filled_with_what_was_seen(key: str, tmp_path: Path) -> None:
    text, again = accepted(written(tmp_path, TALK + f"expect: {{{key}: []}}\n"))

    assert again.differences == ()
    assert "entryId" not in text
    assert "timestamp" not in text


def test_what_was_not_expected_comes_where_it_was_seen(tmp_path: Path) -> None:
    text = TALK + "expect:\n  entries:\n    - {type: message, message: {role: assistant}}\n"

    accepted_text, again = accepted(written(tmp_path, text))

    assert again.differences == ()
    assert accepted_text.splitlines()[-2:] == [
        "    - {type: message, message: {role: user, content: 'How are you?'}}",
        "    - {type: message, message: {role: assistant}}",
    ]


@pytest.mark.parametrize(
    ("step", "seen"),
    [
        ('  - prompt: " "\n', '  - prompt: " "\n    outcome: refused\n'),
        ('  - {prompt: " "}\n', '  - {prompt: " ", outcome: refused}\n'),
        ('  - {prompt: " ", outcome: failed}\n', '  - {prompt: " ", outcome: refused}\n'),
    ],
)
def test_an_outcome_is_written_whether_or_not_it_stood_there(step: str, seen: str, tmp_path: Path) -> None:
    text, again = accepted(written(tmp_path, TALK + step))

    assert text == TALK + seen
    assert again.differences == ()


def test_a_text_of_several_lines_is_replaced_as_a_whole(tmp_path: Path) -> None:
    story = (
        TALK
        + """\
expect:
  projection:
    - user
    - role: assistant
      text: |
        Many
        lines.

    # behind
    - user
"""
    )
    text, again = accepted(written(tmp_path, story))

    assert again.differences == ()
    assert text.endswith("    - user\n    - {role: assistant, text: 'Fine, thanks.'}\n\n    # behind\n")


def test_what_is_no_expectation_is_not_accepted(tmp_path: Path) -> None:
    story = TALK + "  - prompt: And now?\n"

    text, again = accepted(written(tmp_path, story))

    assert text == story
    assert [one.what for one in again.differences] == ["script in step 2"]


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ({"type": "agent_start"}, "agent_start"),
        ({"type": "entry_appended", "entryId": "x"}, "entry_appended"),
        ({"type": "agent_settled", "aborted": True}, {"type": "agent_settled", "aborted": True}),
        ({"role": "user", "text": "a" * 90, "tokens": 3}, {"role": "user", "text": "a" * 80 + "..."}),
        ({"role": "user", "text": "one\ntwo"}, {"role": "user", "text": "one..."}),
    ],
)
def test_a_new_item_is_told_by_its_kind_and_by_what_a_reader_knows_it_by(seen: object, told: object) -> None:
    assert short(seen) == told


AUDITED = """\
title: A talk that is counted
extensions: [counting.py]
answers:
  turn: [{text: "Fine, thanks."}]
steps:
  - prompt: How are you?
"""
COUNTING = """
import sapwood
from sapwood.events.runtime import AgentSettled

extension = sapwood.Extension("counting")


@extension.on(AgentSettled)
async def count(event, context):
    await context.append_custom("counting", {"words": 5, "at": {"targetId": "a1"}, "said": "an oak so old " * 12, "none": None})
"""


def counted(folder: Path, expect: str) -> Path:
    (folder / "counting.py").write_text(COUNTING, encoding="utf-8")
    return written(folder, AUDITED + expect)


def test_an_entry_of_an_extension_is_told_by_its_data(tmp_path: Path) -> None:
    expect = "expect:\n  entries:\n    # both\n    - message\n    - message\n"
    text, again = accepted(counted(tmp_path, expect))

    assert again.differences == ()
    assert text.startswith(AUDITED + expect)
    assert parse(text).value["expect"]["entries"][2] == {
        "type": "custom",
        "customType": "counting",
        "data": {
            "words": 5,
            "at": {"targetId": "a1"},
            "said": ("an oak so old " * 12)[:LONGEST].rstrip() + "...",
            "none": None,
        },
    }
    assert max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize("behind", ["", "   # few"])
def test_data_that_is_another_one_is_accepted_whole(behind: str, tmp_path: Path) -> None:
    """What came of it has no place on its line: it is a line a key then, and in braces where a comment stands behind it."""
    item = "{type: custom, customType: counting, data: {words: 4, said: x}}"
    text, again = accepted(
        counted(tmp_path, f"expect:\n  entries:\n    - message\n    - message\n    - {item}{behind}\n")
    )

    assert again.differences == ()
    assert max(map(len, text.splitlines())) <= WIDTH
    seen = parse(text).value["expect"]["entries"][2]
    assert seen["data"] == {"words": 5, "said": "an oak so old " * 12}
    assert ("\n      customType: counting\n" in text) == (not behind)
    assert text.endswith(f"}}}}{behind}\n") == bool(behind)


def test_of_data_of_ours_no_id_is_told() -> None:
    marker = {"type": "custom", "id": "x", "customType": "sapwood.leaf", "data": {"fromId": "x1", "by": ["y"]}}

    assert short(marker) == {
        "type": "custom",
        "customType": "sapwood.leaf",
        "data": {"fromId": "...", "by": ["y"]},
    }


FLOW = [
    ("expect:\n  events: []\n", "  events:\n    - agent_start\n    - "),
    ("expect:\n  events: [agent_start]\n", "  events:\n    - agent_start\n    - "),
    ("expect:\n  events: [turn_start,\n    agent_end]\n  state: idle\n", "  events:\n    - agent_start\n    - "),
    ("expect: {events: []}\n", "expect: {events: [agent_start, "),
    ("expect:\n  events: []   # all\n", "  events: [agent_start, "),
]


@pytest.mark.parametrize(("expect", "begins"), FLOW)
def test_a_list_in_brackets_that_has_no_place_on_its_line_is_taken_apart(
    expect: str, begins: str, tmp_path: Path
) -> None:
    """A dash an item where the list has a key's line for itself; else over several lines, what stands behind it with it."""
    text, again = accepted(written(tmp_path, TALK + expect))

    assert again.differences == ()
    assert text.startswith(TALK)
    assert begins in text
    assert max(map(len, text.splitlines())) <= WIDTH
    assert ("# all" in expect) == text.endswith("]   # all\n")
    assert ("state: idle" in expect) == text.endswith("\n  state: idle\n")
