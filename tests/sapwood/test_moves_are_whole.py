"""A move happens whole or not at all (N6): whatever breaks, fails, is cancelled or aborted, at each point that the tap sees."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import attrs
import pytest
import trio
import trio.testing

from sapwood import Extension, SapwoodError, ScriptedAnswer, Session
from sapwood.events.hooks import SessionBeforeTree, TreeAnswer
from sapwood.events.runtime import Event, SessionTree, SessionTreeFailed
from tests.build import usage
from tests.sapwood.branching import FOUND, State, at, branching, position_of, state_of
from tests.sapwood.pausing import Breaking, Calling, Points
from tests.talking import drain

TOGETHER: Final = ("branch_summary", "label")
"""What the move of this story writes."""


@attrs.frozen
class Came:
    """What came of a move."""

    before: State
    after: State
    added: tuple[str, ...]
    """Kinds of entries."""
    events: list[Event]
    outcome: object
    position: str | None
    summary: str | None


def hook() -> Extension:
    extension = Extension("listener")

    @extension.on(SessionBeforeTree)
    async def hear(question: SessionBeforeTree, context: object) -> TreeAnswer:
        await trio.lowlevel.checkpoint()
        return TreeAnswer(instructions="weights")

    return extension


async def story(
    tap: Points, *, during: Callable[[Session, trio.CancelScope, trio.Nursery], Callable[[], object]] | None = None
) -> Came:
    """A move with a hook, a summary that is tried twice, and a label, with an input that waits in the queue."""
    twice = [ScriptedAnswer(error="overloaded", usage=usage(3)), ScriptedAnswer(text=FOUND, wait=0.5, usage=usage(4))]
    outcome: object = None
    with trio.fail_after(600):
        async with branching(summaries=twice, extensions=[hook()], tap=tap) as (session, _):
            session.steer("Later.")
            await trio.testing.wait_all_tasks_blocked()
            before, reader = state_of(session), session.events()
            async with trio.open_nursery() as nursery:
                scope = trio.CancelScope()
                if during is not None and isinstance(tap, Calling):
                    tap.do = during(session, scope, nursery)
                tap.armed = True
                with scope, suppress(SapwoodError):
                    outcome = await session.navigate(at("a1"), summarize=True, label="ash")
            tap.armed = False
            await trio.testing.wait_all_tasks_blocked()
            after = state_of(session)
            added = tuple(session.tree().kind(place) for place in range(len(before.lines), len(session.tree())))
            position = position_of(session)
            summaries = session.tree().of_kind("branch_summary")
            summary = session.tree().id(summaries[0]) if summaries else None
            events = drain(reader)
    return Came(before, after, added, events, outcome, position, summary)


def check(came: Came) -> bool:
    """Whole, or nothing but what was billed. Whether it moved."""
    assert came.after.lines[: len(came.before.lines)] == came.before.lines
    assert came.after.holder == "idle"
    assert came.after.queue == came.before.queue
    told = [type(event) for event in came.events if isinstance(event, SessionTree | SessionTreeFailed)]
    if came.added == TOGETHER:
        assert came.position == came.summary
        assert SessionTreeFailed not in told
        return True
    assert came.added in {(), ("usage",)}
    assert came.position == "a3"
    assert came.after.context.messages == came.before.context.messages
    assert SessionTree not in told
    assert len(told) <= 1
    if not came.added:
        assert came.after == came.before
    return False


def run(*given: Any, **more: Any) -> Came:
    async def whole() -> Came:
        return await story(*given, **more)

    return trio.run(whole, clock=trio.testing.MockClock(autojump_threshold=0))


def points() -> list[str]:
    tap = Points()
    assert check(run(tap))
    return tap.passed


POINTS: Final = points()


def test_the_move_passes_every_actor_that_it_needs() -> None:
    told = "\n".join(POINTS)

    for actor in ("agent", "navigation", "exclusion", "session_log", "projection", "extensions", "model"):
        assert f"{actor} gets " in told
    assert len(POINTS) > 25


@pytest.mark.slow
def test_a_crash_anywhere_leaves_it_whole_or_undone() -> None:
    moved: set[bool] = set()
    for n in range(1, len(POINTS) + 1):
        tap = Breaking(at=n)
        try:
            moved.add(check(run(tap)))
        except BaseException as fault:
            fault.add_note(f"it broke at {n}: {tap.passed[n - 1 : n]}")
            raise

    assert moved == {True, False}


def _abort(session: Session, scope: trio.CancelScope, nursery: trio.Nursery) -> Callable[[], object]:
    due = trio.Event()

    async def abort() -> None:  # of a task of its own: what the tap awaits is a part of what is to be stopped
        await due.wait()
        with trio.fail_after(0.2):
            await session.abort()

    nursery.start_soon(abort)
    return due.set


def _leave(session: Session, scope: trio.CancelScope, nursery: trio.Nursery) -> Callable[[], object]:
    return scope.cancel


@pytest.mark.slow
@pytest.mark.parametrize("stop", [_abort, _leave], ids=["aborted", "cancelled"])
def test_a_stop_anywhere_leaves_it_whole_or_undone(
    stop: Callable[[Session, trio.CancelScope, trio.Nursery], Callable[[], object]],
) -> None:
    moved: set[bool] = set()
    for n in range(1, len(POINTS) + 1):
        tap = Calling(at=n)
        try:
            came = run(tap, during=stop)
            moved.add(check(came))
        except BaseException as fault:
            fault.add_note(f"it was stopped at {n}: {tap.passed[n - 1 : n]}")
            raise

    assert moved == {True, False}
