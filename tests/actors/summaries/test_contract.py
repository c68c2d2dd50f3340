"""The headings of each kind, and the answers that are no summary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.summaries.contract import HEADINGS, LABELS, LONGEST, Kind, lacking, refusal, text_of
from sapwood.events.content import ThinkingContent
from sapwood.events.messages import AssistantMessage
from tests.build import assistant, call

KINDS: list[Kind] = ["compaction", "turn_prefix", "branch"]
THOUGHT = ThinkingContent(thinking="## Goal")


def laid_out(*headings: str) -> str:
    return "\n".join(f"{heading}\n(none)\n" for heading in headings)


def test_the_headings_are_those_of_the_contract() -> None:
    assert HEADINGS == {
        "compaction": (
            "## Goal",
            "## Constraints & Preferences",
            "## Progress",
            "### Done",
            "### In Progress",
            "### Blocked",
            "## Key Decisions",
            "## Next Steps",
            "## Critical Context",
        ),
        "branch": (
            "## Goal",
            "## Constraints & Preferences",
            "## Progress",
            "### Done",
            "### In Progress",
            "### Blocked",
            "## Key Decisions",
            "## Next Steps",
        ),
        "turn_prefix": ("## Original Request", "## Progress So Far", "## Context Needed to Continue"),
    }
    assert LABELS == {
        "compaction": "Summarization",
        "turn_prefix": "Turn prefix summarization",
        "branch": "Branch summarization",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_that_is_laid_out_lacks_nothing(kind: Kind) -> None:
    text = laid_out(*HEADINGS[kind])

    assert lacking(text, kind) == ()
    assert lacking("Here it is:\n\n" + text.replace("\n", " \t\r\n"), kind) == ()
    assert lacking("", kind) == HEADINGS[kind]


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        (("## original request", "## Progress So Far"), ("## Original Request", "## Context Needed to Continue")),
        (("## Original Request:",), HEADINGS["turn_prefix"]),
        ((" ## Original Request",), HEADINGS["turn_prefix"]),
        (("## Progress So Far", "## Original Request", "## Context Needed to Continue"), ("## Progress So Far",)),
        (("## Context Needed to Continue", "## Original Request", "## Progress So Far"), HEADINGS["turn_prefix"][2:]),
        (("## Progress So Far", *HEADINGS["turn_prefix"]), ()),
        ((*HEADINGS["turn_prefix"], "## Original Request"), ()),
        (("## Original Request", "## Original Request"), HEADINGS["turn_prefix"][1:]),
    ],
)
def test_what_is_missing_or_out_of_place_is_told(lines: tuple[str, ...], missing: tuple[str, ...]) -> None:
    assert lacking(laid_out(*lines), "turn_prefix") == missing


@given(st.permutations(HEADINGS["branch"]), st.integers(0, 8))
def test_what_is_not_blamed_stands_in_order(order: list[str], count: int) -> None:
    text = laid_out(*order[:count])
    missing = lacking(text, "branch")
    kept = [heading for heading in HEADINGS["branch"] if heading not in missing]

    assert [heading for heading in order[:count] if heading in kept] == kept
    assert list(missing) == [heading for heading in HEADINGS["branch"] if heading in missing]
    assert len(kept) >= min(count, 1)


@given(st.sampled_from(HEADINGS["compaction"]), st.integers(0, 8))
def test_one_heading_that_moved_is_at_most_one_to_blame(heading: str, to: int) -> None:
    order = [one for one in HEADINGS["compaction"] if one != heading]
    order.insert(to, heading)

    assert len(lacking(laid_out(*order), "compaction")) <= 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (assistant("## Goal"), None),
        (assistant(THOUGHT, "## Goal"), None),
        (assistant(stop="error", error=" overloaded\n"), "overloaded"),
        (assistant("half", stop="error"), "Unknown error"),
        (assistant(stop="error", error=" "), "Unknown error"),
        (assistant("half", stop="length"), "generation hit the token cap and the summary is incomplete"),
        (assistant("half", stop="aborted"), "the request was aborted"),
        (assistant("Look:", call("1")), "attempted to call a tool"),
        (assistant("Look:", stop="toolUse"), "attempted to call a tool"),
        (assistant("Later.", stop="deferred"), "the answer was not finished"),
        (assistant("Later.", stop="pending"), "the answer was not finished"),
        (assistant(), "the answer has no text"),
        (assistant(" \n", "\t"), "the answer has no text"),
        (assistant(THOUGHT), "the answer has no text"),
        (assistant(f" {'x' * LONGEST}\n"), None),
        (
            assistant("x" * LONGEST, "x"),
            "the answer has 1,048,578 characters, and 1,048,576 is the most of a summary",
        ),
    ],
    ids=lambda value: "" if isinstance(value, AssistantMessage) else None,
)
def test_what_is_no_summary_is_refused_with_the_reason(answer: AssistantMessage, why: str | None) -> None:
    refused = refusal(answer, "Branch summarization")

    assert refused == (None if why is None else f"Branch summarization failed: {why}")


def test_the_text_of_a_summary_is_what_was_said() -> None:
    answer = assistant(THOUGHT, "\n## Goal", "tea \ud83d", call("1"), " ")

    assert text_of(answer) == "## Goal\ntea \ufffd"
