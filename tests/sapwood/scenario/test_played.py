"""What came of a scenario."""

from __future__ import annotations

from pathlib import Path

from sapwood.events.runtime import name_of
from sapwood.scenario import play
from tests.sapwood.scenario.stories import TALK, written


def test_what_was_played_can_be_asked_for_as_a_whole(tmp_path: Path) -> None:
    played = play(written(tmp_path, TALK + "  - events: [{type: agent_settled, aborted: true}]\n"))

    assert played.events == tuple(seen.event for step in played.steps for seen in step.events)
    assert [name_of(event) for event in played.events][-2:] == ["agent_settled", "agent_settled"]
    assert [len(step.after.entries) for step in played.steps] == [2, 0]
    assert len(played.entries) == len(played.projection) == 2
    assert [seen.n for step in played.steps for seen in step.events] == list(range(1, len(played.events) + 1))
