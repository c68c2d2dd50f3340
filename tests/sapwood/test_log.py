"""One logger: bound, and silent until the host configures it."""

from __future__ import annotations

import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager

import pytest
import structlog
import trio
from trio.testing import MockClock

from sapwood import Request, Runtime, ScriptedAnswer
from sapwood.actors.model.providers.base import Piece
from sapwood.log import Log
from tests.build import MODEL, call
from tests.talking import talking


@pytest.fixture(name="lines")
def _lines() -> Generator[list[structlog.typing.EventDict]]:
    captured = structlog.testing.LogCapture()
    structlog.configure(processors=[captured])
    yield captured.entries
    structlog.reset_defaults()


def test_it_is_silent_until_the_host_configures_it(capsys: pytest.CaptureFixture[str]) -> None:
    Log().say("error", "nobody hears this")

    assert capsys.readouterr() == ("", "")


def test_a_line_bears_what_is_bound(lines: list[structlog.typing.EventDict]) -> None:
    Log().bind(session="s1").bind(actor="agent").say("info", "hello", seq=3)

    assert lines == [{"session": "s1", "actor": "agent", "seq": 3, "event": "hello", "log_level": "info"}]


class Broken:
    """A provider with a fault."""

    id = MODEL.provider

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        if request.messages:
            raise KeyError("oops")
        yield _no_pieces()


async def _no_pieces() -> AsyncGenerator[Piece]:
    return
    yield


async def test_a_fault_in_a_hosts_provider_is_logged_with_its_traceback(
    lines: list[structlog.typing.EventDict],
) -> None:
    """This used to leave no traceback anywhere."""
    async with Runtime(providers=[Broken()]).open_session(None, model=MODEL) as session:
        await session.prompt("hi")
        session_id = session.header.id

    [line] = [line for line in lines if line["log_level"] == "error"]
    fault = line.pop("exc_info")
    assert line == {
        "session": session_id,
        "event": "provider_failed",
        "provider": MODEL.provider,
        "log_level": "error",
    }
    assert "in stream" in "".join(traceback.format_exception(fault))


async def test_a_session_logs_its_events_with_their_numbers_and_without_the_pieces_of_answers(
    lines: list[structlog.typing.EventDict],
) -> None:
    async with talking("Hello there") as session:
        await session.prompt("hi")
        session_id = session.header.id

    assert {line["session"] for line in lines} == {session_id}
    assert [line["event"] for line in lines][:2] == ["agent_start", "turn_start"]
    assert "message_update" not in {line["event"] for line in lines}
    assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)


async def test_who_keeps_a_session_from_being_left_is_named(
    lines: list[structlog.typing.EventDict], autojump_clock: MockClock
) -> None:
    """Nothing used to say why the block was not left."""

    async def deaf() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(60)

    async with talking(ScriptedAnswer(calls=(call("c1", "deaf"),)), tools=[deaf]) as session:
        session.submit("go")
        await trio.sleep(1)

    [line] = [line for line in lines if line["event"] == "still_running"]
    assert (line["log_level"], line["session"]) == ("error", session.header.id)
    assert line["operations"] == ("tools/tool deaf c1",)
