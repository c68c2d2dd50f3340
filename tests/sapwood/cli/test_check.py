"""`sapwood check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import sapwood
from tests.build import message_entry, user
from tests.real import REAL, needs_real
from tests.sapwood.cli.sessions import DATA, LATER, READ_ONLY, session_file


def check(*args: object) -> Result:
    return CliRunner().invoke(sapwood, ["check", *map(str, args)], standalone_mode=False)


def damaged(folder: Path) -> Path:
    """Three entries, the second one cut in the middle."""
    path = session_file(
        folder, message_entry("a", user("one")), message_entry("b", user("two"), "a"), message_entry("c", user(), "b")
    )
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2][:-20]
    path.write_bytes(b"\n".join(lines))
    return path


@pytest.mark.parametrize("name", ["pi-ringing-v3.jsonl", "pi-all-kinds.jsonl", "v1.jsonl", "v2.jsonl"])
def test_a_clean_session_is_clean(name: str) -> None:
    result = check(DATA / name)

    assert result.return_value == 0
    assert f"{DATA / name}: clean, " in result.output


@needs_real
def test_a_real_session_is_clean() -> None:
    assert check(REAL).return_value == 0
    assert check(REAL).output == f"{REAL}: clean, 1,018 entries\n"


def test_damage_is_told_place_by_place_and_nothing_is_changed(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    before, when = path.read_bytes(), path.stat().st_mtime_ns

    result = check(path)

    assert result.return_value == 3
    first, second = result.output.splitlines()
    assert first == f"{path}: damaged, 2 entries"
    assert second.startswith("  line 3, byte ")
    assert second.endswith(
        "a line that is cut in the middle; entry b, parent a; what hung under it hangs under its parent (lost)"
    )
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, when)
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]


def test_of_a_lost_entry_with_nothing_under_it_nothing_is_told_of_what_hung_there(tmp_path: Path) -> None:
    """This used to speak of any entry under it, and there was none; `bridged` was true."""
    path = session_file(tmp_path, message_entry("a", user("one")), message_entry("b", user("two"), "a"))
    path.write_bytes(path.read_bytes()[:-20])

    _, torn = check(path).output.splitlines()

    assert torn.endswith("the last line was not finished; entry b, parent a (lost)")


def test_a_line_that_is_there_twice_loses_nothing(tmp_path: Path) -> None:
    path = session_file(tmp_path, message_entry("a", user("one")))
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])

    _, twice = check(path).output.splitlines()

    assert twice.endswith("an entry that is there already, byte for byte; entry a (mended)")


def test_the_json_has_every_file_and_place(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"hello\n")
    files = [damaged(tmp_path), DATA / "v2.jsonl", tmp_path / "odd", tmp_path / "gone"]

    result = check("--json", *files)

    assert result.return_value == 4
    reports = json.loads(result.output)["files"]
    assert [(report["path"], report["status"]) for report in reports] == [
        (str(files[0]), "damaged"),
        (str(files[1]), "clean"),
        (str(files[2]), "no-session"),
        (str(files[3]), "unreadable"),
    ]
    assert [place["kind"] for place in reports[0]["damage"]] == ["cut_line"]
    assert [report["error"] is None for report in reports] == [True, True, False, False]


def test_a_later_version_can_be_read_only_and_is_clean(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(LATER)

    result = check(path)
    later, old, gone = json.loads(check("--json", path, DATA / "v2.jsonl", tmp_path / "gone").output)["files"]

    assert (result.return_value, result.output) == (0, f"{path}: clean, 0 entries\n  {READ_ONLY}\n")
    assert [(one["version"], one["readOnly"]) for one in (later, old, gone)] == [(9, True), (2, False), (None, None)]


@pytest.mark.parametrize(("content", "code"), [(None, 2), (b"hello\n", 4), (b"", 0)])
def test_what_is_no_session_is_told_apart_from_what_cannot_be_read(
    content: bytes | None, code: int, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    if content is not None:
        path.write_bytes(content)

    assert check(path).return_value == code


def test_the_worst_file_decides(tmp_path: Path) -> None:
    assert check(DATA / "v2.jsonl", damaged(tmp_path)).return_value == 3
    assert check(tmp_path / "gone", DATA / "v2.jsonl").return_value == 2


def test_gaps_are_shown_in_the_tree_and_in_the_context(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    runner = CliRunner()

    tree = runner.invoke(sapwood, ["tree", str(path)]).output
    shown = runner.invoke(sapwood, ["show", str(path)]).output
    gaps = json.loads(runner.invoke(sapwood, ["show", "--json", str(path)]).output)["gaps"]

    assert "(gap: its parent b is lost; bridged to the one above it)" in tree
    assert "gap: the entry b, which stood here, is lost" in shown
    assert "1 gap in the path: b above c (lost)" in shown
    assert "the file is damaged in 1 place, with something lost in 1: see `sapwood check`" in tree
    assert gaps == {"c": "b"}
