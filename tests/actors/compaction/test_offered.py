"""Whether a summary that an extension gave can be used (C18)."""

from __future__ import annotations

from typing import Literal

import pytest

from sapwood.actors.compaction.offered import misfit
from sapwood.actors.summaries.contract import LONGEST
from sapwood.events.hooks import ProvideSummary
from sapwood.events.ids import EntryId
from tests.actors.compaction.selected import survey

LINE = "u10 t10 r10 a10 l"
BEHIND = "c5 u10 t10 r10 l"
OUTSIDE = "its first kept entry {!r} is not in the context, so nothing could begin there"
RESULT = "its first kept entry {!r} is the result of a call that would be gone"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("before", None),
        ("", "its text is empty"),
        (" \n\t", "its text is empty"),
        ("x" * LONGEST, None),
        ("x" * (LONGEST + 1), "its text has 1048577 characters, and 1048576 is the most"),
    ],
)
def test_a_text_has_something_in_it_and_is_no_longer_than_the_log_takes(text: str, why: str | None) -> None:
    assert misfit(ProvideSummary(text=text), survey(LINE)) == why


@pytest.mark.parametrize("line", [LINE, BEHIND])
@pytest.mark.parametrize("kept", [None, "nothing"])
def test_nothing_and_what_the_plan_keeps_may_be_kept(line: str, kept: Literal["nothing"] | None) -> None:
    assert misfit(ProvideSummary(text="x", first_kept=kept), survey(line)) is None


@pytest.mark.parametrize(
    ("line", "kept", "why"),
    [
        (LINE, "0", None),
        (LINE, "1", None),
        (LINE, "2", RESULT),
        (LINE, "3", None),
        (LINE, "4", None),
        (LINE, "5", OUTSIDE),
        (LINE, "", OUTSIDE),
        (BEHIND, "0", OUTSIDE),
        (BEHIND, "1", None),
        (BEHIND, "3", RESULT),
    ],
)
def test_what_is_kept_begins_in_the_context_and_with_no_result(line: str, kept: str, why: str | None) -> None:
    offered = ProvideSummary(text="x", first_kept=EntryId(kept))

    assert misfit(offered, survey(line)) == (None if why is None else why.format(kept))
