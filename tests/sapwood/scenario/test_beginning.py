"""Where a scenario's session begins."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import attrs
import pytest

from sapwood.actors.environment import Environment
from sapwood.events.entries import Custom
from sapwood.events.ids import EntryId
from sapwood.scenario import ScenarioError, load, play
from sapwood.scenario.beginning import begin
from sapwood.scenario.language import FromEntries
from sapwood.store.memory import MemoryStore
from tests.sapwood.scenario.stories import TALK, written

DATA = Path(__file__).parents[2] / "data"

INLINE = """\
session:
  entries:
    - {type: message, message: {role: user, content: First}}
    - {type: message, message: {role: assistant, content: Second}}
expect:
  entries: [{parentId: e2}, message]
  projection: [{text: First}, {text: Second}, {text: "How are you?"}, {text: "Fine, thanks."}]
"""


def test_a_file_that_is_no_session_is_a_wrong_scenario(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("hello\n", encoding="utf-8")

    with pytest.raises(ScenarioError, match=r"story.yaml:6: .*not a session") as caught:
        play(written(tmp_path, TALK + "session: {file: s.jsonl}\n"))

    assert str(tmp_path / "s.jsonl") in str(caught.value), "it names the file, not the copy"
    assert "sapwood-scenario-" not in str(caught.value)


def test_a_session_that_vanished_is_a_wrong_scenario(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    scenario = load(written(tmp_path, TALK + "session: {file: s.jsonl}\n"))
    (tmp_path / "s.jsonl").unlink()

    with pytest.raises(ScenarioError, match="No such file"):
        play(scenario)


@pytest.mark.parametrize("data", [float("inf"), "\ud800"])
def test_entries_that_no_file_can_hold_are_a_wrong_scenario(data: object, tmp_path: Path) -> None:
    entry = Custom(id=EntryId("e1"), parent_id=None, timestamp="", custom_type="x", data=data)
    scenario = load(written(tmp_path, TALK + "session: {entries: []}\n"))
    story = attrs.evolve(scenario.story, session=FromEntries(entries=(entry,)))

    with pytest.raises(ScenarioError, match=r"story.yaml:6: custom cannot be written as JSON"):
        play(attrs.evolve(scenario, story=story))


@pytest.mark.parametrize("store", ["", "store: memory\n", "store: jsonl\n"])
@pytest.mark.parametrize("name", ["v1.jsonl", "v2.jsonl", "pi-all-kinds.jsonl"])
def test_a_session_from_a_file_is_played_on_a_copy(name: str, store: str, tmp_path: Path) -> None:
    original = tmp_path / "s.jsonl"
    shutil.copyfile(DATA / name, original)
    os.utime(original, (1000, 1000))
    before = original.read_bytes()

    played = play(written(tmp_path, TALK + store + "session: {file: s.jsonl}\nexpect: {state: idle}\n"))

    assert played.differences == ()
    assert {entry.timestamp for entry in played.entries} == {"2026-01-01T00:00:00.000Z"}
    assert len(played.entries) == (3 if name == "v1.jsonl" and "memory" not in store else 2)
    assert original.read_bytes() == before
    assert original.stat().st_mtime == 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.jsonl", "story.yaml"]


@pytest.mark.parametrize("store", ["", "store: memory\n", "store: jsonl\n"])
def test_a_session_may_begin_with_entries_in_any_store(store: str, tmp_path: Path) -> None:
    assert play(written(tmp_path, TALK + store + INLINE)).differences == ()


@pytest.mark.parametrize("store", ["", "store: memory\n", "store: jsonl\n"])
def test_a_new_session_is_the_same_in_any_store(store: str, tmp_path: Path) -> None:
    played, plainly = play(written(tmp_path, TALK + store)), play(written(tmp_path, TALK))

    assert played.entries == plainly.entries
    assert played.events == plainly.events


@pytest.mark.parametrize("session", ["", "session: {entries: []}\n", "session: {file: s.jsonl}\n"])
@pytest.mark.parametrize("store", ["memory", "jsonl"])
async def test_the_session_is_where_the_story_says(store: str, session: str, tmp_path: Path) -> None:
    shutil.copyfile(DATA / "v2.jsonl", tmp_path / "s.jsonl")
    folder = tmp_path / "played"
    folder.mkdir()
    scenario = load(written(tmp_path, TALK + f"store: {store}\n" + session))

    where = begin(scenario, Environment.scripted(), folder)

    if store == "memory":
        assert isinstance(where, MemoryStore)
        assert bool(len(where.tree)) == ("file" in session)
    else:
        assert isinstance(where, Path)
        assert where.parent == folder


COUNTER = """\
import sapwood
from sapwood.events.hooks import Block, ToolCallQuestion

extension = sapwood.Extension("counter")
calls: list[str] = []


@extension.on(ToolCallQuestion)
def block(question: ToolCallQuestion, context: object) -> Block:
    calls.append(question.tool_name)
    return Block(reason=f"call {len(calls)}")
"""
COUNTED = """\
title: It is counted
extensions: [counter.py]
tools: {look: {}}
answers: {turn: [{calls: [{name: look}]}, {text: Done.}]}
steps: [{prompt: Look.}]
expect: {projection: [..., {role: toolResult, text: call 1}, {text: Done.}]}
"""


def test_extensions_of_a_story_are_loaded_anew_for_each_playing(tmp_path: Path) -> None:
    (tmp_path / "counter.py").write_text(COUNTER, encoding="utf-8")
    path = written(tmp_path, COUNTED)

    assert [play(path).differences for _ in range(2)] == [(), ()]


def test_an_extension_that_cannot_be_loaded_is_a_wrong_scenario(tmp_path: Path) -> None:
    path = written(tmp_path, COUNTED)

    with pytest.raises(ScenarioError, match=r"story.yaml:2: extensions.1: counter.py cannot be loaded: no such file"):
        play(path)
