"""What a section may be, and what one that was asked for came to."""

from __future__ import annotations

import pytest

from sapwood.actors.projection.section import Unanswered, accepted, check_section
from sapwood.actors.session_log.capping import MOST_BYTES
from sapwood.events.errors import Refused


def test_what_a_function_gave_is_made_fit_to_be_kept() -> None:
    assert accepted(None) is None
    assert accepted("half \ud800, bell \a\tdone") == "half �, bell \tdone"
    assert accepted(5) == Unanswered("it gave 5, which is neither text nor None")
    assert accepted("x" * (MOST_BYTES + 1)) == Unanswered(
        "a section has at most 1,048,576 bytes, and this one has 1,048,577"
    )


def test_a_section_that_is_text_or_a_function_is_taken_as_it_is() -> None:
    def asked(_: object) -> str:
        return "x"

    assert check_section("a", "text") == "text"
    assert check_section("a", asked) is asked


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (5, "the system prompt section 'a' is text or a function, not 5"),
        ("x" * (MOST_BYTES + 1), "the system prompt section 'a' cannot be kept: a section has at most"),
    ],
)
def test_what_is_no_section_is_refused(asked: object, words: str) -> None:
    with pytest.raises(Refused) as caught:
        check_section("a", asked)

    assert str(caught.value).startswith(words)
    assert caught.value.reason == "bad-input"
