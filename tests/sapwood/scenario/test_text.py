"""YAML text whose every part knows its line."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.scenario import text as text_module
from sapwood.scenario.language import Place
from sapwood.scenario.text import DEEPEST, BadText, parse


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("# only a comment\n", 1, "empty"),
        ("a: 1\nb: [1,\n", 3, "not YAML"),
        ("a: 1\n\ta: 2\n", 2, "not YAML"),
        ("title: Trees: oaks\n", 1, "text that holds a colon and a blank needs quotes"),
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
        ("a: 1\nb: " + "9" * 5000, 2, "too large a number"),
        ("a: 1\nb: " + "9" * 400, 2, "too large a number"),
        ("a: 1\nb: 9007199254740992", 2, "too large a number"),
        ("a: 1\nb: 1e400", 2, "'1e400' is too large a number"),
        ("a: 1\nb: !!float .inf", 2, "'.inf' is not of the type !!float"),
        ("a: 1\nb: !!bool maybe", 2, "'maybe' is not of the type !!bool"),
        ("a: 1\nb: !!int 1.5", 2, "is not of the type !!int"),
        ("a: 1\nb: !!timestamp foo", 2, "the tag '!!timestamp' says nothing here"),
        ('a: 1\nb: !!timestamp "0001-01-01T00:00:00+23:59"', 2, "the tag '!!timestamp' says nothing here"),
        ("a: 1\nb: !!binary /", 2, "the tag '!!binary' says nothing here"),
        ("a: 1\nb: !!set {c}", 2, "the tag '!!set' says nothing here"),
        ("a: 1\nb: !!map c", 2, "the tag '!!map' says nothing here"),
        ("a: 1\nb: !mine [c]", 2, "the tag '!mine' says nothing here"),
        ('a: 1\nb: "\\UFFFFFFFF"', 2, "no character or number is so large"),
        ('a: 1\nb: "\\ud800"', 2, "half a character"),
        ('a: 1\n"\\udc00x": 1', 2, "half a character"),
        ("a: &a\n" + " [" * 40 + "]" * 40 + "\nb:\n " + "[" * 30 + "*a" + "]" * 30, 4, "levels deep"),
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


def laughs(levels: int) -> str:
    return "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, levels))


def test_an_alias_stands_for_what_it_names_however_often() -> None:
    assert parse(laughs(10)).value["a1"] == [[1, 1], [1, 1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (laughs(30), 16),
        ("a: &a " + "x" * 100_000 + "\nb:\n- [" + "*a, " * 101 + "]\n", 3),
        ("a: &a " + "x" * 1_000_000 + "\nb:\n" + "- {? *a : 1}\n" * 11, 3),
    ],
)
def test_a_few_lines_that_stand_for_very_much_are_refused(text: str, line: int) -> None:
    """Each used to be read, and whoever looked at it hung."""
    with pytest.raises(BadText, match=r"stand for more than 100,000 values") as caught:
        parse(text)

    assert caught.value.line == line


def test_a_long_text_may_be_said_again() -> None:
    assert len(parse("a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 90 + "]\n").value["b"]) == 90


def test_what_is_long_without_aliases_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "MOST_BY_ALIASES", 10)

    assert len(parse("[" + "{}," * 100 + '"' + "x" * 10_000 + '"]').value) == 101


@pytest.mark.parametrize("word", ['"\\ud83d\\udc26"', '"🐦"'])
def test_two_escapes_for_the_halves_of_a_character_are_that_character(word: str) -> None:
    document = parse(f"x: 1\n{word}: {word}")

    assert document.value == {"x": 1, "🐦": "🐦"}
    assert document.line_of(("🐦",)) == 2


def test_a_tag_that_says_what_is_so_anyway_is_taken() -> None:
    assert parse("{a: !!int 5, b: !!str 5, c: !!float 5, d: !!seq [], e: !!map {}}").value == {
        "a": 5,
        "b": "5",
        "c": 5.0,
        "d": [],
        "e": {},
    }


@pytest.mark.slow
def test_what_is_told_is_short_however_long_the_text_is() -> None:
    long = "x" * 100_000
    for text in (f"a: *{long}", f"{long}: 1\n{long}: 1", f"5{'0' * 100_000}: 1", f"a: !{long} 1", f"a: !!int {long}"):
        with pytest.raises(BadText, match=r".") as caught:
            parse(text)
        assert len(caught.value.message) < 500


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
