"""A story under many orders and strikes: what holds is counted, what does not is told with how to do it again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from sapwood.scenario import Scenario, ScenarioError, load
from sapwood.scenario.language import StoreWord
from sapwood.scenario.scripting import Script
from sapwood.scenario.sweeping import Fault, crashes, orders
from sapwood.scenario.taking_up import TakenUp, take_up
from sapwood.scenario.wire import to_entries
from sapwood.session import Session
from tests.sapwood.scenario.stories import TALK, written

STRANGE = to_entries([{"type": "message", "id": "strange", "message": {"role": "user", "content": "A pine."}}])


def on(path: Path, store: StoreWord) -> Scenario:
    scenario = load(path)
    return attrs.evolve(scenario, story=attrs.evolve(scenario.story, store=store))


def test_every_order_ends_in_the_same_log(tmp_path: Path) -> None:
    swept = orders(load(written(tmp_path, TALK)), 5)

    assert (swept.orders, swept.faults) == (5, ())


def test_an_expectation_that_does_not_hold_is_told_with_its_seed(tmp_path: Path) -> None:
    swept = orders(load(written(tmp_path, TALK + "expect: {state: run}\n")), 2)

    assert [fault.under for fault in swept.faults] == ["seed 0", "seed 1"]
    assert "state at the end" in swept.faults[0].what


def test_a_log_that_depends_on_the_order_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = iter([[1], [1], [2]])

    def one_of_them(_: object) -> list[int]:
        return next(logs)

    monkeypatch.setattr("sapwood.scenario.sweeping.renamed", one_of_them)

    swept = orders(load(written(tmp_path, TALK)), 2)

    assert [(fault.under, fault.what) for fault in swept.faults] == [("seed 1", "entry 1 is another one: 2 for 1")]


@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory", "jsonl"])
def test_a_story_outlives_each_crash_and_each_death(store: StoreWord, tmp_path: Path) -> None:
    swept = crashes(on(written(tmp_path, TALK), store))

    assert swept.faults == ()
    assert swept.crashes > 20
    assert 0 < swept.same < swept.crashes
    assert swept.deaths == 3, "nothing, what was asked, and what was answered"


def doubled(taken: TakenUp) -> TakenUp:
    return attrs.evolve(taken, entries=(*taken.entries, *taken.entries[:1]))


def made_up(taken: TakenUp) -> TakenUp:
    return attrs.evolve(taken, left=(*taken.left, *STRANGE))


def lost(taken: TakenUp) -> TakenUp:
    return attrs.evolve(taken, entries=taken.entries[:0], left=taken.left[:0])


def stuck(taken: TakenUp) -> TakenUp:
    return attrs.evolve(taken, fault="the session stays in the state 'run'")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (doubled, "an entry is in the log twice"),
        (made_up, "the log holds what nobody said: 'A pine.'"),
        (lost, "what step 1 said is told to be delivered, and is not in the log"),
        (stuck, "the session stays in the state 'run'"),
    ],
)
def test_what_does_not_hold_behind_a_crash_is_told_with_how_to_do_it_again(
    spoil: Callable[[TakenUp], TakenUp], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(1000))

    async def spoilt(session: Session, script: Script) -> TakenUp:
        taken = await take_up(session, script)
        return spoil(taken) if next(times) == 1 else taken

    monkeypatch.setattr("sapwood.scenario.sweeping.take_up", spoilt)

    swept = crashes(load(written(tmp_path, TALK)))

    assert [(fault.under, fault.what) for fault in swept.faults] == [("a crash of agent at its message 1", what)]


@pytest.mark.slow
def test_what_was_stored_and_is_another_thing_behind_a_death_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def spoilt(session: Session, script: Script) -> TakenUp:
        taken = await take_up(session, script)
        return taken if script.requests else attrs.evolve(taken, entries=taken.entries[1:])

    monkeypatch.setattr("sapwood.scenario.sweeping.take_up", spoilt)

    swept = crashes(load(written(tmp_path, TALK)))

    under = {fault.under for fault in swept.faults if fault.what == "what was stored is not what is there now"}
    assert under == {"death behind entry 1", "death behind entry 2"}


@pytest.mark.slow
def test_a_session_that_is_gone_for_good_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no way in")

    monkeypatch.setattr("sapwood.runtime.wire", broken)

    swept = crashes(load(written(tmp_path, TALK)))

    assert swept == swept.__class__(
        crashes=0, same=0, deaths=0, faults=(Fault("nothing at all", "RuntimeError: no way in"),)
    )


def test_what_cannot_be_played_is_the_scenarios_fault(tmp_path: Path) -> None:
    text = TALK + "session: {file: nothing.jsonl}\n"
    (tmp_path / "nothing.jsonl").write_text("no session")

    scenario = load(written(tmp_path, text))

    with pytest.raises(ScenarioError):
        orders(scenario, 1)
    with pytest.raises(ScenarioError):
        crashes(scenario)
