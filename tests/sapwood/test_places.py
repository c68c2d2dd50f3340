"""Where sessions stand on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sapwood import Refused, pi_sessions_folder, sessions_folder


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


def test_embedding_looks_nothing_up() -> None:
    """E3: without a question for a place, the environment is not read."""
    probe = "import sapwood, sys; sapwood.Runtime; sapwood.sessions_folder; print('platformdirs' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "False\n"
