"""What the model would see of a session, as lines."""

from __future__ import annotations

from pathlib import Path

from sapwood import read
from sapwood.cli.context import show, to_json
from sapwood.events.entries import Compaction, Entry, ThinkingLevelChange
from sapwood.events.ids import EntryId
from sapwood.scenario.wording import plain
from tests.build import TIME, assistant, message_entry, usage, user
from tests.sapwood.cli.sessions import session_file


def shown(path: Path, *, window: int | None = None, full: bool = False) -> list[str]:
    with read(path) as session:
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
        "0 tokens are sent, counted by the heuristic (four characters a token)",
        "model none yet, thinking off",
        "context 0.0%/128000 (no --window: taken to be this large)",
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
        "context 50.0%/1000",
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
    assert lines[-1] == "context ?/1000"


def test_the_json_of_a_context_has_stable_keys(tmp_path: Path) -> None:
    with read(session_file(tmp_path, *talk())) as session:
        value = to_json(session, window=1000)

    assert list(value) == ["session", "leaf", "messages", "absent", "model", "thinkingLevel", "totals", "usage"]
    assert list(value["messages"][0]) == ["role", "tokens", "entryId", "unsent", "text", "message"]
    assert [one["unsent"] for one in value["messages"]] == [None, "aborted", "failed", None]
    assert value["messages"][0]["message"] == {"role": "user", "content": "one\ntwo", "timestamp": 1_767_225_600_000}
    assert value["absent"] == {"44444444": "silent"}
    assert (value["model"], value["thinkingLevel"]) == ({"provider": "scripted", "id": "talker"}, "low")
    assert value["totals"] == {"messages": 4, "unsent": 2, "tokens": 6, "sentTokens": 4}
    assert value["usage"] == {"tokens": 500, "window": 1000, "percent": 50.0, "text": "50.0%/1000"}
