"""Playing a scenario."""

from __future__ import annotations

import time
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from sapwood.actors.kernel import Receipt
from sapwood.actors.kernel.testing import CrashAt, DropAll, Recording
from sapwood.events.runtime import AgentSettled, Diagnostic, TurnEnd, name_of
from sapwood.runtime import RING_EVENTS
from sapwood.scenario import load, play, run
from sapwood.scenario.language import STEP_LIMIT, Expect, Feed, Pattern, Scenario, Story
from sapwood.scenario.matching import Mismatch
from sapwood.session import Session
from tests.sapwood.scenario.stories import LONG_TALK, SUMMARY, TALK, written

SHIPPED = sorted((Path(__file__).parents[3] / "scenarios").rglob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_scenario_that_ships_plays_as_it_expects(path: Path) -> None:
    assert play(path).differences == ()


def test_there_are_scenarios_that_ship() -> None:
    assert {"first_talk.yaml", "resume_pi_session.yaml"} <= {path.name for path in SHIPPED}


def test_a_script_that_has_run_out_is_a_failed_answer_and_a_difference(tmp_path: Path) -> None:
    """This used to be as expected."""
    played = play(written(tmp_path, TALK + "  - prompt: And now?\n"))

    assert [step.outcome for step in played.steps] == ["delivered", "delivered"]
    assert [step.unanswered for step in played.steps] == [(), ("turn",)]
    assert [(one.line, one.what) for one in played.differences] == [(6, "script in step 2")]
    assert [item.unsent for item in played.projection] == [None, None, None, "failed"]


def test_a_session_that_goes_down_is_a_difference(tmp_path: Path) -> None:
    class CrashLog:
        async def receipt(self, receipt: Receipt) -> str:
            if receipt.actor == "session_log":
                raise RuntimeError("down")
            return "handle"

        async def operation(self, actor: str, operation: str, phase: str) -> None: ...

    played = play(written(tmp_path, TALK + "expect: {state: idle}\n"), tap=CrashLog())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert played.differences
    assert played.entries == ()
    assert played.differences[0].difference.fields[0].expected == "delivered"


def test_a_crash_through_the_tap_is_played_and_told(tmp_path: Path) -> None:
    path = written(tmp_path, TALK)
    recording = Recording()
    play(path, tap=recording)
    receipts = [passed for passed in recording.passed if isinstance(passed, Receipt)]
    assert {receipt.actor for receipt in receipts} >= {"agent", "model", "session_log"}

    played = play(path, tap=CrashAt("projection", 1))

    assert [step.outcome for step in played.steps] == ["delivered"]


def test_a_drop_through_the_tap_changes_what_is_seen(tmp_path: Path) -> None:
    played = play(written(tmp_path, TALK), tap=DropAll((AgentSettled, TurnEnd)))

    assert played.steps[0].outcome == "delivered"


def test_a_step_that_never_ends_is_given_up_after_a_virtual_day(tmp_path: Path) -> None:
    started = time.monotonic()

    played = play(written(tmp_path, TALK.replace("text:", f"wait: {2 * STEP_LIMIT}, text:")))

    assert time.monotonic() - started < 5
    assert played.steps[0].outcome is None
    (finding,) = played.differences
    assert (finding.what, finding.line) == ("outcome of step 1", 5)
    assert finding.difference.fields == (
        Mismatch((), "delivered", "none (it did not settle in 86,400 virtual seconds)"),
    )


def test_a_story_that_does_not_settle_in_a_virtual_day_is_a_difference(tmp_path: Path) -> None:
    """It passed in silence."""
    story = TALK.replace("text:", f"wait: {2 * STEP_LIMIT}, text:").replace("prompt:", "submit:")

    played = play(written(tmp_path, story + "  - settle: true\n  - abort: true\n  - settle: true\n"))

    (finding,) = played.differences
    assert (finding.what, finding.line) == ("step 2", 6)
    assert finding.difference.fields == (Mismatch((), "settled", "it did not settle in 86,400 virtual seconds"),)


def test_a_prompt_that_is_refused_is_an_outcome(tmp_path: Path) -> None:
    waiting = TALK.replace("text:", f"wait: {2 * STEP_LIMIT}, text:") + "  - {prompt: again, outcome: refused}\n"

    played = play(written(tmp_path, waiting))

    assert [step.outcome for step in played.steps] == [None, "refused"]
    assert "steer()" in played.steps[1].why
    assert [finding.what for finding in played.differences] == ["outcome of step 1"]


@pytest.mark.parametrize("how", ["prompt", "submit", "steer", "follow_up"])
def test_what_is_no_input_is_refused_however_it_is_said(how: str, tmp_path: Path) -> None:
    """What is said without waiting for it used to break the playing."""
    played = play(written(tmp_path, TALK + f"  - {{{how}: ' ', outcome: refused}}\n  - {{{how}: ' '}}\n"))

    assert [step.outcome for step in played.steps] == ["delivered", "refused", "refused"]
    assert "there is neither in this one" in played.steps[1].why
    assert [finding.what for finding in played.differences] == ["outcome of step 3"]


TOO_SMALL = "Nothing to compact (session too small)"


@pytest.mark.parametrize(
    ("answer", "outcome", "why"),
    [
        (f"text: {SUMMARY}", "compacted", ""),
        ("error: no such key", "failed", "Summarization failed: no such key"),
        (f"wait: {2 * STEP_LIMIT}, text: late", None, f"it did not end in {STEP_LIMIT:,.0f} virtual seconds"),
    ],
)
def test_what_comes_of_a_compaction_is_its_outcome(answer: str, outcome: str | None, why: str, tmp_path: Path) -> None:
    story = LONG_TALK.replace("ANSWER", answer) + f"  - {{compact: the trees, outcome: {outcome or 'refused'}}}\n"

    played = play(written(tmp_path, story))

    *_, step = played.steps
    assert (step.outcome, step.why, step.after.state) == (outcome, why, "idle")
    assert step.calls == ("compaction",)
    assert [type(one).__name__ for one in step.after.entries] == ["Compaction"] * (outcome == "compacted")
    assert (played.differences == ()) == (outcome is not None)


def test_a_compaction_that_is_refused_is_an_outcome(tmp_path: Path) -> None:
    played = play(written(tmp_path, TALK + "  - {compact: true, outcome: refused}\n"))

    assert played.differences == ()
    assert (played.steps[1].outcome, played.steps[1].why) == ("refused", TOO_SMALL)
    assert played.steps[1].calls == ()


def test_a_compaction_that_ends_otherwise_is_a_difference(tmp_path: Path) -> None:
    [difference] = play(written(tmp_path, TALK + "  - compact: true\n")).differences

    assert (difference.line, difference.what) == (6, "outcome of step 2")
    assert difference.difference.expected == "compacted"
    assert difference.difference.seen == f"refused ({TOO_SMALL})"


def test_a_summary_that_the_script_does_not_have_is_a_difference(tmp_path: Path) -> None:
    story = LONG_TALK.replace("  compaction: [{ANSWER}]\n", "")

    differences = play(written(tmp_path, story + "  - compact: true\n")).differences

    assert [one.what for one in differences] == ["outcome of step 3", "script in step 3"]
    assert differences[1].difference.seen == "no answer left for a compaction: add one to answers.compaction"


def test_events_are_fed_to_observers_with_no_model_at_all(tmp_path: Path) -> None:
    played = play(
        written(
            tmp_path,
            """\
            title: Only news
            steps:
              - events:
                  - {type: agent_start}
                  - {type: diagnostic, code: odd, message: look here}
                  - {type: agent_settled, aborted: true}
                expect:
                  events: [agent_start, {type: diagnostic, code: odd}, {type: agent_settled, aborted: true}]
            expect: {entries: [], projection: [], state: idle}
            """,
        )
    )

    assert played.differences == ()
    assert Diagnostic(code="odd", message="look here") in played.events


@pytest.mark.slow
def test_every_event_that_is_fed_is_seen_however_many_there_are(tmp_path: Path) -> None:
    """More than the ring holds used to be lost, and told as so many differences."""
    many = RING_EVENTS + 500
    story = Story(
        title="x",
        steps=(
            Feed(
                events=tuple(Diagnostic(code=str(n), message="") for n in range(many)),
                expect=Expect(events=tuple(Pattern({"code": str(n)}) for n in range(many))),
            ),
        ),
    )

    played = play(Scenario(path=tmp_path / "x.yaml", story=story, line_of=lambda _: 1))

    assert played.differences == ()
    assert len(played.events) == many


def test_what_the_runtime_breaks_at_is_a_difference_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OverflowError("too far")

    path = written(tmp_path, TALK)
    monkeypatch.setattr(Session, "submit", broken)

    (finding,) = play(path).differences

    assert (finding.what, finding.difference.seen) == ("session", "OverflowError: too far")


@pytest.mark.slow
def test_a_story_that_outlives_the_calendar_is_told(tmp_path: Path) -> None:
    far = "".join("  - pass: 31622400\n" for _ in range(8000))

    (finding,) = play(written(tmp_path, TALK.replace("  - prompt", far + "  - prompt"))).differences

    assert finding.what == "outcome of step 8001"


def test_time_passes_only_in_the_story(tmp_path: Path) -> None:
    started = time.monotonic()

    played = play(written(tmp_path, TALK + "  - pass: 1000000\n  - pass: 0\n  - events: [{type: agent_start}]\n"))

    assert time.monotonic() - started < 5
    assert [step.at for step in played.steps] == [0, 0, 1_000_000, 1_000_000]
    assert played.steps[-1].events[0].at == 1_000_000


def test_the_same_scenario_is_the_same_every_time_and_another_seed_gives_other_ids(tmp_path: Path) -> None:
    path = written(tmp_path, TALK)

    once, again, other = play(path), play(path), play(path, seed=1)

    assert attrs.evolve(once, scenario=again.scenario) == again
    assert [entry.id for entry in other.entries] != [entry.id for entry in once.entries]
    assert [name_of(event) for event in other.events] == [name_of(event) for event in once.events]


async def test_a_scenario_may_be_played_within_trio(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    played = await run(load(written(tmp_path, TALK)))

    assert played.differences == ()
    assert len(played.entries) == 2


def test_the_model_of_the_story_is_answered_by_the_script_whatever_its_provider(tmp_path: Path) -> None:
    played = play(written(tmp_path, TALK + "model: {provider: elsewhere, id: big, contextWindow: 10}\n"))

    assert [item.unsent for item in played.projection] == [None, None]
    assert played.end.usage.endswith("/10")


def test_the_names_in_the_shop_window_are_there() -> None:
    import sapwood.scenario

    for name in sapwood.scenario.__all__:
        assert getattr(sapwood.scenario, name).__module__.startswith("sapwood.scenario.")
