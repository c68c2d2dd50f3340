"""Two at once: one of them is held at each point that the tap sees, the other runs, and the first goes on (N6, N9, R6).

Whatever comes of both is one of the documented outcomes, no input is lost or said twice, and no summary hangs on a branch that it was not
made for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import attrs
import pytest
import trio
import trio.testing

from sapwood import CompactionSettings, Refused, SapwoodError, ScriptedAnswer, Session, Settings, StaleLeaf
from sapwood.actors.compaction.actor import CANCELLED as COMPACTION_CANCELLED
from sapwood.actors.navigation.actor import CANCELLED
from sapwood.events.commands import Navigated, Returned
from sapwood.events.entries import BranchSummary, MessageEntry
from sapwood.events.errors import CompactionFailed, NavigationFailed, SessionClosed
from sapwood.events.messages import UserMessage
from tests.build import words
from tests.sapwood.branching import FOUND, at, branching
from tests.sapwood.pausing import Pausing, Points
from tests.sapwood.summarizing import SUMMARY

SMALL: Final = Settings(compaction=CompactionSettings(keep_recent_tokens=18))
SLOW: Final = 0.2
"""Seconds that each answer takes: so that there is a point while it comes."""


async def _navigate(session: Session) -> object:
    return await session.navigate(at("a1"), summarize=True, label="ash")


async def _elsewhere(session: Session) -> object:
    return await session.navigate(at("u2"))


async def _compact(session: Session) -> object:
    return await session.compact()


async def _prompt(session: Session) -> object:
    return await session.prompt("A prompt.")


async def _follow_up(session: Session) -> object:
    return await session.follow_up("A follow-up.").outcome()


async def _append(session: Session) -> object:
    return await session.append_custom("extension", {"n": 1})


async def _edit(session: Session) -> object:
    return await session.edit(at("a2"), None)


async def _abort(session: Session) -> object:
    await session.abort()
    return None


async def _close(session: Session) -> object:
    await session.close()
    return None


DOES: Final[Mapping[str, Callable[[Session], Awaitable[object]]]] = {
    "navigate": _navigate,
    "elsewhere": _elsewhere,
    "compact": _compact,
    "prompt": _prompt,
    "follow_up": _follow_up,
    "append": _append,
    "edit": _edit,
    "abort": _abort,
    "close": _close,
}
OTHERS: Final = sorted(DOES.keys() - {"navigate"})
STOPPED: Final = {"abort", "close"}


@attrs.define
class Came:
    """What came of two that were at once."""

    outcomes: dict[str, object] = attrs.Factory(dict[str, object])


async def race(held: str, other: str, tap: Points) -> Came:
    """`held` is held where the tap holds it, `other` runs as far as it comes, and both go on to their ends."""
    came = Came()
    slow = [ScriptedAnswer(text=SUMMARY, wait=SLOW)] * 4
    answers = [ScriptedAnswer(text="Yes.", wait=SLOW)] * 9

    async def do(name: str, done: trio.Event) -> None:
        try:
            came.outcomes[name] = await DOES[name](session)
        except SapwoodError as error:
            came.outcomes[name] = error
        done.set()

    with trio.fail_after(600):
        async with branching(
            *answers,
            summaries=[ScriptedAnswer(text=FOUND, wait=SLOW)] * 4,
            compactions=slow,
            settings=SMALL,
            tap=tap,
        ) as (session, _):
            async with trio.open_nursery() as nursery:
                first, second = trio.Event(), trio.Event()
                tap.armed = True
                nursery.start_soon(do, held, first)
                if isinstance(tap, Pausing):
                    await tap.reached.wait()
                    tap.armed = False
                    nursery.start_soon(do, other, second)
                    with trio.move_on_after(2):
                        await second.wait()
                    tap.go_on.set()
                    if other == "follow_up":  # it may wait for the next run: one comes
                        await first.wait()
                        await trio.testing.wait_all_tasks_blocked()
                        if not second.is_set() and session.state == "idle":
                            nursery.start_soon(do, "prompt", trio.Event())
            tap.armed = False
            await check(session, came)
    return came


def check_outcome(name: str, outcome: object, others: set[str]) -> None:
    match outcome:
        case Refused(reason="busy"):
            assert name in {"navigate", "elsewhere", "compact", "prompt"}
        case Refused(reason="already-compacted" | "nothing-to-do"):
            assert name == "compact"
        case NavigationFailed():
            assert name in {"navigate", "elsewhere"}
            assert str(outcome) == CANCELLED
            assert others & STOPPED
        case CompactionFailed():
            assert name == "compact"
            assert str(outcome) == COMPACTION_CANCELLED
            assert others & STOPPED
        case StaleLeaf():
            assert name in {"navigate", "elsewhere"}
            assert "edit" in others, "nothing else may come between"
        case SessionClosed() | Returned():
            assert "close" in others or (name == "follow_up" and "compact" in others)
        case Refused(reason="bad-input") if name == "edit":
            assert str(outcome).endswith("is not on the active branch"), "the move was first"
        case SapwoodError():
            raise AssertionError(f"{name} came to {outcome!r}")
        case _:
            pass


async def check(session: Session, came: Came) -> None:
    for name, outcome in came.outcomes.items():
        check_outcome(name, outcome, came.outcomes.keys() - {name})
    assert session.state == "idle"
    tree, view = session.tree(), session._wiring.view
    if not session._closed:
        entries = session.entries()
        inputs = [
            words(one.message)
            for one in entries
            if isinstance(one, MessageEntry) and isinstance(one.message, UserMessage)
        ]
        assert len(inputs) == len(set(inputs))
        for entry in entries:
            if isinstance(entry, BranchSummary):
                assert entry.parent_id == "a1"
                left = tree.index(entry.from_id)
                assert left is not None
                position = tree.position(left)
                assert position is not None
                assert tree.is_ancestor(tree.index("u2") or 0, left), "what it was made of"
        moved = came.outcomes.get("navigate")
        if isinstance(moved, Navigated) and "elsewhere" not in came.outcomes:  # from there it would leave nothing
            assert moved.summary in entries
        await session.prompt("At last.")
        assert words(session.context().messages[-2]) == "At last."
        assert view.leaf is not None


def run(held: str, other: str, tap: Points) -> Came:
    async def whole() -> Came:
        return await race(held, other, tap)

    return trio.run(whole, clock=trio.testing.MockClock(autojump_threshold=0))


def points_of(name: str) -> int:
    tap = Points()
    run(name, name, tap)
    return len(tap.passed)


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS)
def test_a_move_that_is_held_anywhere_and_another_one(other: str) -> None:
    for n in range(1, points_of("navigate") + 1):
        tap = Pausing(at=n)
        try:
            run("navigate", other, tap)
        except BaseException as fault:
            fault.add_note(f"it was held at {n}: {tap.passed[n - 1 : n]}")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("held", sorted({*OTHERS} - STOPPED - {"follow_up"}))
def test_another_one_that_is_held_anywhere_and_a_move(held: str) -> None:
    for n in range(1, points_of(held) + 1):
        tap = Pausing(at=n)
        try:
            run(held, "navigate", tap)
        except BaseException as fault:
            fault.add_note(f"it was held at {n}: {tap.passed[n - 1 : n]}")
            raise
