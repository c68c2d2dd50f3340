"""What is wrong with a text that is no YAML, with the line to mend and what to do there."""

from __future__ import annotations

import pytest
import yaml

from sapwood.scenario.text import BadText, parse
from sapwood.scenario.yaml_faults import told

FAULTS = {
    "a quote that nobody closes": ('title: "a\nsteps: []\n', 1, "begins here with a quote has no end: close it"),
    "one in the middle": ("a: 1\nb:\n  - c: 'x\n    d: y\n", 3, "begins here with a quote has no end: close it"),
    "one that the next quote closes": (
        'title: "a\nsteps:\n  - prompt: "hello"\n',
        1,
        "begins here with a quote goes on to line 3, and more stands behind it",
    ),
    "one in braces that the next one closes": ("a:\n - {b: 'x, c: 'y'}\n", 2, "write a quote within it twice"),
    "a quote within single ones": ("a: 1\nb: 'it's me'\n", 2, "write a quote within it twice"),
    "a quote within double ones": ('a: 1\nb: "x" y\n', 2, r"write a quote within it as \""),
    "a question in braces": ("a: 1\nb: {c: Which tree?}\n", 2, "text with a ? in it needs quotes"),
    "a question in brackets": ("a: 1\nb: [Which tree?, Which one?]\n", 2, "text with a ? in it needs quotes"),
    "a question some lines below a brace": ("a: {b: 1,\n  c: Which?}\n", 2, "text with a ? in it needs quotes"),
    "two colons in braces": ("a: {b: c: d}\n", 1, "text with a colon in it needs quotes"),
    "a bracket that is open": ("a: [{b: c}\nd: {}\n", 1, "the [ that is opened here is not closed by line 2"),
    "a brace that is open": ("a:\n  - {b: c\n  - {d: e}\n", 2, "the { that is opened here is not closed by line 3"),
    "a tab": ("a:\n\t- b\n", 2, "indent with blanks"),
    "a word that begins with @": ("a: @me\n", 1, "text that begins with @ needs quotes"),
    "a word that begins with a star": ("a: *b*\n", 1, "text that begins with * or & needs quotes"),
    "a name that stands for nothing": ("a: *b\n", 1, "undefined alias b: text that begins with * needs quotes"),
    "two colons": ("a: b: c\n", 1, "text that holds a colon and a blank needs quotes"),
    "another column": ("a:\n  - b: c\n   d: e\n", 3, "this line begins in another column"),
    "a line that is no key": ("a: 1\nb\nc: 2\n", 2, "is a colon missing?"),
    "a value behind the value": ("{a: 1}\n{b: 2}\n", 2, "a story is one mapping"),
    "a second document": ("a: 1\n---\nb: 2\n", 2, "leave out the ---"),
    "a backslash": ('a: "c:\\dir"\n', 1, "within double quotes a \\ begins an escape"),
}


@pytest.mark.parametrize(("text", "line", "words"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_told_with_the_line_to_mend_and_what_to_do(text: str, line: int, words: str) -> None:
    with pytest.raises(BadText, match="this is not YAML: ") as caught:
        parse(text)

    assert (caught.value.line, words in caught.value.message) == (line, True), caught.value.message


def test_what_there_are_no_words_for_is_told_in_those_of_the_library() -> None:
    with pytest.raises(BadText, match=r"expected the node content, but found '\}'"):
        parse("a: [}")


def test_an_error_without_a_place_is_of_the_first_line() -> None:
    assert told(yaml.MarkedYAMLError(problem="it is so"), "a: 1\n") == (1, "it is so")
