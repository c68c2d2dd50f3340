"""Which answers call for a compaction and another attempt (C16, R7)."""

from __future__ import annotations

import pytest

from sapwood.actors.compaction.recovery import Recovery, recovery, was_tried
from sapwood.events.entries import Label
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, StopReason, Usage
from sapwood.events.models import Model
from tests.actors.projection.logs import Log, compaction, edit
from tests.build import TIME, assistant, call, message_entry, user

MODEL = Model(provider="scripted", id="small", context_window=1000, max_output=100)
HIDDEN = Recovery("overflow", retries=True)
WHOLE = Recovery("overflow", retries=False)
CUT = Recovery("truncated", retries=True)


def used(sent: int, output: int = 0, *, cached: int = 0) -> Usage:
    return Usage.of(input=sent, output=output, cache_read=cached)


def ended(stop: StopReason, usage: Usage, *, error: str | None = None) -> AssistantMessage:
    return assistant("so far", stop=stop, usage=usage, error=error)


@pytest.mark.parametrize(
    ("answer", "called_for"),
    [
        # what the provider found too large
        (ended("error", used(0), error="prompt is too long: 1200 tokens > 1000 maximum"), HIDDEN),
        (ended("error", used(0), error="Your input exceeds the context window of this model"), HIDDEN),
        (ended("error", used(0), error="overloaded"), None),
        (ended("error", used(0), error="insufficient_quota"), None),
        (ended("error", used(0)), None),
        (ended("error", used(5000), error="overloaded"), None),
        # a whole answer to more than the window
        (ended("stop", used(1001, 5)), WHOLE),
        (ended("stop", used(501, 5, cached=500)), WHOLE),
        (ended("stop", used(1000, 500)), None),
        (ended("stop", used(500, 5, cached=500)), None),
        # no room was left for any answer
        (ended("length", used(990)), HIDDEN),
        (ended("length", used(490, cached=500)), HIDDEN),
        (ended("length", used(1500)), HIDDEN),
        (ended("length", used(989)), CUT),
        # it was cut off before its own limit
        (ended("length", used(500, 99)), CUT),
        (ended("length", used(500, 100)), None),
        (ended("length", used(995, 99)), CUT),
        (ended("length", used(995, 100)), None),
        # whatever else
        (ended("aborted", used(5000)), None),
        (ended("stop", used(0)), None),
    ],
)
def test_an_answer_calls_for_a_recovery(answer: AssistantMessage, called_for: Recovery | None) -> None:
    assert recovery(answer, MODEL) == called_for


@pytest.mark.parametrize(
    ("usage", "called_for"),
    [(used(890, 99), None), (used(890, 100), CUT), (used(400, 100, cached=490), CUT), (used(989), None)],
)
def test_without_a_limit_of_its_own_an_answer_that_fills_the_window_was_cut_off(
    usage: Usage, called_for: Recovery | None
) -> None:
    model = Model(provider="scripted", id="small", context_window=1000)

    assert recovery(ended("length", usage), model) == called_for


def test_a_long_answer_of_a_server_that_reports_no_usage_stands() -> None:
    model = Model(provider="p", id="m", context_window=1_000, max_output=100)

    assert recovery(assistant("all that it had room for", stop="length"), model) is None


def test_of_an_unknown_window_only_what_the_provider_says_is_believed() -> None:
    model = Model(provider="scripted", id="unknown")

    assert recovery(ended("stop", used(500_000)), model) is None
    assert recovery(ended("length", used(model.window)), model) == HIDDEN
    assert recovery(ended("error", used(0), error="prompt is too long"), model) == HIDDEN


@pytest.mark.parametrize("stop", ["stop", "length", "error", "toolUse"])
def test_an_answer_that_calls_is_gone_on_with(stop: StopReason) -> None:
    answer = assistant(call("c1"), stop=stop, usage=used(5000), error="prompt is too long")

    assert recovery(answer, MODEL) is None


def tried(words: str) -> bool:
    """Of a path, an entry a word: `u` user, `a` a good answer, `t` one with calls, `f` a failed one, `l` one that was cut off, `s` one
    that was stopped, `h` hides the entry before it, `x` gives it other content, `c` a compaction, `b` a label.
    """
    log = Log()
    parent: str | None = None
    for at, word in enumerate(words.split()):
        name = f"e{at}"
        target = f"e{at - 1}"
        match word:
            case "u":
                log.add(message_entry(name, user(), parent))
            case "h" | "x":
                log.add(edit(name, target, target, None if word == "h" else "other"))
            case "c":
                log.add(compaction(name, parent, name))
            case "b":
                above = None if parent is None else EntryId(parent)
                log.add(Label(id=EntryId(name), parent_id=above, timestamp=TIME, target_id=EntryId("e0"), label="x"))
            case _:
                reasons: dict[str, StopReason] = {
                    "f": "error",
                    "l": "length",
                    "s": "aborted",
                    "t": "toolUse",
                    "a": "stop",
                }
                log.add(message_entry(name, assistant("x", stop=reasons[word]), parent))
        parent = name
    return was_tried(log.view)


@pytest.mark.parametrize(
    ("words", "was"),
    [
        ("", False),
        ("u", False),
        ("u f", False),
        ("u f h", True),
        ("u l h", True),
        ("u f h c", True),
        ("u f h c b", True),
        ("u f h c f", True),
        ("u f h c f f l", True),
        ("u f x", False),
        ("u f h u", False),
        ("u f h u f", False),
        ("u f h c a", False),
        ("u f h c t", False),
        ("u f h c s", False),
        ("u f h c a f", False),
        ("u h f", False),
        ("a h", False),
        ("f h", True),
    ],
)
def test_it_was_tried_if_a_failed_attempt_was_hidden_since_the_last_input_or_good_answer(
    words: str, *, was: bool
) -> None:
    assert tried(words) is was


def test_only_the_path_to_the_leaf_counts() -> None:
    log = Log()
    log.add(message_entry("e0", user(), None))
    log.add(message_entry("e1", assistant("x", stop="error"), "e0"))
    log.add(edit("e2", "e1", "e1", None))
    log.add(message_entry("e3", assistant("x", stop="error"), "e0"))

    assert not was_tried(log.view)
