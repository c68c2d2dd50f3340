"""The oracle answers for the real Pi: each question that other tests lean on, asked once."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tests.pi.install import PI_VERSION, PiUnavailable
from tests.pi.make_all_kinds import RETURN, SIDE, TRUNK
from tests.pi.make_expected import DATA, SESSIONS, expected, written
from tests.pi.oracle import Answer, Oracle, OracleDied, OracleRefused

pytestmark = pytest.mark.interop

ASK: dict[str, object] = {
    "what": "message",
    "as": "ask",
    "message": {"role": "user", "content": "How many wrens?", "timestamp": 1_772_352_000_000},
}


@pytest.fixture(scope="module")
def pi() -> Generator[Oracle]:
    try:
        with Oracle() as oracle:
            yield oracle
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


def created(pi: Oracle, folder: Path, *appends: dict[str, object]) -> Answer:
    return pi.ask({"op": "create", "dir": str(folder), "cwd": "/home/dev/ringing", "appends": list(appends)})


def test_it_is_the_pi_that_we_mean(pi: Oracle) -> None:
    answer = pi.ask({"op": "version"})
    assert (answer["pi"], answer["sessionVersion"]) == (PI_VERSION, 3)


@pytest.mark.parametrize("name", SESSIONS)
def test_the_kept_expectations_are_what_pi_says(pi: Oracle, name: str) -> None:
    kept = (DATA / f"{name}.expected.json").read_text(encoding="utf-8")
    assert written(expected(pi, DATA / f"{name}.jsonl")) == kept


@pytest.mark.parametrize("name", SESSIONS)
def test_an_open_leaves_the_file_alone(pi: Oracle, name: str, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes((DATA / f"{name}.jsonl").read_bytes())
    before = file.stat()
    pi.ask({"op": "open", "path": str(file)})
    assert file.read_bytes() == (DATA / f"{name}.jsonl").read_bytes()
    assert file.stat().st_mtime_ns == before.st_mtime_ns


def test_an_open_in_place_migrates_an_old_file(pi: Oracle, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes((DATA / "v2.jsonl").read_bytes())
    assert pi.ask({"op": "open", "path": str(file), "inPlace": True})["changed"] is True
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["version"] == 3


def test_every_kind_of_append_reaches_the_file(pi: Oracle, tmp_path: Path) -> None:
    made = created(pi, tmp_path, *TRUNK, *SIDE, *RETURN)
    lines = [json.loads(line) for line in Path(str(made["file"])).read_text(encoding="utf-8").splitlines()]
    assert {line["type"] for line in lines} == {
        "session",
        "message",
        "model_change",
        "thinking_level_change",
        "usage",
        "compaction",
        "context_edit",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
    }
    ids = cast("list[str | None]", made["ids"])
    assert [line["id"] for line in lines[1:]] == [ident for ident in ids if ident is not None]
    assert made["leaf"] == lines[-1]["id"]


def test_an_append_to_a_file_goes_on_from_its_last_entry(pi: Oracle, tmp_path: Path) -> None:
    made = created(pi, tmp_path, ASK)
    more = pi.ask(
        {
            "op": "append",
            "path": made["file"],
            "appends": [
                {"what": "label", "target": made["leaf"], "label": "start"},
                {"what": "branch", "to": made["leaf"]},
                {"what": "custom", "customType": "x"},
            ],
        }
    )
    seen = pi.ask({"op": "open", "path": made["file"]})
    assert seen["leaf"] == more["leaf"]
    assert seen["path"] == [made["leaf"], more["leaf"]]
    assert seen["labels"] == {str(made["leaf"]): "start"}


def test_the_context_names_its_sources(pi: Oracle, tmp_path: Path) -> None:
    made = created(
        pi, tmp_path, ASK, {"what": "compaction", "summary": "Wrens.", "firstKept": "$ask", "tokensBefore": 9}
    )
    names = cast("dict[str, str]", made["names"])
    context = cast("list[dict[str, object]]", pi.ask({"op": "open", "path": made["file"]})["context"])
    assert [spoken["source"] for spoken in context] == [made["leaf"], names["ask"]]


def test_a_leaf_before_everything_sees_nothing(pi: Oracle, tmp_path: Path) -> None:
    made = created(pi, tmp_path, ASK)
    seen = pi.ask({"op": "open", "path": made["file"], "at": None})
    assert (seen["leaf"], seen["path"], seen["context"]) == (None, [], [])


def test_pi_keeps_a_session_in_memory_until_someone_speaks(pi: Oracle, tmp_path: Path) -> None:
    assert created(pi, tmp_path, {"what": "custom", "customType": "x"})["written"] is False


def test_a_copy_of_a_path_and_a_copy_of_a_file(pi: Oracle, tmp_path: Path) -> None:
    made = created(pi, tmp_path, ASK, {"what": "custom", "customType": "x"})
    names = cast("dict[str, str]", made["names"])
    branched = pi.ask({"op": "branched", "path": made["file"], "leaf": names["ask"]})
    assert pi.ask({"op": "open", "path": branched["file"]})["path"] == [names["ask"]]
    forked = pi.ask({"op": "fork", "path": made["file"], "dir": str(tmp_path / "forks"), "cwd": "/home/dev/other"})
    assert forked["leaf"] == made["leaf"]


def test_a_list_has_what_was_made(pi: Oracle, tmp_path: Path) -> None:
    made = created(pi, tmp_path, ASK)
    listed = pi.ask({"op": "list", "dir": str(tmp_path), "cwd": "/home/dev/ringing"})
    sessions = cast("list[dict[str, object]]", listed["sessions"])
    assert [(one["id"], one["firstMessage"]) for one in sessions] == [(made["sessionId"], "How many wrens?")]


def test_an_error_is_an_answer_to_its_own_question_only(pi: Oracle, tmp_path: Path) -> None:
    missing = str(tmp_path / "none.jsonl")
    answers = pi.ask_many([{"op": "fly"}, {"op": "open", "path": missing}, {"op": "version"}])
    assert [answer.get("error") for answer in answers] == ["No such op: fly", f"No such file: {missing}", None]


def test_a_refused_append_says_how_far_it_came(pi: Oracle, tmp_path: Path) -> None:
    with pytest.raises(OracleRefused, match="Entry nowhere not found") as refused:
        created(pi, tmp_path, ASK, {"what": "label", "target": "nowhere", "label": "x"})
    assert refused.value.answer["failedAt"] == 1


def test_a_cycle_is_refused_and_not_walked(pi: Oracle, tmp_path: Path) -> None:
    file = tmp_path / "cycle.jsonl"
    head = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T08:00:00.000Z", "cwd": "/"}
    one = {"type": "custom", "customType": "x", "id": "1", "parentId": "2", "timestamp": "2026-03-01T08:00:01.000Z"}
    lines = [head, one, one | {"id": "2", "parentId": "1"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(OracleRefused, match="Cycle"):
        pi.ask({"op": "open", "path": str(file)})


def test_half_a_surrogate_pair_gets_through(pi: Oracle, tmp_path: Path) -> None:
    half = "a wren \ud83d"
    made = created(pi, tmp_path, {"what": "message", "message": {"role": "user", "content": half, "timestamp": 1}})
    context = cast("list[dict[str, dict[str, object]]]", pi.ask({"op": "open", "path": made["file"]})["context"])
    assert context[0]["message"]["content"] == half


@pytest.mark.slow
def test_a_process_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = tmp_path / "deaf.mjs"
    deaf.write_text("console.error('I hear nothing'); setInterval(() => {}, 1000);\n", encoding="utf-8")
    monkeypatch.setattr("tests.pi.oracle.SCRIPT", deaf)
    try:
        with Oracle(patience=0.5) as oracle, pytest.raises(OracleDied, match="I hear nothing"):
            oracle.ask({"op": "version"})
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


def test_without_npm_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tests.pi.install._cache", lambda: tmp_path / "cache")
    with pytest.raises(PiUnavailable, match="npm is not on PATH"), Oracle():
        pass


def test_a_failed_install_is_not_tried_again_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\necho called >> {tmp_path}/calls\necho npm error code ENOTFOUND >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr("tests.pi.install._cache", lambda: tmp_path / "cache")
    for _ in range(2):
        with pytest.raises(PiUnavailable, match="ENOTFOUND"), Oracle():
            pass
    assert (tmp_path / "calls").read_text() == "called\n"
    assert not list((tmp_path / "cache").glob("*.tmp"))
