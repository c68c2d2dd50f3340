"""Steps that end a process, break an actor or change the model, and the words for what came of a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.actors.kernel.testing import StrikeAt
from sapwood.events.entries import MessageEntry, ModelChange
from sapwood.events.messages import AssistantMessage
from sapwood.scenario import Played, load, play
from sapwood.scenario.acting import UNSETTLED
from sapwood.scenario.language import ActorWord
from tests.build import words
from tests.sapwood.scenario.stories import TALK, written


def played(folder: Path, text: str, store: str = "memory") -> Played:
    return play(written(folder, f"{text}store: {store}\n"))


TWO = """\
title: Two answers
answers:
  turn: [{text: One., wait: 5}, {text: Two.}]
steps:
"""


@pytest.mark.parametrize("store", ["memory", "jsonl"])
def test_what_a_killed_process_was_about_to_write_is_nowhere(store: str, tmp_path: Path) -> None:
    seen = played(
        tmp_path,
        TWO + "  - {submit: Hello., outcome: lost}\n  - pass: 1\n  - kill: true\n  - prompt: Again.\n",
        store,
    )

    assert seen.differences == ()
    assert [step.outcome for step in seen.steps] == ["lost", None, None, "delivered"]
    said = [(entry.message.role, words(entry.message)) for entry in seen.entries if isinstance(entry, MessageEntry)]
    assert said == [("user", "Hello."), ("user", "Again."), ("assistant", "Two.")]


@pytest.mark.parametrize("store", ["memory", "jsonl"])
def test_a_session_that_is_closed_records_what_was_stopped_and_is_opened_again(store: str, tmp_path: Path) -> None:
    seen = played(
        tmp_path,
        TWO + "  - {submit: Hello.}\n  - pass: 1\n  - reopen: true\n  - prompt: Again.\n",
        store,
    )

    assert seen.differences == ()
    messages = [entry.message for entry in seen.entries if isinstance(entry, MessageEntry)]
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert isinstance(messages[1], AssistantMessage)
    assert messages[1].stop_reason == "aborted"
    assert [one.n for step in seen.steps for one in step.events] == list(range(1, len(seen.events) + 1))
    assert {one.at for one in seen.steps[2].events} == {1.0}, "what came by the closing is of this step"


@pytest.mark.parametrize("store", ["memory", "jsonl"])
def test_a_process_that_is_killed_before_anything_is_stored_leaves_nothing(store: str, tmp_path: Path) -> None:
    seen = played(tmp_path, TWO + "  - kill: true\n  - prompt: Hello.\n", store)

    assert seen.differences == ()
    assert len(seen.entries) == 2


@pytest.mark.parametrize("actor", ["agent", "projection", "inbox"])
def test_an_actor_is_crashed_at_its_next_message_and_the_session_lives_on(actor: ActorWord, tmp_path: Path) -> None:
    text = TALK.replace("steps:\n", f"steps:\n  - crash: {actor}\n") + "  - prompt: Again.\n    outcome: failed\n"
    seen = play(written(tmp_path, text))

    assert seen.broken is None
    assert seen.end.state == "idle"
    assert seen.steps[1].outcome in {"delivered", "failed"}


def test_a_model_that_is_gone_on_with_has_its_own_window(tmp_path: Path) -> None:
    seen = play(
        written(
            tmp_path,
            TALK + "  - model: {id: thinker, contextWindow: 4000}\n    expect: {usage: 0.2%/4000}\n",
        )
    )

    assert not seen.differences
    [change] = [entry for entry in seen.entries if isinstance(entry, ModelChange)]
    assert (change.provider, change.model_id) == ("scripted", "thinker")


def test_a_stall_is_behind_the_words_and_a_cut_is_a_failed_answer(tmp_path: Path) -> None:
    text = TALK.replace('{text: "Fine, thanks."}', "{text: Fine., stall: 3}, {text: Fi, cut: true}, {text: Whole.}")
    seen = play(written(tmp_path, text + "  - prompt: Again.\n"))

    first, second = seen.steps
    assert next(one.at for one in first.events if "Fine." in str(one.event)) == 0.0
    assert first.events[-1].at == 3.0
    failed = [entry.message for entry in seen.entries if isinstance(entry, MessageEntry)][3]
    assert isinstance(failed, AssistantMessage)
    assert failed.stop_reason == "error"
    assert failed.error_message == "the answer ended before it was complete"
    assert words(failed) == "Fi"
    assert second.outcome == "delivered"


def test_what_never_settles_says_so(tmp_path: Path) -> None:
    seen = play(written(tmp_path, TALK.replace('"Fine, thanks."', "Late., wait: 100000")))

    assert (seen.steps[0].outcome, seen.steps[0].why) == (None, UNSETTLED)


@pytest.mark.parametrize("phase", ["start", "end"])
def test_an_abort_that_breaks_is_done_again(phase: str, tmp_path: Path) -> None:
    """This used to raise `SessionBroken` in the host, and left the run going."""
    path = written(tmp_path, TWO + "  - submit: Hello.\n  - pass: 1\n  - abort: true\n  - prompt: Again.\n")

    seen = play(load(path), tap=StrikeAt("agent", 2, "start" if phase == "start" else "end"))

    assert seen.differences == ()
    assert seen.steps[2].why == ""
