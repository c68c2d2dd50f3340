"""The request for a branch's summary is the one that a person has looked at: `tests/data/branch-request.*.txt`."""

from __future__ import annotations

import pytest

from sapwood.actors.navigation.settings import Manner
from tests.sapwood.branch_requests import MANNERS, as_text, kept, request_of


@pytest.mark.parametrize("manner", MANNERS)
async def test_the_request_of_the_shipped_session_is_the_one_that_was_looked_at(manner: Manner) -> None:
    told = as_text(await request_of(manner))

    assert told.splitlines() == kept(manner).read_text(encoding="utf-8").splitlines()


def test_what_was_looked_at_shows_how_the_manners_differ() -> None:
    pi, omp = (kept(manner).read_text(encoding="utf-8") for manner in MANNERS)

    assert ("[Tool result]:" in pi, "[Tool result]:" in omp) == (False, True)
    assert ("output: what the model gives" in pi, "output: 2048" in omp) == (True, True)
    for told in (pi, omp):
        assert told.count("<conversation>") == told.count("</conversation>") + 1 == 2  # it is named once more behind it
        assert "&lt;summary>" in told
        assert "\n<summary>" not in told
