"""From a plain value to a story."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import BranchSummarySettings, CompactionSettings, RetryPolicy, Settings, TokenOverride
from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.events.entries import MessageEntry
from sapwood.events.messages import AssistantMessage, Usage
from sapwood.events.models import Model
from sapwood.events.runtime import AgentSettled, MessageStart
from sapwood.scenario.errors import ENOUGH, Misfit
from sapwood.scenario.language import (
    LONGEST_WAIT,
    Compact,
    Expect,
    Feed,
    FromEntries,
    FromFile,
    Pass,
    Pattern,
    Place,
    Prompt,
    Story,
)
from sapwood.scenario.matching import GAP
from sapwood.scenario.scripts import Answer, Answers
from sapwood.scenario.structuring import fit


def fitted(**keys: Any) -> Story:
    return fit({"title": "x", "steps": [], **keys}, lambda _: 1)


def test_a_system_prompt_is_the_texts_of_its_sections() -> None:
    assert fitted().system_prompt is None
    assert fitted(system_prompt=None).system_prompt is None
    assert fitted(system_prompt={"b": "B", "preamble": "You help.", "a": "A"}).system_prompt == SystemPrompt(
        preamble="You help.", sections={"b": "B", "a": "A"}
    )


def test_settings_are_by_the_names_of_a_settings_file() -> None:
    assert fitted().settings == Settings()
    assert fitted(
        settings={
            "steeringMode": "all",
            "retry": {"maxRetries": 1},
            "compaction": {"enabled": False, "modelOverrides": {"a/b": {"reserveTokens": 5}}},
            "branchSummary": {"manner": "omp"},
        }
    ).settings == Settings(
        steering_mode="all",
        retry=RetryPolicy(max_retries=1),
        compaction=CompactionSettings(enabled=False, model_overrides={"a/b": TokenOverride(reserve_tokens=5)}),
        branch_summary=BranchSummarySettings(manner="omp"),
    )


def test_every_wrong_setting_is_told() -> None:
    with pytest.raises(Misfit) as caught:
        fitted(settings={"steeringMode": 5, "compaction": {"reserveTokens": None, "enabled": 1}})

    assert [one.place for one in caught.value.each()] == [
        ("settings", "steeringMode"),
        ("settings", "compaction", "reserveTokens"),
        ("settings", "compaction", "enabled"),
    ]


def test_a_compaction_is_asked_for_with_or_without_words() -> None:
    assert fitted(steps=[{"compact": True}]).steps == (Compact(compact=True),)
    assert fitted(steps=[{"compact": "true", "outcome": "refused"}]).steps == (
        Compact(compact="true", outcome="refused"),
    )


UNFIT: list[tuple[dict[str, Any], Place, str]] = [
    ({"title": 7}, ("title",), "must be text, not 7: put it in quotes"),
    ({"title": True}, ("title",), "put it in quotes"),
    ({"title": None}, ("title",), "must be text, not None"),
    ({"titel": "x"}, ("titel",), "did you mean 'title'"),
    ({"line_of": 1}, ("line_of",), "unknown key"),
    ({"system_prompt": "You help."}, ("system_prompt",), "must be a mapping: the text of each section"),
    ({"system_prompt": {"house": 7}}, ("system_prompt", "house"), "must be text, not 7: put it in quotes"),
    ({"system_prompt": {"Big": "a"}}, ("system_prompt", "Big"), "Invalid system prompt section name: Big"),
    ({"settings": []}, ("settings",), "Invalid settings: []. Expected an object."),
    ({"settings": None}, ("settings",), "Invalid settings: null. Expected an object."),
    ({"settings": {"follow_up_mode": "all"}}, ("settings", "follow_up_mode"), "did you mean 'followUpMode'"),
    ({"settings": {"queueMode": "all"}}, ("settings", "queueMode"), "Unknown setting queueMode"),
    ({"settings": {"steeringMode": "some"}}, ("settings", "steeringMode"), "Invalid steeringMode setting: 'some'."),
    ({"settings": {"retry": {"provider": {}}}}, ("settings", "retry", "provider"), "Unknown setting retry.provider"),
    (
        {"settings": {"compaction": {"modelOverrides": {"a/b": {"reserveTokens": -2}}}}},
        ("settings", "compaction", "modelOverrides", "a/b", "reserveTokens"),
        'Invalid compaction.modelOverrides["a/b"].reserveTokens setting: -2. Expected a non-negative safe integer.',
    ),
    ({"store": "disk"}, ("store",), "must be one of memory, jsonl, not 'disk'"),
    ({"store": ["memory"]}, ("store",), "must be one of"),
    ({"steps": {}}, ("steps",), "must be a list"),
    ({"steps": "abc"}, ("steps",), "must be a list"),
    (
        {"steps": ["abc"]},
        ("steps", 0),
        "abort, compact, navigate, settle, model, crash, kill, reopen, events",
    ),
    ({"steps": [{}]}, ("steps", 0), "a step needs exactly one of"),
    ({"steps": [{"prompt": "a", "pass": 1}]}, ("steps", 0, "pass"), "a step needs exactly one of"),
    ({"steps": [{"pass": 1, "outcome": "delivered"}]}, ("steps", 0, "outcome"), "unknown key"),
    ({"steps": [{"promt": "a"}]}, ("steps", 0, "promt"), "did you mean 'prompt'"),
    ({"steps": [{"prompt": 7}]}, ("steps", 0, "prompt"), "must be text"),
    ({"steps": [{"prompt": "a", "outcome": "done"}]}, ("steps", 0, "outcome"), "must be one of delivered"),
    ({"steps": [{"compact": False}]}, ("steps", 0, "compact"), "must be true, or text, not False"),
    ({"steps": [{"compact": 1}]}, ("steps", 0, "compact"), "must be true, or text, not 1"),
    ({"steps": [{"compact": True, "outcome": "delivered"}]}, ("steps", 0, "outcome"), "must be one of compacted"),
    ({"steps": [{"prompt": "a", "outcome": "compacted"}]}, ("steps", 0, "outcome"), "must be one of delivered"),
    ({"steps": [{"pass": "1"}]}, ("steps", 0, "pass"), "a number of seconds"),
    ({"steps": [{"pass": True}]}, ("steps", 0, "pass"), "a number of seconds"),
    ({"steps": [{"pass": -1}]}, ("steps", 0, "pass"), "from 0 to 31,622,400 (a year), not -1"),
    ({"steps": [{"pass": float("inf")}]}, ("steps", 0, "pass"), "a number of seconds"),
    ({"steps": [{"pass": float("nan")}]}, ("steps", 0, "pass"), "a number of seconds"),
    ({"steps": [{"pass": 1e12}]}, ("steps", 0, "pass"), "a number of seconds"),
    ({"steps": [{"pass": 10**400}]}, ("steps", 0, "pass"), "a number of seconds"),
    ({"answers": {"turn": [{"wait": LONGEST_WAIT + 1}]}}, ("answers", "turn", 0, "wait"), "a number of seconds"),
    ({"model": {"contextWindow": 0}}, ("model", "contextWindow"), "a whole number from 1 to"),
    ({"steps": [{"events": [{"type": "agent_strat"}]}]}, ("steps", 0, "events", 0, "type"), "'agent_start'"),
    ({"steps": [{"events": ["agent_start"]}]}, ("steps", 0, "events", 0), "must be a mapping with a type"),
    ({"session": {}}, ("session",), "exactly one of: file, entries"),
    ({"session": "a.jsonl"}, ("session",), "a session must be a mapping"),
    ({"session": {"file": "a", "entries": []}}, ("session", "entries"), "exactly one of"),
    ({"session": {"file": 5}}, ("session", "file"), "must be text"),
    ({"session": {"entries": {}}}, ("session", "entries"), "must be a list"),
    ({"session": {"entries": [{"type": "mesage"}]}}, ("session", "entries", 0, "type"), "'message'"),
    ({"model": {"contextWindw": 5}}, ("model", "contextWindw"), "did you mean 'contextWindow'"),
    ({"model": []}, ("model",), "must be a mapping"),
    ({"answers": []}, ("answers",), "must be a mapping, with keys out of: turn"),
    ({"answers": {"turns": []}}, ("answers", "turns"), "did you mean 'turn'"),
    ({"answers": {"turn": [{"txt": ""}]}}, ("answers", "turn", 0, "txt"), "did you mean 'text'"),
    (
        {"answers": {"turn": [{"usage": {"input": "5"}}]}},
        ("answers", "turn", 0, "usage", "input"),
        "a whole number, not '5'",
    ),
    ({"answers": {"turn": [{"wait": "5"}]}}, ("answers", "turn", 0, "wait"), "a number of seconds"),
    ({"expect": []}, ("expect",), "must be a mapping"),
    ({"expect": {"events": "agent_start"}}, ("expect", "events"), "must be a list"),
    ({"expect": {"events": ["agent_strat"]}}, ("expect", "events", 0, "type"), "did you mean 'agent_start'"),
    ({"expect": {"events": [{"type": "x"}]}}, ("expect", "events", 0, "type"), "no event has the type 'x'"),
    ({"expect": {"events": [5]}}, ("expect", "events", 0), "must be ..., the name of an event, or a mapping"),
    ({"expect": {"entries": ["mesage"]}}, ("expect", "entries", 0, "type"), "did you mean 'message'"),
    ({"expect": {"projection": ["usr"]}}, ("expect", "projection", 0, "role"), "did you mean 'user'"),
    (
        {"expect": {"events": [{"type": "agent_end", "wilRetry": True}]}},
        ("expect", "events", 0, "wilRetry"),
        "unknown key 'wilRetry': did you mean 'willRetry'",
    ),
    (
        {"expect": {"entries": [GAP, {"type": "message", "message": {"role": "user", "contnt": "x"}}]}},
        ("expect", "entries", 1, "message", "contnt"),
        "did you mean 'content'",
    ),
    ({"expect": {"projection": [{"role": "user", "txt": "x"}]}}, ("expect", "projection", 0, "txt"), "'text'"),
    ({"expect": {"usage": 5}}, ("expect", "usage"), "must be text"),
    ({"expect": {"state": "busy"}}, ("expect", "state"), "must be one of idle, run"),
]


@pytest.mark.parametrize(("keys", "place", "words"), UNFIT)
def test_what_does_not_fit_is_told_with_its_place(keys: dict[str, Any], place: Place, words: str) -> None:
    with pytest.raises(Misfit) as caught:
        fitted(**keys)

    assert caught.value.place == place
    assert words in caught.value.message


@pytest.mark.parametrize("value", [None, 5, [], "text"])
def test_a_value_that_is_no_mapping_is_told(value: Any) -> None:
    with pytest.raises(Misfit, match="must be a mapping, with keys out of: title, about"):
        fit(value, lambda _: 1)


def test_a_missing_key_is_told_where_it_should_stand() -> None:
    with pytest.raises(Misfit, match="the key 'title' is missing") as caught:
        fit({"steps": []}, lambda _: 1)

    assert caught.value.place == ()


def test_a_misspelt_key_is_told_before_the_one_that_is_missing_for_it() -> None:
    """This used to say that `steps` is missing, and of the first line."""
    lines: dict[Place, int] = {(): 1, ("stepz",): 9}

    with pytest.raises(Misfit, match="unknown key 'stepz': did you mean 'steps'") as caught:
        fit({"title": "x", "stepz": []}, lambda place: lines[place])

    assert caught.value.place == ("stepz",)


@pytest.mark.parametrize(
    "keys",
    [
        {"title": ["x" * 50_000] * 50_000},
        {"store": "x" * 1_000_000},
        {"x" * 1_000_000: 1},
        {"steps": [{"x" * 1_000_000: 1}]},
        {"steps": [{"prompt": "a", "outcome": {"x": "y" * 1_000_000}}]},
        {"steps": [{"pass": "9" * 1_000_000}]},
        {"steps": [{"events": [{"type": "x" * 1_000_000}]}]},
        {"steps": [{"events": [{"type": "agent_start", "x`" * 500_000: 1}]}]},
        {"session": {"entries": [{"type": "session_info", "parentId": "x" * 1_000_000}]}},
        {"expect": {"events": ["x" * 1_000_000]}},
    ],
    ids=range(10),
)
def test_what_is_told_is_short_however_large_it_is(keys: dict[str, Any]) -> None:
    """A title of a million aliases used to be told in 136 MB."""
    with pytest.raises(Misfit) as caught:
        fitted(**keys)

    assert len(caught.value.message) < 500


def test_a_fault_that_nobody_thought_of_is_a_misfit_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr("sapwood.scenario.structuring.to_usage", broken)

    with pytest.raises(Misfit, match="does not fit: OverflowError: too large") as caught:
        fitted(answers={"turn": [{"usage": {}}]})
    assert caught.value.place == ("answers", "turn", 0, "usage")


def test_of_several_faults_the_first_in_the_file_is_told() -> None:
    lines: dict[Place, int] = {("steps", 0, "promt"): 2, ("about",): 9, ("modell",): 5}

    with pytest.raises(Misfit, match="promt") as caught:
        fit({"title": "x", "about": 7, "modell": 1, "steps": [{"promt": 5}]}, lambda place: lines[place])
    assert [one.place for one in caught.value.each()] == [("steps", 0, "promt"), ("modell",), ("about",)]


def test_every_fault_is_told_once_wherever_it_stands() -> None:
    """This used to tell the first."""
    with pytest.raises(Misfit) as caught:
        fitted(
            titel="x",
            model={"id": 5},
            session={"entries": [{"type": "mesage"}, {"type": "label"}, {"type": "session_info", "nam": "x"}]},
            answers={"turn": [{"txt": "a"}, {"wait": -1, "usage": 5}]},
            steps=[{"prompt": 7, "outcom": 1}, {"promt": 1, "expct": 2}, {"pass": "1", "expect": {"events": [5, "x"]}}],
            expect={"events": ["agent_strat", {"type": "agent_end", "wilRetry": 1, "mesages": 1}], "state": "busy"},
        )

    places = [one.place for one in caught.value.each()]
    assert len(places) == len(set(places))
    assert set(places) == {
        ("titel",),
        ("model", "id"),
        ("session", "entries", 0, "type"),
        ("session", "entries", 1),
        ("session", "entries", 2, "nam"),
        ("answers", "turn", 0, "txt"),
        ("answers", "turn", 1, "wait"),
        ("answers", "turn", 1, "usage"),
        ("steps", 0, "prompt"),
        ("steps", 0, "outcom"),
        ("steps", 1, "promt"),
        ("steps", 1, "expct"),
        ("steps", 2, "pass"),
        ("steps", 2, "expect", "events", 0),
        ("steps", 2, "expect", "events", 1, "type"),
        ("expect", "events", 0, "type"),
        ("expect", "events", 1, "wilRetry"),
        ("expect", "events", 1, "mesages"),
        ("expect", "state"),
    }


@pytest.mark.parametrize(
    "keys",
    [
        {"expect": {"events": [{"type": "message_end", "mesage": 1}] * 10_000}},
        {"steps": [{f"x{n}": 1 for n in range(10_000)}]},
        {"session": {"entries": [{"type": "mesage"}] * 10_000}},
    ],
    ids=range(3),
)
def test_of_very_many_faults_no_more_are_looked_for_than_are_told(
    keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs a search for its nearest right name."""
    looked: list[str] = []

    def near(word: str, *_: object, **__: object) -> list[str]:
        looked.append(word)
        return []

    monkeypatch.setattr("sapwood.words.hints.get_close_matches", near)
    with pytest.raises(Misfit) as caught:
        fitted(**keys)

    assert len(looked) == ENOUGH
    assert len(list(caught.value.each())) == ENOUGH


