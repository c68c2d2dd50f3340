"""What the model would see of a session, as lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from sapwood import read
from sapwood.cli.context import ABSENT, REASONS, show, to_json
from sapwood.events.context import Absent, CounterName, Unsent
from sapwood.events.entries import Compaction, ContextEdit, Entry, Replacement, ThinkingLevelChange
from sapwood.events.ids import EntryId
from sapwood.words.wording import plain
from tests.build import TIME, assistant, message_entry, usage, user
from tests.counting import without_ranks
from tests.sapwood.cli.sessions import session_file


def shown(
    path: Path, *, window: int | None = None, full: bool = False, counter: CounterName = "heuristic"
) -> list[str]:
    with read(path, counter=counter) as session:
        return [plain(line) for line in show(session, window=window, full=full)]


def talk() -> list[Entry]:
    return [
        message_entry("11111111", user("one\ntwo")),
        message_entry("22222222", assistant("half", stop="aborted"), "11111111"),
        message_entry("33333333", assistant("no", stop="error", error="overloaded"), "22222222"),
        ThinkingLevelChange(
            id=EntryId("44444444"), parent_id=EntryId("33333333"), timestamp=TIME, thinking_level="low"
        ),
        message_entry("55555555", assistant("whole", usage=usage(500)), "44444444"),
    ]


def test_a_session_with_nothing_in_it_is_shown_as_that(tmp_path: Path) -> None:
    assert shown(session_file(tmp_path)) == [
        "role                tokens  entry     text",
        "",
        "0 messages",
        "0 tokens are sent",
        "model none yet, thinking off",
        "context 0.0%/128000 (no --window: taken to be this large): 0 tokens",
    ]


def test_what_is_not_sent_says_why_and_the_sums_stand_below(tmp_path: Path) -> None:
    assert shown(session_file(tmp_path, *talk()), window=1000) == [
        "role                tokens  entry     text",
        "user                     2  11111111  one …",
        "assistant                1  22222222  not sent (aborted): half",
        "assistant                1  33333333  not sent (failed): no …",
        "assistant                2  55555555  whole",
        "",
        "4 messages, 2 not sent (1 aborted, 1 failed)",
        "1 entry of the path without a message: 1 not for the model",
        "4 tokens are sent, counted by the heuristic (four characters a token)",
        "model scripted/talker, thinking low",
        "context 50.0%/1000: 500 tokens, as the provider reported with its last answer",
    ]


def test_whole_texts_are_shown_when_asked_for(tmp_path: Path) -> None:
    lines = shown(session_file(tmp_path, *talk()), full=True)

    assert lines[1:4] == ["user                     2  11111111", "    one", "    two"]
    assert "    [error: overloaded]" in lines


def test_after_a_compaction_the_summary_is_shown_and_the_usage_is_unknown(tmp_path: Path) -> None:
    compaction = Compaction(
        id=EntryId("66666666"),
        parent_id=EntryId("55555555"),
        timestamp=TIME,
        summary="They talked.",
        first_kept_entry_id=EntryId("66666666"),
        tokens_before=9,
    )

    lines = shown(session_file(tmp_path, *talk(), compaction), window=1000)

    assert lines[1] == "compactionSummary        3  66666666  They talked."
    assert lines[3:5] == ["1 message", "5 entries of the path without a message: 5 summed up by a compaction"]
    unknown = "unknown until the model has answered, for no answer has come since the compaction"
    assert lines[-1] == f"context ?/1000: {unknown}"


def test_what_came_after_the_report_is_counted_and_told(tmp_path: Path) -> None:
    """Two figures used to stand there that did not agree."""
    more = message_entry("66666666", user("12345678"), "55555555")

    assert shown(session_file(tmp_path, *talk(), more), window=1000)[-1] == (
        "context 50.2%/1000: 502 tokens, 500 that the provider reported with its last answer and 2 since it, counted by the heuristic"
    )


def test_a_context_that_was_edited_since_the_report_is_counted(tmp_path: Path) -> None:
    edit = ContextEdit(
        id=EntryId("66666666"),
        parent_id=EntryId("55555555"),
        timestamp=TIME,
        target_id=EntryId("11111111"),
        replacement=None,
    )

    assert shown(session_file(tmp_path, *talk(), edit), window=1000)[-1] == (
        "context 0.4%/1000: 4 tokens, counted by the heuristic, 2 of them not sent"
    )


def test_an_edited_context_whose_count_is_what_was_reported_is_counted_all_the_same(tmp_path: Path) -> None:
    """This used to be told as what the provider reported."""
    entries: list[Entry] = [
        message_entry("11111111", user("one\ntwo")),
        message_entry("22222222", assistant("whole", usage=usage(3)), "11111111"),
        ContextEdit(
            id=EntryId("33333333"),
            parent_id=EntryId("22222222"),
            timestamp=TIME,
            target_id=EntryId("11111111"),
            replacement=Replacement(content="one"),
        ),
    ]
    path = session_file(tmp_path, *entries)

    assert shown(path, window=1000)[-1] == "context 0.3%/1000: 3 tokens, counted by the heuristic"
    with read(path) as session:
        assert to_json(session, window=1000)["usage"]["source"] == "estimated"


def test_every_reason_has_its_words() -> None:
    assert set(REASONS) == set(get_args(Unsent))
    assert set(ABSENT) == set(get_args(Absent))


def test_a_report_of_more_tokens_than_there_can_be_is_not_believed(tmp_path: Path) -> None:
    """This used to show inf%, and null in JSON."""
    path = session_file(tmp_path, message_entry("11111111", assistant("12345678", usage=usage(10**400))))

    assert shown(path, window=1000)[-1] == "context 0.2%/1000: 2 tokens, counted by the heuristic"
    with read(path, counter="heuristic") as session:
        text = json.dumps(to_json(session, window=1000), allow_nan=False)
    assert json.loads(text)["usage"]["percent"] == pytest.approx(0.2)


def test_the_json_of_a_context_has_stable_keys(tmp_path: Path) -> None:
    with read(session_file(tmp_path, *talk()), counter="heuristic") as session:
        value = to_json(session, window=1000)

    assert list(value) == [
        "session",
        "leaf",
        "messages",
        "absent",
        "gaps",
        "model",
        "thinkingLevel",
        "totals",
        "usage",
        "damage",
    ]
    assert list(value["messages"][0]) == ["role", "tokens", "entryId", "unsent", "text", "message"]
    assert [one["unsent"] for one in value["messages"]] == [None, "aborted", "failed", None]
    assert value["messages"][0]["message"] == {"role": "user", "content": "one\ntwo", "timestamp": 1_767_225_600_000}
    assert value["absent"] == {"44444444": "silent"}
    assert (value["model"], value["thinkingLevel"]) == ({"provider": "scripted", "id": "talker"}, "low")
    assert value["totals"] == {"messages": 4, "unsent": 2, "tokens": 6, "sentTokens": 4, "counter": "heuristic"}
    assert value["usage"] == {
        "tokens": 500,
        "window": 1000,
        "percent": 50.0,
        "text": "50.0%/1000",
        "source": "reported",
        "counter": None,
    }


def test_who_counted_is_said_and_told_in_json(tmp_path: Path) -> None:
    path = session_file(tmp_path, *talk()[:1])

    assert shown(path, window=1000, counter="o200k_base")[-3:] == [
        "3 tokens are sent, counted by o200k_base",
        "model none yet, thinking off",
        "context 0.3%/1000: 3 tokens, counted by o200k_base",
    ]
    with read(path, counter="o200k_base") as session:
        told = to_json(session, window=1000)
        assert told["totals"]["counter"] == told["usage"]["counter"] == "o200k_base"


def test_a_counter_that_is_not_to_be_had_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_ranks(monkeypatch)
    path = session_file(tmp_path, *talk()[:1])

    lines = shown(path, window=1000, counter="o200k_base")

    assert lines[-4] == "2 tokens are sent, counted by the heuristic (four characters a token)"
    assert lines[-3].startswith("the ranks of o200k_base are not on this machine: tokens are estimated")


def test_the_last_messages_are_shown_by_themselves_and_the_sums_are_of_all(tmp_path: Path) -> None:
    path = session_file(tmp_path, *talk())
    whole = shown(path)
    with read(path, counter="heuristic") as session:
        lines = [plain(line) for line in show(session, window=None, full=False, last=1)]
        document = json.loads(json.dumps(to_json(session, window=None, last=1)))

    assert lines == [whole[0], "(3 messages before these)", *whole[4:]]
    assert [one["entryId"] for one in document["messages"]] == ["55555555"]
    assert document["totals"]["messages"] == 4
