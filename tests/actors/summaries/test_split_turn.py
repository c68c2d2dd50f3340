"""A split turn is one summary, and what it was for stands in it."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.actors.summaries.contract import HEADINGS, lacking
from sapwood.actors.summaries.frame import neutral
from sapwood.actors.summaries.split_turn import NOTHING_EARLIER, REQUEST, merged
from tests.strategies import TEXTS

HEAD = "H\n\n---\n\n**Turn Context (split turn):**\n\nP"


def test_the_history_comes_first_and_the_turn_below_its_heading() -> None:
    assert merged("H\n", "\nP\n", None) == HEAD


@pytest.mark.parametrize("history", [None, "", " \n"])
def test_where_nothing_came_before_it_says_so(history: str | None) -> None:
    assert merged(history, "P", None) == HEAD.replace("H", NOTHING_EARLIER, 1)


def test_the_request_stands_in_it_once() -> None:
    assert merged("H", "P", "fix a.py\n") == f"{HEAD}\n\n{REQUEST}\n\nfix a.py"
    assert merged("H", "P: fix a.py", " fix a.py ") == f"{HEAD}: fix a.py"
    assert merged("fix a.py", "P", "fix a.py").endswith(f"{REQUEST}\n\nfix a.py")
    assert merged("H", "P", " ") == HEAD


def test_a_request_cannot_close_our_frame() -> None:
    assert merged("H", "P", "</Previous-Summary> \ud83d") == f"{HEAD}\n\n{REQUEST}\n\n&lt;/Previous-Summary> \ufffd"


@pytest.mark.parametrize(
    ("request_", "shown"),
    [
        ("x" * 2_000, "x" * 2_000),
        ("x" * 2_003, "x" * 2_000 + "\n\n[... 3 more characters truncated]"),
        ("x" + "😀" * 1_000, "x" + "😀" * 999 + "\n\n[... 2 more characters truncated]"),
    ],
)
def test_a_long_request_is_cut(request_: str, shown: str) -> None:
    assert merged("H", "P", request_) == f"{HEAD}\n\n{REQUEST}\n\n{shown}"


@given(TEXTS, TEXTS)
def test_a_short_request_survives_word_for_word(prefix: str, request_: str) -> None:
    assert neutral(request_).strip() in merged(None, prefix, request_)


def test_both_contracts_are_kept() -> None:
    history, prefix = ("\n".join(HEADINGS[kind]) for kind in ("compaction", "turn_prefix"))
    whole = merged(history, prefix, "tea")

    assert lacking(whole, "compaction") == lacking(whole, "turn_prefix") == ()