def test_what_is_not_written_has_its_default() -> None:
    story = fitted()

    assert story == Story(title="x", steps=())
    assert (story.session, story.store, story.about) == (None, None, "")
    assert story.model == Model(provider="scripted", id="talker")
    assert story.answers == Answers()
    assert fitted(session=None).session is None


def test_everything_that_can_be_written_is_read() -> None:
    story = fitted(
        about="why",
        store="jsonl",
        model={"id": "big", "contextWindow": 5},
        answers={
            "turn": [{"text": "a", "usage": {"input": 3}, "wait": 2}, {"error": "overloaded"}],
            "compaction": [{}],
            "turn_prefix": [],
            "branch_summary": [],
        },
        steps=[
            {"prompt": "p", "outcome": "refused", "expect": {"state": "run"}},
            {"events": [{"type": "agent_settled", "aborted": True}], "expect": {"usage": "?/1"}},
            {"pass": 3},
        ],
        session={"file": "s.jsonl"},
    )

    assert (story.about, story.store) == ("why", "jsonl")
    assert story.session == FromFile(file="s.jsonl")
    assert story.model == Model(provider="scripted", id="big", context_window=5)
    assert story.answers.turn == (
        Answer(text="a", usage=Usage(input=3, output=0, cache_read=0, cache_write=0), wait=2.0),
        Answer(error="overloaded"),
    )
    assert story.answers.compaction == (Answer(),)
    assert story.steps == (
        Prompt(prompt="p", outcome="refused", expect=Expect(state="run")),
        Feed(events=(AgentSettled(aborted=True),), expect=Expect(usage="?/1")),
        Pass(pass_=3.0),
    )


