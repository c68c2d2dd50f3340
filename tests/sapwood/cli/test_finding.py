"""A session by its path or by its id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli import following
from sapwood.cli.finding import SHORTEST, path_of
from sapwood.cli.main import sapwood
from sapwood.cli.trouble import NO_SESSION, Trouble
from sapwood.events.errors import NotASession
from sapwood.following import Following

ASH, OAK = "019aa000-1111-7000-8000-000000000001", "019aa000-2222-7000-8000-000000000002"
PIS = "019bb000-3333-7000-8000-000000000003"


def put(folder: Path, session_id: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"2026-01-01T00-00-00-000Z_{session_id}.jsonl"
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
    path.write_text(json.dumps(header) + "\n", encoding="utf-8")
    return path


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A home with two sessions of ours and one of Pi's."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "pi"))
    monkeypatch.chdir(tmp_path)
    ours = tmp_path / "data" / "sapwood" / "sessions"
    return {
        ASH: put(ours / "----", ASH),
        OAK: put(ours / "--x--", OAK),
        PIS: put(tmp_path / "pi" / "sessions" / "--x--", PIS),
    }


def test_an_id_or_its_beginning_is_the_session_that_has_it(home: dict[str, Path]) -> None:
    assert path_of(ASH) == str(home[ASH])
    assert path_of("019aa000-2") == str(home[OAK])
    assert path_of("019bb0") == str(home[PIS])


def test_an_id_of_several_is_told_with_whose_it_may_be(home: dict[str, Path]) -> None:
    with pytest.raises(Trouble) as caught:
        path_of("019aa000")

    assert all(str(home[one]) in str(caught.value) for one in (ASH, OAK))
    assert "give more of its id" in str(caught.value)


@pytest.mark.parametrize("named", ["019aa", "./019aa000-1111", "019aa000-1111.jsonl", "", "nothing-has-it", "a/b"])
def test_what_is_a_path_or_nobodys_id_stays_what_it_is(named: str, home: dict[str, Path]) -> None:
    assert path_of(named) == named
    assert len("019aa") < SHORTEST


def test_a_file_that_is_there_comes_before_an_id(home: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "019bb0").write_bytes(b"")

    assert path_of("019bb0") == "019bb0"


@pytest.mark.parametrize("args", [["tree"], ["show"], ["check"], ["stats"], ["check", "--json"]])
def test_commands_that_look_into_sessions_take_ids(args: list[str], home: dict[str, Path]) -> None:
    result = CliRunner().invoke(sapwood, [*args, OAK], standalone_mode=False)

    assert (result.exception, result.return_value or 0) == (None, 0)


def test_one_is_followed_by_its_id(home: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    followed = list[str]()

    def follow(path: str, **_: object) -> Following:
        followed.append(path)
        raise NotASession(path)

    monkeypatch.setattr(following, "follow", follow)

    assert CliRunner().invoke(sapwood, ["follow", OAK]).exit_code == NO_SESSION
    assert followed == [str(home[OAK])]


@pytest.mark.parametrize("args", [["tree"], ["show"], ["check"], ["stats"], ["fork"], ["follow"]])
def test_an_id_that_nobody_has_is_told_with_where_it_was_looked_for(
    args: list[str], home: dict[str, Path], tmp_path: Path
) -> None:
    result = CliRunner().invoke(sapwood, [*args, "019cc000"])

    ours, pis = tmp_path / "data" / "sapwood" / "sessions", tmp_path / "pi" / "sessions"
    assert f"no session in {ours} or {pis} has an id that begins so: give its path (sapwood ls FOLDER)" in result.stderr


def test_a_fork_of_an_id_that_has_no_entries_says_so(home: dict[str, Path]) -> None:
    result = CliRunner().invoke(sapwood, ["fork", ASH])

    assert result.exit_code == 2
    assert "has not been saved yet" in result.output
