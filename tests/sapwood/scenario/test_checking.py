"""From what was expected and what was seen to findings."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from sapwood.scenario import Finding, play
from sapwood.scenario.checking import item_value, unused_answers
from tests.sapwood.scenario.stories import LONG_TALK, SUMMARY, TALK, written


def findings(folder: Path, expect: str) -> list[tuple[int, str, str]]:
    """The line, the place and the kind of each difference that a talk has from an expectation written behind it."""
    return [(one.line, one.what, one.difference.kind) for one in found(folder, expect)]


def found(folder: Path, expect: str) -> tuple[Finding, ...]:
    return play(written(folder, TALK + expect)).differences


@pytest.mark.parametrize(
    ("expect", "differences"),
    [
        ("expect:\n  state: run\n", [(7, "state at the end", "unlike")]),
        ("expect:\n  usage: ...\n", []),
        ("expect:\n  usage: 1%/5\n", [(7, "usage at the end", "unlike")]),
        ("expect:\n  entries: []\n", [(7, "entries at the end", "not expected")] * 2),
        (
            "expect:\n  entries:\n  - message\n  - message\n  - label\n",
            [(10, "entries at the end", "not seen")],
        ),
        (
            "expect:\n  projection:\n  - user\n  - {role: assistant, text: Bad.}\n",
            [(9, "projection at the end", "unlike")],
        ),
        (
            "expect:\n  projection:\n  - user\n  - {role: assistant, unsent: failed}\n",
            [(9, "projection at the end", "unlike")],
        ),
        ("    outcome: refused\n", [(6, "outcome of step 1", "unlike")]),
        ("    expect:\n      state: run\n", [(7, "state of step 1", "unlike")]),
        (
            "    expect:\n      events:\n      - agent_start\n      - ...\n      - turn_start\n",
            [(10, "events of step 1", "not seen")],
        ),
    ],
)
def test_a_difference_is_told_with_the_line_that_it_contradicts(
    expect: str, differences: list[tuple[int, str, str]], tmp_path: Path
) -> None:
    assert findings(tmp_path, expect) == differences


def test_what_is_not_mentioned_is_not_looked_at(tmp_path: Path) -> None:
    assert findings(tmp_path, "") == []
    assert findings(tmp_path, "expect: {events: [...], entries: [..., {type: message}], projection: [...]}\n") == []


ALL = """\
    expect:
      events:
        - agent_start
        - turn_start
        - message_start
        - entry_appended
        - message_end
        - message_start
        - entry_appended
        - message_end
        - turn_end
        - agent_end
        - agent_settled
