"""Sessions and bills in rows."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.cli.rows import (
    bill_json,
    bill_lines,
    heading,
    in_short,
    listed_json,
    session_row,
    size_in_words,
    spent_in_words,
    stats_json,
)
from sapwood.events.catalog import ListedSession, ScannedSession
from sapwood.events.damage import Damage
from sapwood.events.ids import SessionId
from sapwood.events.stats import Billed, SessionStats, Spent
from sapwood.words.wording import Line, plain

LISTED = ListedSession(
    path="/s.jsonl",
    id=SessionId("019aa000-1111-7000-8000-000000000001"),
    version=3,
    cwd="/home/dev",
    created="2026-01-01T00:00:00.000Z",
    modified="2026-01-03T04:05:06.000Z",
    size=1_234_567,
    first_message="Which wood?\nAsh?",
)
BILL = Billed(spent=Spent(calls=2, input=1000, output=50, cost=0.25), by_model={"p/m": Spent(calls=2)}, by_purpose={})


def row(one: ListedSession) -> str:
    (told,) = map(plain, session_row(one))
    return told


def column(told: Line, words: str) -> int:
    return plain(told).index(words)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (99_949, "99.9 kB"),
        (99_950, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (12_345_678, "12.3 MB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_a_size_is_told_in_three_figures(size: int, words: str) -> None:
    assert size_in_words(size) == words


def test_a_session_is_a_row_under_its_heading() -> None:
    assert row(LISTED) == "2026-01-03 04:05    1.2 MB    019aa000-1111  Which wood? …  /home/dev"
    assert column(heading(), "id") == row(LISTED).index("019aa")


def test_a_name_comes_before_what_was_said_and_an_open_session_has_a_star() -> None:
    named = msgspec.structs.replace(LISTED, name="ash", open=True, last_activity="2025-05-05T05:05:05.000Z", cwd="")

    assert row(named) == "2025-05-05 05:05    1.2 MB  * 019aa000-1111  ash"


def test_nothing_of_a_session_reaches_the_terminal_as_it_is() -> None:
    odd = msgspec.structs.replace(LISTED, id=SessionId("\x1b[1m"), name="\x1b[2J", cwd="/\x07")

    assert "\x1b" not in row(odd)
    assert "\x07" not in row(odd)


def test_a_scan_adds_a_line_and_says_what_is_damaged() -> None:
    torn = Damage(kind="torn_tail", line=3, offset=9, length=1)
    note = Damage(kind="blank_line", line=2, offset=8, length=1)
    stats = SessionStats(entries=3, user_messages=1, answers=2, own=BILL)
    scan = ScannedSession(path="/s.jsonl", id=LISTED.id, name="oak", stats=stats, damage=(torn, note))

    first, second = map(plain, session_row(LISTED, scan))

    assert "oak" in first
    assert second.strip() == (
        "3 entries, 1 prompt, 2 answers, 0 tool calls, 0 compactions; own: 2 calls, 1,050 tokens, $0.2500; "
        "damaged in 1 place"
    )
    told = listed_json(LISTED, scan)
    assert (told["name"], told["stats"]["entries"], len(told["damage"])) == ("oak", 3, 2)


def test_in_json_every_key_is_there() -> None:
    told = listed_json(LISTED)

    assert [key for key, value in told.items() if value is None] == [
        "parentSession",
        "lastActivity",
        "name",
        "open",
        "stats",
        "damage",
    ]
    assert (told["size"], told["firstMessage"]) == (1_234_567, "Which wood?\nAsh?")
    assert stats_json(SessionStats())["own"] == bill_json(Billed())
    assert bill_json(BILL)["byModel"]["p/m"]["calls"] == 2


def test_a_bill_has_its_sum_first_and_its_columns_stand_in_line() -> None:
    title, head, total, by_model = bill_lines("own", BILL)

    assert plain(title) == "  own"
    assert plain(total).split() == ["all", "2", "1,000", "50", "0", "0", "$0.2500"]
    assert plain(by_model).split()[:3] == ["model", "p/m", "2"]
    for word, value in (("calls", "2"), ("in", "1,000"), ("out", "50")):
        assert column(head, word) + len(word) == column(total, value) + len(value)
    assert len(list(bill_lines("", BILL))) == 3


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        (Spent(), "0 calls, 0 tokens, nothing"),
        (Spent(calls=1, input=1, unpriced=1), "1 call, 1 token, cost unknown"),
        (Spent(calls=2, input=2, cost=1, unpriced=1), "2 calls, 2 tokens, $1.0000 without 1 call"),
    ],
)
def test_a_cost_that_nobody_knows_is_not_guessed(spent: Spent, words: str) -> None:
    assert spent_in_words(spent) == words


def test_how_much_is_in_a_session_is_said_in_short() -> None:
    assert in_short(SessionStats(entries=1)) == "1 entry, 0 prompts, 0 answers, 0 tool calls, 0 compactions"
