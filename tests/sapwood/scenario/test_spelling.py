"""Values as YAML text: what is read again is the value, and no line is longer than it must be."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sapwood.scenario.spelling import WIDTH, on_a_line, spelled
from sapwood.scenario.text import parse

TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20),
    st.text(" \n#:-'\"|>[]{},?&*!%@ab\u2028\u0085", max_size=300),
    st.sampled_from(
        ["no", "1e3", "08", "-1", "0x1", "12:30", "null", "", "...", "<<", "=", "2026-01-01", "- a", "a: b"]
    ),
    st.lists(st.sampled_from(["oak", "pine,", "is:", "a  bird", "#", "- x"]), max_size=80).map(" ".join),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
ITEMS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4)


def read(text: str) -> Any:
    return parse(text).value


@pytest.mark.slow
@given(ITEMS, st.integers(0, 8), st.booleans())
def test_what_is_written_is_read_again_wherever_it_stands(value: dict[str, Any], depth: int, braces: bool) -> None:
    margin = " " * (2 * depth)
    above = "".join(f"{' ' * (2 * at)}k:\n" for at in range(depth))
    text = f"{above}{margin}- {spelled(value, len(margin) + 2, braces=braces)}"
    if braces:
        text += "   # behind"
    text += f"\n{margin}- last\n"

    found = read(text)
    for _ in range(depth):
        found = found["k"]
    assert found == [value, "last"]


@given(VALUES)
def test_a_line_is_one_line_and_the_value(value: Any) -> None:
    line = on_a_line({"k": value})

    assert "\n" not in line
    assert read(line) == {"k": value}


@pytest.mark.parametrize("word", ["1e3", "08", "no", "12:30", "2026-01-01", "0o7", "1_000", "~"])
def test_text_that_is_like_another_value_has_quotes_in_either_version(word: str) -> None:
    line = on_a_line({"k": word})

    assert read(line) == yaml.safe_load(line) == {"k": word}


def test_what_fits_stands_in_braces_and_what_does_not_a_line_a_key() -> None:
    usage = {"input": 1, "output": 2}
    words = "an oak of that age " * 12

    assert spelled({"usage": usage}, 8) == "{usage: {input: 1, output: 2}}"
    assert spelled({"usage": usage, "text": words + "falls"}, 4).split("\n") == [
        "usage: {input: 1, output: 2}",
        "    text: >-",
        "      " + ("an oak of that age " * 6) + "an oak of",
        "      that age " + ("an oak of that age " * 5) + "falls",
    ]
    assert spelled({"a": {"text": words + "falls\nand so on", "b": ["x"]}}, 0).split("\n") == [
        "a:",
        "  text: |-",
        "    " + words + "falls",
        "    and so on",
        "  b: [x]",
    ]


@given(
    st.lists(st.sampled_from(["oak", "ash", "beech", "a", "hornbeam"]), min_size=1, max_size=200), st.integers(0, 60)
)
def test_no_line_is_longer_than_a_line_if_its_words_are_not(words: list[str], column: int) -> None:
    value = {"type": "custom", "data": {"said": " ".join(words), "words": words}}
    for braces in (False, True):
        first, *others = spelled(value, column, braces=braces).split("\n")
        assert column + len(first) <= WIDTH
        assert all(len(line) <= WIDTH + len("hornbeam") + 4 for line in others)
