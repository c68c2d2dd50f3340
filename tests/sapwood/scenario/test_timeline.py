"""How a playing looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from sapwood.events.messages import StoredMessage
from sapwood.scenario import play
from sapwood.scenario.timeline import SHOWN_FIELDS, SHOWN_FINDINGS, Nesting, timeline, to_json
from sapwood.words.wording import plain
from tests.sapwood.scenario.stories import TALK, written


def shown(folder: Path, text: str) -> list[str]:
    return [plain(line).replace(str(folder) + "/", "") for line in timeline(play(written(folder, text)))]


def test_differences_are_shown_with_line_expected_and_seen(tmp_path: Path) -> None:
    lines = shown(
        tmp_path,
        TALK
        + """\
    expect:
      events:
        - agent_start
        - ...
        - {type: turn_end, message: {stopReason: length}}
        - tool_abandoned
        - ...
        - message_end
        - agent_settled
expect: {usage: 5%/1}
""",
    )

    assert lines[-11:] == [
        "4 differences: 14 events, 2 new entries",
        "story.yaml:10: events of step 1: not as expected (the 12th seen)",
        '    expected  message.stopReason: "length"',
        '    seen      message.stopReason: "stop"',
        "story.yaml:11: events of step 1: expected, but not seen",
        '    expected  {"type": "tool_abandoned"}',
        "story.yaml:13: events of step 1: expected, but not here; it came before (the 11th seen)",
        '    expected  {"type": "message_end"}',
        "story.yaml:15: usage at the end: not as expected",
        '    expected  "5%/1"',
        '    seen      "0.0%/128000"',
    ]


def test_what_comes_later_than_expected_is_told_as_that(tmp_path: Path) -> None:
    """This used to say that it was not seen."""
    lines = shown(tmp_path, TALK + "    expect: {events: [agent_settled, agent_start, ...]}\n")

    assert "story.yaml:6: events of step 1: expected, but not next; it comes later (the 14th seen)" in lines


def test_why_an_answer_failed_is_shown(tmp_path: Path) -> None:
    lines = shown(tmp_path, TALK.replace("}]", "}, {text: half, error: no such model}]") + "  - prompt: And now?\n")

    assert "   25     0.000  │ │ message_end              assistant (no such model): half …" in lines
    assert "   26     0.000  │ turn_end                   error (no such model), 0 in, 0 out" in lines
    assert lines[-1].startswith("as expected"), "the script says so itself"


def test_a_script_that_has_run_out_is_shown_as_a_difference(tmp_path: Path) -> None:
    lines = shown(tmp_path, TALK + "  - prompt: And now?\n")

    assert lines[-3:] == [
        "story.yaml:6: script in step 2: not as expected",
        '    expected  "an answer for each call"',
        '    seen      "no answer left for a turn: add one to answers.turn"',
    ]


def test_an_item_that_differs_in_very_many_parts_is_cut(tmp_path: Path) -> None:
    keys = [field.encode_name for kind in get_args(StoredMessage) for field in msgspec.structs.fields(kind)]
    parts = ", ".join(f"{key}: nobody says this" for key in sorted(set(keys)))

    lines = shown(tmp_path, TALK + f"expect: {{entries: [{{type: message, message: {{{parts}}}}}, message]}}\n")

    assert lines[-1] == f"    and {len(set(keys)) - SHOWN_FIELDS} more parts"


def test_a_name_that_would_steer_the_terminal_does_not(tmp_path: Path) -> None:
    played = play(
        written(tmp_path, TALK.replace("A talk", '"A \\e talk"') + "expect: {state: run}\n", "a\n\x1b[31m.yaml")
    )
    lines = [plain(line) for line in timeline(played)]

    assert all(line.isprintable() for line in lines)
    assert lines[0].endswith("a��[31m.yaml: A � talk")


def test_what_was_seen_and_not_expected_is_shown_whole(tmp_path: Path) -> None:
    lines = shown(tmp_path, TALK + "    expect: {events: [..., agent_end]}\n")

    assert lines[-3:] == [
        "1 difference: 14 events, 2 new entries",
        "story.yaml:6: events of step 1: seen, but not expected (the 14th seen)",
        '    seen      {"type": "agent_settled", "aborted": false}',
    ]


def test_a_field_that_is_not_there_is_shown_as_nothing_and_many_differences_are_cut(tmp_path: Path) -> None:
    many = "".join("    - {role: user, text: x}\n" for _ in range(30))
    lines = shown(
        tmp_path, TALK + "expect:\n  entries: [{type: message, message: {model: 1}}, message]\n  projection:\n" + many
    )

    assert "    expected  message.model: 1" in lines
    assert "    seen      message.model: (nothing)" in lines
    assert lines[-1] == f"and {32 - SHOWN_FINDINGS} more"


def test_a_refusal_is_shown_with_its_words(tmp_path: Path) -> None:
    waiting = TALK.replace("text:", "wait: 100000, text:") + "  - {prompt: again, outcome: refused}\n"

    lines = shown(tmp_path, waiting)

    assert "   -> no outcome: it did not settle in 86,400 virtual seconds" in lines
    assert any(line.startswith("   -> refused: ") for line in lines)


def test_a_compaction_is_shown_with_its_words_and_what_came_of_it(tmp_path: Path) -> None:
    lines = shown(tmp_path, TALK + "  - compact: the trees\n  - {compact: true, outcome: refused}\n")

    assert "2. compact: the trees" in lines
    assert "3. compact" in lines
    assert lines.count("   -> refused: Nothing to compact (session too small)") == 2


def test_a_timeline_is_steps_with_numbered_events_and_virtual_times(tmp_path: Path) -> None:
    story = (
        "about: It talks.\n"
        + TALK.replace("text:", "wait: 1.5, text:")
        + "  - pass: 60\n  - events: [{type: agent_start}]\n"
    )

    assert shown(tmp_path, story) == [
        "story.yaml: A talk",
        "It talks.",
        "",
        "1. prompt: How are you?",
        "    1     0.000  agent_start",
        "    2     0.000  │ turn_start                 turnIndex: 0",
        "    3     0.000  │ │ message_start            user: How are you?",
        "    4     0.000  │ │ │ entry_appended         8206e7e3 user",
        "    5     0.000  │ │ message_end              user: How are you?",
        "    6     0.000  │ │ message_start            assistant",
        "    7     1.500  │ │ │ message_update         text_start",
        "    8     1.500  │ │ │ message_update         text_delta: Fine, thanks.",
        "    9     1.500  │ │ │ message_update         text_end: Fine, thanks.",
        "   10     1.500  │ │ │ entry_appended         5594aa6b assistant",
        "   11     1.500  │ │ message_end              assistant: Fine, thanks.",
        "   12     1.500  │ turn_end                   stop, 0 in, 0 out",
        "   13     1.500  agent_end                    2 messages",
        "   14     1.500  agent_settled",
        "   -> delivered",
        "",
        "2. 60 s pass",
        "",
        "3. 1 literal event",
        "   15    61.500  agent_start",
        "",
        "as expected: 15 events, 2 new entries",
    ]


@pytest.mark.parametrize(("expect", "ok"), [("", True), ("expect: {entries: [], state: run}\n", False)])
def test_the_json_of_a_playing_is_plain_values(expect: str, ok: bool, tmp_path: Path) -> None:
    value = json.loads(json.dumps(to_json(play(written(tmp_path, TALK + expect)))))

    assert list(value) == ["path", "title", "ok", "steps", "differences", "unused"]
    assert value["unused"] == []
    assert value["ok"] == ok == (value["differences"] == [])
    (step,) = value["steps"]
    assert list(step) == ["step", "at", "outcome", "why", "events"]
    assert (step["outcome"], step["why"]) == ("delivered", None)
    assert step["events"][0] == {"n": 1, "at": 0.0, "event": {"type": "agent_start"}}
    for difference in value["differences"]:
        assert list(difference) == ["path", "line", "what", "kind", "expected", "seen"]


def test_an_answer_that_is_left_over_is_a_note_below(tmp_path: Path) -> None:
    path = written(tmp_path, "title: x\nanswers:\n  turn: [{text: a}, {text: b}]\nsteps: [{pass: 1}]\n")
    played = play(path)

    *_, verdict, note = (plain(line) for line in timeline(played))
    assert verdict == "as expected: 0 events, 0 new entries"
    assert note == f"{path}:3: a note: 2 answers for a turn that no call asked for"
    value = json.loads(json.dumps(to_json(played)))
    assert (value["ok"], value["unused"]) == (True, [{"purpose": "turn", "line": 3, "count": 2}])


def test_what_happens_in_a_run_a_turn_or_a_message_stands_in_it_and_calls_side_by_side() -> None:
    nesting = Nesting()
    names = [
        "compaction_start",
        "usage_reported",
        "compaction_end",
        "agent_start",
        "turn_start",
        "tool_execution_start",
    ]
    names += ["tool_execution_start", "tool_execution_end", "turn_end", "agent_end", "agent_settled"]

    assert [nesting.depth(name) for name in names] == [0, 1, 0, 0, 1, 2, 2, 2, 1, 0, 0]


def test_an_end_without_its_beginning_ends_nothing_and_one_of_what_is_around_ends_all_in_it() -> None:
    """As where an actor crashed in between, or a story feeds events of its own."""
    nesting = Nesting()

    assert [nesting.depth(name) for name in ("message_end", "agent_start", "turn_start", "message_start")] == [
        0,
        0,
        1,
        2,
    ]
    assert [nesting.depth(name) for name in ("message_update", "agent_end", "agent_start")] == [3, 0, 0]
