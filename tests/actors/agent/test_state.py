"""What a run goes by if nobody says otherwise."""

from __future__ import annotations

from sapwood.actors.agent.state import IDLE, Rules


def test_a_run_has_not_begun_and_asks_nobody_at_its_boundaries() -> None:
    assert (IDLE.over, IDLE.todo, IDLE.outcome, IDLE.settling) == (True, (), "completed", False)
    assert (Rules().asks_at_turn_end, Rules().asks_before_settle) == (False, False)
    assert (Rules().steering, Rules().follow_up) == ("one-at-a-time", "one-at-a-time")
