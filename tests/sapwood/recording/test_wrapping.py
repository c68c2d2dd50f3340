"""What stands at the line lets through what it is given."""

from __future__ import annotations

import threading
from pathlib import Path

import attrs
import msgspec
import pytest
import trio

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Receipt
from sapwood.actors.kernel.testing import CrashAt, DropAll, InjectedCrash
from sapwood.actors.projection.counter import TokenCounter, heuristic
from sapwood.actors.tools.tool import BadArguments, tool
from sapwood.events.content import ToolCall
from sapwood.events.ids import ToolCallId
from sapwood.recording.recorder import Recorder
from sapwood.recording.replaying import Replayer
from sapwood.recording.tape import Thing
from sapwood.recording.wrapping import LinedCounter, LinedTap, lined_environment, lined_tool
from sapwood.store.disk import RealDisk


@attrs.frozen
class Unloaded:
    """A counter that is not ready, however often it is loaded."""

    ready: bool = False
    trouble: str | None = None

    def counter(self) -> TokenCounter:
        return heuristic


def written(path: Path) -> list[str]:
    return path.read_text().splitlines()


async def test_a_crash_and_a_drop_are_on_the_tape_and_come_again(tmp_path: Path) -> None:
    recorder = Recorder(RealDisk(), str(tmp_path / "r"))
    receipts = [Receipt(actor="a", message="x", n=1), Receipt(actor="b", message=7, n=1)]
    with pytest.raises(InjectedCrash):
        await LinedTap(recorder, CrashAt("a", 1)).receipt(receipts[0])
    assert await LinedTap(recorder, DropAll((int,))).receipt(receipts[1]) == "drop"
    recorder.close()

    things = [Thing(kind="came", key="a<1", value={"error": {"raised": "InjectedCrash", "said": "a at receipt 1"}})]
    replayer = Replayer(things, whole=True)
    replayer._items[0].granted.set()
    with pytest.raises(InjectedCrash, match="a at receipt 1"):
        await LinedTap(replayer, None).receipt(receipts[0])
    first, second, _ = written(tmp_path / "r")
    assert '"raised":"InjectedCrash","said":"a at receipt 1"' in first
    assert '"gave":"drop"' in second


async def test_the_world_of_a_tape_is_the_one_that_was_recorded(tmp_path: Path) -> None:
    recorder = Recorder(RealDisk(), str(tmp_path / "r"))
    real = lined_environment(recorder, Environment())
    seen = real.now_ms(), real.random(4), real.disk.real_path(str(tmp_path)), await real.run_sync(lambda: 7)
    with pytest.raises(FileNotFoundError):
        real.disk.open_read(str(tmp_path / "nowhere"))
    recorder.close()

    things = [msgspec.json.decode(line, type=Thing) for line in written(tmp_path / "r")[:-1]]
    replayer = Replayer(things, whole=True)
    for item in replayer._items:
        item.granted.set()
    again = lined_environment(replayer, Environment.scripted())

    assert (again.now_ms(), again.random(4), again.disk.real_path("?"), await again.run_sync(lambda: 7)) == seen
    with pytest.raises(FileNotFoundError):
        again.disk.open_read("?")


async def test_a_tool_reads_its_arguments_and_runs_where_it_did(tmp_path: Path) -> None:
    def weigh(kilos: int) -> str:
        return f"{kilos} in a thread: {not trio.lowlevel.in_trio_task()}"

    recorder = Recorder(RealDisk(), str(tmp_path / "r"))
    lined = lined_tool(recorder, tool(weigh), Environment())
    call = ToolCall(id=ToolCallId("c1"), name="weigh", arguments={"kilos": 3})

    assert lined.read(call) == {"kilos": 3}
    with pytest.raises(BadArguments):
        lined.read(ToolCall(id=ToolCallId("c2"), name="weigh", arguments={"kilos": "many"}))
    assert (lined.definition, lined.mode) == (tool(weigh).definition, "parallel")
    recorder.close()


async def test_a_counter_that_a_thread_loads_is_ready_when_that_thread_has_had_its_turn(tmp_path: Path) -> None:
    """When it is loaded is a matter of the machine: what a session did meanwhile went by it, and was done otherwise in a replay."""
    recorder = Recorder(RealDisk(), str(tmp_path / "r"))
    counter, loaded, over = LinedCounter(Unloaded()), trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def load() -> None:
        counter.counter()
        token.run_sync_soon(loaded.set)
        over.wait(20)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lined_environment(recorder, Environment()).run_foreign, load)
        await loaded.wait()
        states = [counter.ready]
        over.set()
    assert [*states, counter.ready] == [False, True]
    recorder.close()


@pytest.mark.parametrize("line", ["recorder", "replayer"])
async def test_a_counter_that_is_loaded_in_place_is_ready_behind_it(line: str, tmp_path: Path) -> None:
    counter = LinedCounter(Unloaded())
    if line == "recorder":
        environment = lined_environment(Recorder(RealDisk(), str(tmp_path / "r")), Environment.scripted())
        await environment.run_foreign(counter.counter)
    else:
        replayer = Replayer([Thing(kind="came", key="ran 1", value={"gave": None})], whole=True)
        replayer._items[0].granted.set()
        await lined_environment(replayer, Environment.scripted()).run_foreign(counter.counter)
    assert counter.ready

    another = LinedCounter(Unloaded())
    another.counter()
    assert another.ready
