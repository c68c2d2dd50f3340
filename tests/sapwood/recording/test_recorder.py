"""What is written down, and where."""

from __future__ import annotations

import json
import threading
import time
from itertools import count
from pathlib import Path

import pytest
import trio

import sapwood
from sapwood import Scripted, ScriptedAnswer
from sapwood.actors.environment import Environment
from sapwood.events.base import Json
from sapwood.events.content import ToolCall
from sapwood.events.ids import ToolCallId
from sapwood.recording.line import CLOCK, as_it_is
from sapwood.recording.recorder import PATIENCE, Recorder
from sapwood.recording.replaying import replay_recording
from sapwood.store.disk import RealDisk
from tests.build import MODEL
from tests.sapwood.recording.recorded import recorded
from tests.sapwood.scenario.stories import TALK


def test_a_recording_is_its_owners_alone_and_tells_its_session(tmp_path: Path) -> None:
    path = recorded(tmp_path)

    assert path.stat().st_mode & 0o777 == 0o600
    lines = path.read_text().splitlines()
    assert lines[0].startswith('{"sapwood":"recording","version":1,')
    assert lines[-1].startswith('{"kind":"end"')
    assert sum('"kind":"entry"' in line for line in lines) == 2


async def test_a_file_that_is_there_is_not_overwritten_and_the_session_can_be_opened_again(tmp_path: Path) -> None:
    path, where = tmp_path / "there", tmp_path / "s.jsonl"
    path.write_text("mine")

    with pytest.raises(sapwood.CannotWrite):
        async with sapwood.open_session(where, model=MODEL, providers=[Scripted()], record=path):
            raise AssertionError("it is not opened")

    assert path.read_text() == "mine"
    async with sapwood.open_session(where, model=MODEL, providers=[Scripted()]):
        pass


async def test_a_full_disk_ends_the_recording_and_not_the_session(tmp_path: Path) -> None:
    class Full(RealDisk):
        left = 2000

        def write(self, descriptor: int, data: bytes) -> int:
            self.left -= len(data)
            if self.left < 0:
                raise OSError(28, "No space left on device")
            return super().write(descriptor, data)

    path = tmp_path / "r"
    async with sapwood.open_session(
        model=MODEL,
        providers=[Scripted({"turn": [ScriptedAnswer(text="Fine.")]})],
        environment=Environment(disk=Full()),
        record=path,
    ) as session:
        outcome = await session.prompt("How are you?")
        recorder = session._wiring.heard

    assert not outcome.failed
    assert isinstance(recorder, Recorder)
    assert recorder.trouble == "the recording ends here: No space left on device"


async def test_no_key_is_in_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "r"
    provider = sapwood.OpenAIChat(base_url="http://127.0.0.1:9/v1", key="sk-very-secret")
    model = sapwood.Model(provider=provider.id, id="x")
    settings = sapwood.Settings(retry=sapwood.RetryPolicy(enabled=False))
    async with sapwood.open_session(model=model, providers=[provider], settings=settings, record=path) as session:
        with trio.fail_after(20):
            assert (await session.prompt("How are you?")).failed

    assert "secret" not in path.read_text()
    assert provider.id in path.read_text()


def test_a_story_that_fails_is_recorded_too(tmp_path: Path) -> None:
    text = recorded(tmp_path, TALK.replace('"Fine, thanks."', "Fi, cut: true")).read_text()

    assert '"kind":"cut_off"' in text


async def test_the_clock_stands_still_until_something_comes_but_for_the_host(tmp_path: Path) -> None:
    path = tmp_path / "r"
    recorder = Recorder(RealDisk(), str(path))
    clock = count(1)

    def now() -> int:
        return int(str(recorder.drawn(CLOCK, lambda: next(clock))))

    assert [now(), now()] == [1, 1]
    with recorder.hosting():
        assert now() == 2
    assert now() == 1
    recorder.host({})
    assert [now(), now()] == [3, 3]
    recorder.progress("x", lambda _: None)(1)
    assert now() == 4
    with trio.move_on_after(0.001):
        await recorder.doing({}, trio.sleep_forever)
    assert now() == 5
    recorder.lent({})
    assert now() == 6
    await recorder.through("x", trio.lowlevel.checkpoint, as_it_is, as_it_is)
    assert now() == 7
    recorder.witness("event", b"{}")
    assert now() == 7
    recorder.close()


@pytest.mark.parametrize("round_", range(10))
def test_tools_that_begin_together_take_their_times_in_any_order(round_: int, tmp_path: Path) -> None:
    """A clock that goes on whenever it is read: which tool read it first decides nothing."""
    path, clock = tmp_path / f"{round_}", count(1_800_000_000_000)

    async def tool(n: int) -> str:
        return f"{n}"

    async def live() -> None:
        names = [f"t{n}" for n in range(4)]
        calls = tuple(ToolCall(id=ToolCallId(name), name=name, arguments={"n": 1}) for name in names)
        answers = [ScriptedAnswer(calls=calls), ScriptedAnswer(text="All.")]
        async with sapwood.open_session(
            model=MODEL,
            providers=[Scripted({"turn": answers})],
            tools=[sapwood.tool(name=name)(tool) for name in names],
            environment=Environment(now_ms=lambda: next(clock)),
            record=path,
        ) as session:
            assert not (await session.prompt("All at once.")).failed

    trio.run(live)

    assert replay_recording(path).difference is None


async def test_what_a_thread_tells_is_noted_where_it_is_told(tmp_path: Path) -> None:
    """It was noted in the thread, and told when the loop came to it: what came in between was noted behind."""
    path, says, told = tmp_path / "r", threading.Event(), list[Json]()
    recorder = Recorder(RealDisk(), str(path))
    tell = recorder.progress("a tool", told.append)

    def thread() -> None:
        says.set()
        tell("half")

    telling = threading.Thread(target=thread)
    telling.start()
    assert says.wait(20)
    time.sleep(0.05)  # noqa: ASYNC251 - the loop is held until the thread waits for it
    assert told == []
    recorder.host({})
    await trio.to_thread.run_sync(telling.join)
    recorder.close()

    assert told == ["half"]
    assert [json.loads(line)["kind"] for line in path.read_bytes().splitlines()] == ["host", "told", "end"]


async def test_who_is_held_up_is_waited_for_and_who_never_rests_is_not(tmp_path: Path) -> None:
    """A machine with other work takes a twentieth of a second from a task now and then: what it did then came too late in the file."""
    recorder, done = Recorder(RealDisk(), str(tmp_path / "r")), list[str]()

    async def held_up() -> None:
        for _ in range(3):
            time.sleep(PATIENCE * 1.2)  # noqa: ASYNC251 - as where the process is not given the processor
            await trio.lowlevel.checkpoint()
        done.append("held up")

    async def restless() -> None:
        while True:
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(held_up)
        await trio.lowlevel.checkpoint()
        await recorder.rest()
        assert done == ["held up"]

        nursery.start_soon(restless)
        await trio.lowlevel.checkpoint()
        with trio.fail_after(20):
            await recorder.rest()
        nursery.cancel_scope.cancel("it never rests")
    recorder.close()
