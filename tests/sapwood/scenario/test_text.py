"""YAML text whose every part knows its line."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.scenario.language import Place
from sapwood.scenario.text import DEEPEST, BadText, parse


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("# only a comment\n", 1, "empty"),
        ("a: 1\nb: [1,\n", 3, "not YAML"),
        ("a: 1\n\ta: 2\n", 2, "not YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not YAML"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", 4, "'c' stands here twice"),
        ("a: 1\n5: 2\n", 2, "put '5' in quotes"),
        ("a: 1\n[x]: 2\n", 2, "a key must be text"),
        ("a: 1\nb: &x\n  - *x\n", 2, "within what it names"),
        ("a: &a {b: &b {c: *a}}", 1, "within what it names"),
        ("a: 1\nb: *nowhere\n", 2, "undefined alias"),
        ("a: 1\nb: !!python/object/apply:os.getcwd []\n", 2, "python/object"),
        ("a: 1\nb: \x07\n", 2, "U+0007"),
        ("a:\n " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), 2, "levels deep"),
        pytest.param("[" * 1000 + "]" * 1000, 1, "too deeply", marks=pytest.mark.slow),
        ("a: " + "9" * 5000, 1, "digits"),
    ],
)
def test_a_text_that_is_ambiguous_or_no_yaml_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BadText, match=r".") as caught:
        parse(text)

    assert (caught.value.line, words in caught.value.message) == (line, True), caught.value.message


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"),
        ("010", 10),
        ("-3", -3),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ("...", "..."),
        ("<<", "<<"),
        (".inf", ".inf"),
        ("{a: [1, b]}", {"a": [1, "b"]}),
    ],
)
def test_words_are_read_as_yaml_1_2_reads_them(written: str, read: Any) -> None:
    value = parse(f"k: {written}").value["k"]

    assert value == read
    assert type(value) is type(read)


def test_an_alias_stands_for_what_it_names_however_often() -> None:
    laughs = "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))

    assert parse(laughs).value["a1"] == [[1, 1], [1, 1]]


TEXT = """\
title: x
steps:
  - prompt: a
    expect: {events: [a,
      b]}
  - pass: 1
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ((), 1),
        (("title",), 1),
        (("steps",), 2),
        (("steps", 0), 3),
        (("steps", 0, "expect"), 4),
        (("steps", 0, "expect", "events", 1), 5),
        (("steps", 1, "pass"), 6),
        (("steps", 1, "outcome"), 6),
        (("steps", 9), 2),
        (("steps", "x"), 2),
        (("title", "x"), 1),
        (("nothing",), 1),
    ],
)
def test_every_part_knows_its_line_and_what_is_missing_the_line_of_what_is_near(place: Place, line: int) -> None:
    assert parse(TEXT).line_of(place) == line