def test_a_pattern_is_a_name_a_gap_or_a_mapping() -> None:
    expect = fitted(
        expect={
            "events": ["agent_start", "...", {"type": "tool_...", "toolName": "x"}, {"turnIndex": 1}],
            "entries": ["label"],
            "projection": [{"text": "a"}, "user"],
        }
    ).expect

    assert expect.events == (
        Pattern({"type": "agent_start"}),
        Pattern("..."),
        Pattern({"type": "tool_...", "toolName": "x"}),
        Pattern({"turnIndex": 1}),
    )
    assert expect.entries == (Pattern({"type": "label"}),)
    assert expect.projection == (Pattern({"text": "a"}), Pattern({"role": "user"}))
    assert fitted(expect={"events": None}).expect.events is None


def test_messages_that_do_not_name_a_model_are_of_the_storys() -> None:
    said = {"role": "assistant", "content": "hi"}
    story = fitted(
        model={"provider": "p", "id": "m"},
        session={"entries": [{"type": "message", "message": said}]},
        steps=[{"events": [{"type": "message_start", "message": said}]}],
    )

    assert isinstance(story.session, FromEntries)
    assert isinstance(story.steps[0], Feed)
    entry, event = story.session.entries[0], story.steps[0].events[0]
    assert isinstance(entry, MessageEntry)
    assert isinstance(event, MessageStart)
    for message in (entry.message, event.message):
        assert isinstance(message, AssistantMessage)
        assert (message.provider, message.model) == ("p", "m")
