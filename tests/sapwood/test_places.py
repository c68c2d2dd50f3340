"""Where sessions stand on this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood import Refused, Runtime, Scripted, ScriptedAnswer, new_place, pi_sessions_folder, sessions_folder
from tests.build import MODEL


def test_sessions_stand_in_the_platforms_data_folder_under_pis_name_for_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")

    assert sessions_folder() == str(tmp_path / "sapwood" / "sessions")
    assert sessions_folder("/home/dev/x") == str(tmp_path / "sapwood" / "sessions" / "--home-dev-x--")
    assert list(tmp_path.iterdir()) == []


def test_a_relative_working_folder_is_taken_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert sessions_folder(".") == sessions_folder(tmp_path)
    with pytest.raises(Refused, match="a working folder"):
        sessions_folder(7)  # type: ignore[arg-type]  # what it refuses


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({}, "~/.pi/agent/sessions"),
        ({"PI_CODING_AGENT_DIR": "/x"}, "/x/sessions"),
        ({"PI_CODING_AGENT_DIR": "~/y"}, "~/y/sessions"),
        ({"PI_CODING_AGENT_DIR": ""}, "~/.pi/agent/sessions"),
        ({"PI_CODING_AGENT_DIR": "/x", "PI_CODING_AGENT_SESSION_DIR": "/z"}, "/z"),
    ],
)
def test_pis_sessions_stand_where_pi_says(environ: dict[str, str], folder: str) -> None:
    assert pi_sessions_folder(environ) == str(Path(folder).expanduser())


async def test_a_new_place_is_named_by_pis_rule_and_holds_the_id_of_its_session(tmp_path: Path) -> None:
    """S14: a session that is begun there is found there, under the id that its name says."""
    place = new_place("/home/dev/x", folder=tmp_path / "deep")

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[0-9a-f-]{36}\.jsonl", Path(place.path).name)
    assert list(tmp_path.iterdir()) == []

    async with (
        Runtime(providers=[Scripted({"turn": [ScriptedAnswer(text="yes")]})]) as runtime,
        runtime.open_session(place.path, model=MODEL, session_id=place.session_id, cwd="/home/dev/x") as session,
    ):
        await session.prompt("hello")
        assert [one.id async for one in runtime.sessions(tmp_path)] == [place.session_id]
    assert Path(place.path).name.endswith(f"_{place.session_id}.jsonl")


def test_without_a_folder_it_stands_in_the_projects_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert Path(new_place("/home/dev/x").path).parent == tmp_path / "sapwood" / "sessions" / "--home-dev-x--"
    with pytest.raises(Refused, match="absolute"):
        new_place("x")


def test_embedding_looks_nothing_up() -> None:
    """E3: without a question for a place, the environment is not read."""
    probe = "import sapwood, sys; sapwood.Runtime; sapwood.sessions_folder; print('platformdirs' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "False\n"
