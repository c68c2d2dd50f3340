"""What a handler may ask its session for."""

from __future__ import annotations

import pytest
import trio

from sapwood.actors.extensions.context import Deferred, ExtensionContext, Life
from sapwood.actors.kernel import WouldDeadlock
from sapwood.events.errors import Refused, StaleContext
from sapwood.events.ids import SessionId


def life() -> Life:
    return Life(session_id=SessionId("s1"), cwd="/home/dev")


def test_a_context_tells_its_session_until_that_is_over() -> None:
    living = life()
    context = ExtensionContext(living, "guard")

    assert (context.session_id, context.cwd) == ("s1", "/home/dev")
    assert repr(context) == "<ExtensionContext of guard in s1>"
    living.over = True
    with pytest.raises(StaleContext, match="the session s1 is over"):
        _ = context.cwd
    assert repr(context) == "<ExtensionContext of guard in s1, over>"


def test_nothing_can_be_asked_of_a_session_that_lends_nothing() -> None:
    with pytest.raises(StaleContext):
        ExtensionContext(life(), "guard").steer("x")


async def test_what_is_done_later_is_waited_for_or_told() -> None:
    done, failed = Deferred[int](), Deferred[int]()
    done.settle(7)
    failed.fail(Refused("busy", "Not now."))

    assert await done.outcome() == 7
    with pytest.raises(Refused, match="Not now"):
        await failed.outcome()
    with trio.move_on_after(0) as scope:
        await Deferred[int]().outcome()
    assert scope.cancelled_caught


async def test_where_nobody_may_wait_it_says_so_at_once() -> None:
    def guard() -> None:
        raise WouldDeadlock("handlers", "agent", "say it later")

    with pytest.raises(WouldDeadlock):
        await Deferred[int](guard).outcome()
