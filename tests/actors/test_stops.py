"""Stops that came before their calls."""

from __future__ import annotations

from sapwood.actors.stops import MOST, Stops


def test_a_stop_that_came_early_holds_for_its_call_once() -> None:
    stops = Stops()
    stops.stop("a")
    stops.stop("a")

    assert (len(stops), stops.begins("b")) == (1, False)
    assert [stops.begins("a"), stops.begins("a")] == [True, False]
    assert len(stops) == 0


def test_a_stop_for_a_call_that_has_ended_is_not_kept() -> None:
    """This used to stay for as long as the session was open."""
    stops = Stops()
    assert not stops.begins("a")
    stops.ended("a")

    stops.stop("a")

    assert len(stops) == 0
    assert not stops.begins("a")


def test_it_remembers_so_many_calls_and_lets_the_oldest_go() -> None:
    stops = Stops()
    for n in range(MOST + 1):
        stops.stop(str(n))

    assert len(stops) == MOST
    assert [stops.begins("0"), stops.begins("1"), stops.begins(str(MOST))] == [False, True, True]


def test_calls_that_ended_are_forgotten_as_well() -> None:
    stops = Stops()
    for n in range(3 * MOST):
        stops.ended(str(n))

    assert len(stops._early) == MOST
