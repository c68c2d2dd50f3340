"""Words that nobody said are flagged, errors that were left out are put back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.summaries.fidelity import (
    ERROR_MAX,
    ERRORS,
    LONGEST_WORD,
    MOST_ERRORS,
    MOST_MADE_UP,
    Fidelity,
    completed,
    exact_words,
    fidelity,
    last_errors,
)
from sapwood.actors.summaries.frame import neutral
from sapwood.events.messages import BashExecutionMessage, Message
from tests.build import MS, assistant, result, user
from tests.strategies import MESSAGES, TEXTS


def command(output: str, code: int | None, *, excluded: bool | None = None) -> BashExecutionMessage:
    return BashExecutionMessage(
        command="make",
        output=output,
        exit_code=code,
        cancelled=False,
        truncated=False,
        exclude_from_context=excluded,
        timestamp=MS,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Changed `src/auth/refresh.ts`, and a.py.", ["src/auth/refresh.ts", "a.py"]),
        ("in /etc/hosts: ~/notes; ./run and ..\\win", ["/etc/hosts", "~/notes", "./run", "..\\win"]),
        ("修改了src/auth/a.ts文件", ["src/auth/a.ts"]),
        ("retry_after, maxRetries; _private __init__", ["retry_after", "maxRetries", "_private", "__init__"]),
        ("call `parse()` and std::move, a.parse_all()", ["parse", "std::move", "a.parse_all"]),
        ("@app.route #frag-ment", ["app.route"]),
        ("src/v2 and lib/my_mod", ["src/v2", "lib/my_mod"]),
        ("one/two/three", ["one/two/three"]),
        ("and/or, I/O, 1/2, e.g. i.e. v1.2 3.11 test(s) word - . / ...", []),
        ("plain words only: done", []),
        ("100% of 2.5.1", []),
    ],
)
def test_paths_and_identifiers_must_be_exact(text: str, words: list[str]) -> None:
    assert list(exact_words(text)) == words


def test_what_is_longer_than_a_word_is_data() -> None:
    """Patterns would look at it for ever."""
    assert list(exact_words("x" * (LONGEST_WORD - 2) + "_y")) == ["x" * (LONGEST_WORD - 2) + "_y"]
    assert list(exact_words("x" * (LONGEST_WORD - 1) + "_y")) == []
    assert list(exact_words("x_" * 500_000 + ".")) == []


SOURCE = ["[User]: look at /home/dev/src/auth.ts", "[Tool result]: in refreshToken(x) of data.py"]


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("No word to check.", Fidelity(1.0, ())),
        ("`src/auth.ts` has refreshToken()", Fidelity(1.0, ())),
        ("`src/auth/auth.ts` has refreshToken()", Fidelity(0.5, ("src/auth/auth.ts",))),
        ("a.py: bent from data.py", Fidelity(0.5, ("a.py",))),
        ("refreshTok, a_b, a_b", Fidelity(0.0, ("refreshTok", "a_b"))),
        ("a_b src/auth.ts data.py refreshToken()", Fidelity(0.75, ("a_b",))),
    ],
)
def test_what_occurs_nowhere_is_flagged(summary: str, expected: Fidelity) -> None:
    assert fidelity(summary, SOURCE) == expected


def test_a_later_place_counts_where_the_first_is_inside_another_word() -> None:
    assert fidelity("a.py", ["xa.py a.pyx a.py"]).made_up == ()
    assert fidelity("a.py", ["xa.py a.pyx"]).made_up == ("a.py",)


def test_only_so_many_are_told_and_all_are_counted() -> None:
    words = [f"a_{at}" for at in range(MOST_MADE_UP + 10)]

    assert fidelity(" ".join(words), ["a_0"]) == Fidelity(1 - 59 / 60, tuple(words[1 : MOST_MADE_UP + 1]))


@given(st.lists(TEXTS | st.sampled_from(["a_b", "x/y.z", "f()", "文a.py"]), max_size=5))
def test_a_text_is_true_to_itself(pieces: list[str]) -> None:
    text = " ".join(pieces)

    assert fidelity(text, [text]) == Fidelity(1.0, ())
    assert 0 <= fidelity(text, []).score <= 1


def test_the_last_errors_are_lines_that_say_so() -> None:
    talk: list[Message] = [
        user("error: not one"),
        result("1", "fine: no error"),
        result("2", "Traceback\nKeyError:  'a'\n\nCommand exited with code 1\n", error=True),
        command("\nld: cannot find -lz \nmake: stopped", 2),
        command("error: kept away", 2, excluded=True),
        command("error: but ended well", 0),
        command("error: stopped", None),
        result("3", " \n", error=True),
        result("4", "gone", error=True),
        assistant("I see an error."),
    ]

    assert last_errors(talk) == ("KeyError: 'a'", "ld: cannot find -lz", "gone")


def test_errors_are_few_short_and_told_once() -> None:
    talk = [result(str(at), f"error {at}", error=True) for at in (1, 2, 3, 4, 2)]
    long = result("9", "e" * (ERROR_MAX + 1), error=True)

    assert last_errors(talk) == ("error 3", "error 4", "error 2")
    assert len(last_errors(talk)) == MOST_ERRORS == 3
    assert last_errors([long]) == ("e" * ERROR_MAX + " [...]",)
    assert last_errors([result("9", "e" * ERROR_MAX, error=True)]) == ("e" * ERROR_MAX,)


def test_a_summary_gets_the_errors_that_it_lacks() -> None:
    summary = "## Blocked\n- KeyError:\n  'a'\n"

    assert completed(summary, ("KeyError: 'a'", "</files> not found", "gone")) == (
        f"## Blocked\n- KeyError:\n  'a'\n\n{ERRORS}\n\n- &lt;/files> not found\n- gone"
    )
    assert completed(summary, ("KeyError: 'a'",)) == summary
    assert completed("has </files> not found", ("</files> not found",)) == "has </files> not found"
    assert completed(summary, ()) == summary


@given(TEXTS, st.lists(MESSAGES, max_size=4))
def test_what_was_put_there_is_not_put_there_again(summary: str, messages: list[Message]) -> None:
    errors = last_errors(messages)
    once = completed(summary, errors)

    assert completed(once, errors) == once
    assert once.startswith(summary.rstrip())
    assert all(neutral(error) in once or error in " ".join(once.split()) for error in errors)
