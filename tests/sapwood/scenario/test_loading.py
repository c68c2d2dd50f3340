"""From a file to a scenario, or to one clear sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.scenario import ScenarioError, load
from sapwood.scenario.language import FromFile, Pass, Prompt
from sapwood.scenario.loading import MOST_BYTES, find, session_path
from tests.sapwood.scenario.stories import TALK, written


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nowhere.yaml: cannot be read: no such file") as missing:
        load(tmp_path / "nowhere.yaml")
    with pytest.raises(ScenarioError, match="is a folder, not a file") as folder:
        load(tmp_path)

    assert (missing.value.line, folder.value.line) == (None, None)


def test_a_pipe_and_a_device_are_refused_at_once(tmp_path: Path) -> None:
    """A pipe that nobody wrote to used to be waited for."""
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ScenarioError, match="cannot be read: it is no regular file"):
            load(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x" * 300, "file name too long"),
        ("", "the name is empty"),
        ("a\0b", "no file can have this name"),
        ("link", "link to gone"),
    ],
)
def test_a_name_that_names_no_file_is_told(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("gone")

    with pytest.raises(ScenarioError, match=f"cannot be read: .*{words}"):
        load(name)
    with pytest.raises(ScenarioError, match=f"cannot be read: .*{words}"):
        load(find(name)[0])


HEADER = '{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}'


@pytest.mark.parametrize(
    "text",
    [
        HEADER,
        HEADER + '\n{"type":"label","id":"b","parentId":null}\n',
        '{"type":"message","id":"b","parentId":"a"}\n{"type":"mess',
        HEADER + "\n" + " " * MOST_BYTES,
    ],
    ids=["a header", "entries", "a lost header", "a long one"],
)
def test_a_session_is_told_from_a_story_that_is_wrong(text: str, tmp_path: Path) -> None:
    """It used to be no YAML, or a mapping with strange keys."""
    with pytest.raises(ScenarioError, match="is a session, and no story: sapwood show FILE shows it") as caught:
        load(written(tmp_path, text, "talk.jsonl"))

    assert (caught.value.line, caught.value.others) == (None, ())


@pytest.mark.parametrize("text", ['{"type": "sessions"}', '{"title": 1}', "[1]", '{"type": "session"'])
def test_what_only_looks_like_a_session_is_a_story_with_mistakes(text: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r":1: "):
        load(written(tmp_path, text))


def test_a_file_that_is_far_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "story.yaml"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)

    with pytest.raises(ScenarioError, match="longer than 16 MiB"):
        load(path)


def test_bytes_that_are_no_utf_8_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "story.yaml"
    path.write_bytes(b"title: x\nabout: \xff\n")

    with pytest.raises(ScenarioError, match=r"story.yaml:2: this is not UTF-8") as caught:
        load(path)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("title: x\nsteps: [\n", 3, "not YAML"),
        ("title: x\nsesion: 5\nsteps: []\n", 2, "sesion: unknown key 'sesion': did you mean 'session'?"),
        (
            "title: x\nsteps:\n  - pass: 1\n  - promt: hi\n",
            4,
            "steps.2.promt: unknown key 'promt': did you mean 'prompt'?",
        ),
        ("title: x\n", 1, "the key 'steps' is missing"),
        (
            "title: x\nsteps: []\nsession: {file: gone.jsonl}\n",
            3,
            "there is no session file 'gone.jsonl': no such file",
        ),
        (f"title: x\nsteps: []\nsession: {{file: {'y' * 300}}}\n", 3, "file name too long"),
        ('title: x\nsteps: []\nsession: {file: "a\\0b"}\n', 3, "no file can have this name"),
        ("title: x\nsteps: []\nsession: {file: .}\n", 3, "is a folder"),
        ("title: x\nstepz: []\n", 2, "stepz: unknown key 'stepz': did you mean 'steps'?"),
        (f"title: x\nsteps: []\n{'k' * 120}: 1\n", 3, "kkk…kkk"),
        ('title: x\nsteps: []\n"a\\nb\\e": 1\n', 3, "a�b�: unknown key"),
    ],
)
def test_a_wrong_scenario_is_one_sentence_with_file_and_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)

    with pytest.raises(ScenarioError) as caught:
        load(path)

    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_scenario_is_its_story_its_file_and_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff" + TALK + "  - pass: 3\n")

    scenario = load(str(path))

    assert (scenario.path, scenario.story.title) == (path, "A talk")
    assert scenario.story.steps == (Prompt(prompt="How are you?"), Pass(pass_=3.0))
    assert scenario.line_of(("steps", 1)) == 6


def test_a_session_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    scenario = load(written(tmp_path, TALK + "session: {file: s.jsonl}\n"))

    assert session_path(scenario, FromFile(file="s.jsonl")) == tmp_path / "s.jsonl"


def test_a_folder_stands_for_the_scenarios_in_it(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "odd.yaml").mkdir()
    for name in ("b.yaml", "a.yml", "in/c.yaml", "notes.txt"):
        written(tmp_path, TALK, name)

    assert [path.name for path in find(tmp_path)] == ["a.yml", "b.yaml", "c.yaml"]
    assert find(tmp_path / "notes.txt") == [tmp_path / "notes.txt"]
    with pytest.raises(ScenarioError, match="no scenario in this folder"):
        find(tmp_path / "odd.yaml")
