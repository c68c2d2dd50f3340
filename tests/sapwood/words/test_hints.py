"""What may have been meant."""

from __future__ import annotations

from sapwood.words.hints import LISTED, hint, unknown


def test_a_hint_names_the_nearest_word_or_the_few_there_are() -> None:
    assert hint("promt", ["pass", "prompt"]) == ": did you mean 'prompt'?"
    assert hint("xyz", ["prompt", "pass"]) == " (there are: pass, prompt)"
    assert hint("xyz", [str(n) for n in range(LISTED)]).startswith(" (there are: 0, 1, 10")
    assert hint("xyz", [str(n) for n in range(LISTED + 1)]) == ""


def test_an_unknown_word_is_shown_in_one_short_line() -> None:
    assert unknown("key", "promt", ["prompt"]) == "unknown key 'promt': did you mean 'prompt'?"
    assert len(unknown("key", "x" * 10**6, ["prompt"])) < 200