"""


def test_pieces_of_answers_are_passed_over_unless_one_is_mentioned(tmp_path: Path) -> None:
    start, end = "        - message_start\n        - entry", "        - message_start\n{}        - entry"
    assert findings(tmp_path, ALL) == []

    for pieces, differences in ((1, 2), (2, 1), (3, 0)):
        head, tail = ALL.rsplit(start, 1)
        mentioned = head + end.format("        - message_update\n" * pieces) + tail
        assert findings(tmp_path, mentioned) == [(7, "events of step 1", "not expected")] * differences


def test_an_event_that_was_seen_is_counted_as_the_timeline_counts(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, ALL.replace("        - turn_end\n", ""))

    assert finding.difference.kind == "not expected"
    assert finding.difference.seen_at == 11, "the twelfth, with the pieces that were passed over"


def test_a_message_is_expected_to_be_sent_unless_the_reason_is_given(tmp_path: Path) -> None:
    failed = "answers: {turn: [{text: half, error: no such model}]}\ntitle: x\nsteps:\n  - prompt: hi\nexpect:\n  projection:\n  - user\n"

    (finding,) = play(written(tmp_path, failed + "  - assistant\n")).differences
    assert [mismatch.field for mismatch in finding.difference.fields] == [("unsent",)]
    assert play(written(tmp_path, failed + "  - {role: assistant, unsent: failed}\n")).differences == ()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", True),
        ("    expect: {events: [..., {type: turn_end, message: {stopReason: stop}}, ...]}\n", True),
        ("    expect: {events: [..., {type: turn_end, message: {stopReason: error}}, ...]}\n", False),
        ("    expect: {events: [..., {type: turn_end, message: {errorMessage: the script...}}, ...]}\n", False),
        ("    expect: {entries: [..., {message: {stopReason: error}}]}\n", False),
        ("expect: {projection: [..., {role: assistant, unsent: failed}]}\n", False),
        ("expect: {projection: [..., {role: assistant, unsent: null}]}\n", True),
        ("    outcome: failed\n", False),
    ],
)
def test_a_script_that_has_run_out_is_a_difference_unless_a_failed_answer_is_expected(
    more: str, told: bool, tmp_path: Path
) -> None:
    differences = findings(tmp_path, "  - prompt: And now?\n" + more)

    assert ((6, "script in step 2", "unlike") in differences) == told


def test_a_message_is_seen_with_its_text_its_tokens_and_its_wire_form(tmp_path: Path) -> None:
    item = play(written(tmp_path, TALK)).projection[0]

    value = item_value(item)

    assert list(value) == ["role", "text", "unsent", "tokens", "entryId", "message"]
    assert (value["role"], value["text"], value["tokens"]) == ("user", "How are you?", 3)
    assert value["message"]["content"] == "How are you?"


SCRIPT = """\
title: x
answers:
  turn:
    - text: one
    - {text: two, error: no such model}
    - text: three
  compaction: [{text: later}]
steps:
"""


@pytest.mark.parametrize(
    ("steps", "unused"),
    [
        ("  - prompt: a\n  - prompt: b\n  - prompt: c\n", [("compaction", 7, 1)]),
        ("  - prompt: a\n  - prompt: b\n", [("turn", 6, 1), ("compaction", 7, 1)]),
        ("  - pass: 1\n", [("turn", 4, 3), ("compaction", 7, 1)]),
        ("  - prompt: ' '\n    outcome: refused\n  - prompt: b\n", [("turn", 5, 2), ("compaction", 7, 1)]),
        (
            "  - events:\n    - {type: message_end, entryId: a, message: {role: assistant}}\n",
            [("turn", 4, 3), ("compaction", 7, 1)],
        ),
        ("  - prompt: a\n" * 4, [("compaction", 7, 1)]),
    ],
)
def test_answers_that_no_call_asked_for_are_noted(
    steps: str, unused: list[tuple[str, int, int]], tmp_path: Path
) -> None:
    """They went unnoticed."""
    played = play(written(tmp_path, SCRIPT + steps))

    found = unused_answers(played.scenario, played.steps)
    assert [(one.purpose, one.line, one.count) for one in found] == unused
    assert [finding.what for finding in played.differences if "script" not in finding.what] == []


def test_a_summary_takes_the_answer_of_its_own_queue(tmp_path: Path) -> None:
    """Its answer was noted as one that no call had asked for."""
    answers = LONG_TALK.replace("{ANSWER}", f"{{text: {SUMMARY}}}, {{text: left}}")
    played = play(written(tmp_path, answers + "  - compact: true\n"))

    assert played.differences == ()
    assert [(one.purpose, one.count) for one in unused_answers(played.scenario, played.steps)] == [("compaction", 1)]


@pytest.mark.parametrize("how", ["prompt", "submit"])
def test_of_a_run_that_broke_nothing_is_said_of_its_answers(how: str, tmp_path: Path) -> None:
    """Of what was said without waiting for it, it was."""
    played = play(written(tmp_path, SCRIPT + f"  - {how}: a\n"))
    [step] = played.steps
    assert unused_answers(played.scenario, [step]) != ()

    for outcome in ("failed", None):
        assert unused_answers(played.scenario, [attrs.evolve(step, outcome=outcome)]) == ()
    assert unused_answers(played.scenario, []) == ()
