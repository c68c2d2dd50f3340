from __future__ import annotations

import attrs
import pytest

from sapwood.actors.kernel import UndeclaredAsk, WouldDeadlock
from sapwood.actors.kernel.chain import INNERMOST, Link, check, innermost, upstream


@attrs.define(eq=False)
class Person:
    name: str
    asks: tuple[Person, ...] = ()
    system: str = "s"
    advice: str = "wait"


def test_code_outside_of_any_operation_may_ask_anybody() -> None:
    check(None, Person("a"))


def test_a_declared_ask_goes_through() -> None:
    log = Person("log")
    check(Link(Person("run", (log,)), None), log)


def test_an_undeclared_ask_is_refused() -> None:
    with pytest.raises(UndeclaredAsk) as caught:
        check(Link(Person("run"), None), Person("log"))
    assert (caught.value.asker, caught.value.asked) == ("run", "log")


def test_an_actor_of_another_system_need_not_be_declared_and_is_no_less_a_deadlock() -> None:
    """A session that another one's tool opened used to refuse its own commands there."""
    run, sub = Person("run"), Person("run", system="sub")
    check(Link(run, None), sub)
    with pytest.raises(WouldDeadlock):
        check(Link(run, Link(sub, None)), sub)


def test_an_ask_to_whoever_waits_upstream_is_a_deadlock_before_it_is_undeclared() -> None:
    run, log = Person("run"), Person("log")
    with pytest.raises(WouldDeadlock):
        check(Link(log, Link(run, None)), run)


def test_an_operation_that_asks_its_own_actor_is_a_deadlock() -> None:
    run = Person("run")
    with pytest.raises(WouldDeadlock):
        check(Link(run, None), run)


def test_the_walk_stops_at_a_link_that_ended() -> None:
    run, log = Person("run"), Person("log")
    above = Link(run, None, live=False)
    below = Link(log, above)
    assert list(upstream(below)) == [below]
    with pytest.raises(UndeclaredAsk):
        check(below, run)


def test_code_below_an_operation_that_ended_is_free() -> None:
    link = Link(Person("run"), None)
    token = INNERMOST.set(link)
    try:
        assert innermost() is link
        link.live = False
        assert innermost() is None
    finally:
        INNERMOST.reset(token)
