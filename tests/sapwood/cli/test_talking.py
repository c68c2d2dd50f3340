"""A session that is talked to: opened as was asked, and what it refuses in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.talking import Talk, Wanted, talk, told
from sapwood.cli.trouble import NoSession, Trouble
from sapwood.events.errors import NotASession, Refused


def wanted(*, keep: bool = False, **more: str | None) -> Wanted:
    given = {"session": None, "tools": None, "base_url": "http://127.0.0.1:1/v1", "key_env": None, **more}
    return Wanted(model="here/small", window=32_000, as_json=False, keep=keep, extensions=(), **given)


@pytest.mark.parametrize(("tools", "names"), [(None, []), ("builtin", ["bash", "edit", "read", "write"])])
def test_a_session_is_opened_as_was_asked(tools: str | None, names: list[str], tmp_path: Path) -> None:
    seen: list[object] = []

    async def work(one: Talk) -> int:
        seen.extend([one.session.model.key, one.session.path, sorted(one.session._wiring.chosen.known)])
        return 7

    path = str(tmp_path / "s.jsonl")
    assert talk(wanted(session=path, tools=tools), work) == 7
    assert seen == ["here/small", path, names]


def test_one_that_is_kept_stands_where_it_is_found_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "pi"))
    monkeypatch.chdir(tmp_path)
    seen: list[tuple[str, str]] = []

    async def work(one: Talk) -> int:
        await one.session.append_custom("note")
        seen.append((one.session.header.id, one.session.path))
        return 0

    talk(wanted(keep=True), work)
    talk(wanted(session=seen[0][0]), work)
    talk(wanted(session=seen[0][0][:20]), work)

    assert len(set(seen)) == 1
    assert Path(seen[0][1]).is_relative_to(tmp_path / "sapwood" / "sessions")


def test_a_session_has_one_place(tmp_path: Path) -> None:
    async def work(one: Talk) -> int:
        return 0

    with pytest.raises(Trouble, match="give one of the two"):
        talk(wanted(keep=True, session=str(tmp_path / "s.jsonl")), work)


def test_what_the_session_refuses_is_trouble(tmp_path: Path) -> None:
    async def work(one: Talk) -> int:
        await one.prompt("")
        return 0

    with pytest.raises(Trouble) as caught:
        talk(wanted(), work)
    assert caught.value.exit_code == 2


def test_an_interrupt_outside_of_an_answer_ends_it() -> None:
    async def work(one: Talk) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        talk(wanted(), work)


def test_no_session_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("notes")

    async def work(one: Talk) -> int:
        return 0

    with pytest.raises(NoSession) as caught:
        talk(wanted(session=str(path)), work)
    assert caught.value.exit_code == 4
    assert isinstance(caught.value.__cause__, NotASession)
    assert type(told(Refused("bad-input", "why"), None)) is Trouble
