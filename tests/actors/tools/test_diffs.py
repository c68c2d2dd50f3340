"""A diff says what was changed, and where."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.tools import diffs
from sapwood.actors.tools.diffs import LONGEST_LINE, MOST_LINES, diff
from sapwood.actors.tools.edits import Edit, Span, applied, planned

HUNK = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


def shown(text: str, *edits: tuple[str, str], everywhere: bool = False) -> str:
    asked = [Edit(old_text=old, new_text=new, replace_all=everywhere) for old, new in edits]
    return diff(text, planned(text, asked))


NUMBERS = "".join(f"{number}\n" for number in range(1, 31))


def test_what_changed_is_shown_with_what_is_around_it() -> None:
    assert shown(NUMBERS, ("10\n11\n", "10\nten\n")) == ("@@ -8,7 +8,7 @@\n 8\n 9\n 10\n-11\n+ten\n 12\n 13\n 14")


def test_lines_that_come_and_go_move_what_follows() -> None:
    assert shown(NUMBERS, ("2\n3\n", ""), ("20\n", "20\nnew\nnewer\n")) == (
        "@@ -1,6 +1,4 @@\n 1\n-2\n-3\n 4\n 5\n 6\n@@ -18,6 +16,8 @@\n 18\n 19\n 20\n+new\n+newer\n 21\n 22\n 23"
    )


def test_changes_that_are_near_are_one_hunk_and_in_one_line_one_change() -> None:
    assert shown("a b c\nd\ne\n", ("a", "A"), ("c", "C"), ("e", "E")) == ("@@ -1,3 +1,3 @@\n-a b c\n+A b C\n d\n-e\n+E")


def test_a_hunk_ends_where_its_context_meets_no_other() -> None:
    assert shown(NUMBERS, ("5\n6", "5\nsix"), ("13\n", "")).count("@@ -") == 1
    assert shown(NUMBERS, ("5\n6", "5\nsix"), ("14\n", "")).count("@@ -") == 2


def test_a_text_that_is_emptied_and_one_without_a_last_end() -> None:
    assert shown("a\n", ("a\n", "")) == "@@ -1,1 +0,0 @@\n-a"
    assert shown("a\nb", ("b", "b\n")) == ("@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b")
    assert shown("a\nb", ("a\n", "a")) == (
        "@@ -1,2 +1,1 @@\n-a\n-b\n\\ No newline at end of file\n+ab\n\\ No newline at end of file"
    )


def test_returns_are_not_shown() -> None:
    assert shown("a\r\nb\r\n", ("a\n", "c\n")) == "@@ -1,2 +1,2 @@\n-a\n+c\n b"


def test_what_is_too_much_is_counted() -> None:
    lines = shown("a\n" * 500, ("a", "b"), everywhere=True).split("\n")

    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == f"[... {1001 - MOST_LINES} more lines ...]"


def test_a_line_that_is_too_long_is_cut() -> None:
    assert shown("x" * 1000, ("x" * 1000, "y")) == (
        f"@@ -1,1 +1,1 @@\n-{'x' * LONGEST_LINE} ...\n\\ No newline at end of file\n+y\n\\ No newline at end of file"
    )


def patched(text: str, shown: str) -> str:
    """The text with a diff applied, as the well-known tool does it."""
    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    new: list[str] = []
    at = 0
    for line in shown.replace("\n\\ No newline at end of file", "\0").split("\n"):
        hunk = HUNK.fullmatch(line)
        body = line[1:-1] if line.endswith("\0") else line[1:] + "\n"
        if hunk is not None:
            first, count, in_new, _ = map(int, hunk.groups())
            first = first - 1 if count else first
            new += old[at:first]
            at = first
            assert len(new) == (in_new - 1 if int(hunk[4]) else in_new)
        elif line[0] == "+":
            new.append(body)
        else:
            assert old[at] == body
            new += [body] if line[0] == " " else []
            at += 1
    return "".join(new + old[at:])


LINES = st.lists(st.sampled_from(["", "a", "b", "long"]), min_size=1, max_size=30)


@pytest.mark.slow
@given(LINES, st.lists(st.tuples(st.integers(0, 60), st.integers(1, 8), st.sampled_from(["", "x", "\n", "y\nz\n"]))))
def test_a_diff_leads_from_the_one_text_to_the_other(lines: list[str], cuts: list[tuple[int, int, str]]) -> None:
    text = "\n".join(lines)
    spans: list[Span] = []
    at = 0
    for skip, length, new in cuts:
        start, end = at + skip % 9, at + skip % 9 + length
        if end <= len(text) and text[start:end] != new:
            spans.append(Span(start, end, new, 1))
            at = end
    if spans and applied(text, spans) != text:
        whole = diffs.diff(text, spans)

        assert patched(text, whole) == applied(text, spans)
