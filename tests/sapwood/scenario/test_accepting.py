"""Taking what was seen for what is expected: only that is rewritten, and the story is as expected then."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.scenario import Played, play
from sapwood.scenario.accepting import accept, short
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
