"""A run against a real model, recorded: it is played again without one, byte for byte (Z3)."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

import sapwood
from sapwood.actors.compaction.threshold import CompactionSettings
from sapwood.events.runtime import MessageUpdate
from sapwood.local.starting import LocalWire
from sapwood.recording.replaying import replay_recording
from tests.live.asking import WIRES, Live

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.xdist_group("live")]  # one server for all


@pytest.mark.parametrize("wire", WIRES)
async def test_a_run_with_a_real_model_is_played_again_without_it(live: Live, wire: LocalWire, tmp_path: Path) -> None:
    """A tool that is called, an answer that is left in the middle, a summary, and one more answer."""
    path, looked = tmp_path / "live.recording", list[str]()

    def look(at: str) -> str:
        looked.append(at)
        return f"It is an old {at}."

    call = sapwood.ToolCall(id=sapwood.ToolCallId("c1"), name="look", arguments={"at": "oak"})
    before = [sapwood.ScriptedAnswer(calls=(call,)), sapwood.ScriptedAnswer(text="An old oak.")]
    settings = sapwood.Settings(compaction=CompactionSettings(reserve_tokens=256, keep_recent_tokens=16))
    async with live.session(wire, before=before, tools=[look], settings=settings, record=path) as session:
        await session.prompt("What is there?")
        await session.set_model(live.model(max_output=60))
        reader = session.events()
        handle = session.submit("Tell me a long story about it.")
        async for item in reader:
            if isinstance(item, sapwood.Published) and isinstance(item.event, MessageUpdate):
                break
        await session.abort()
        left = await handle.outcome()
        compacted = await session.compact()
        last = await session.prompt("Which city is the capital of France?")
        entries = session.entries()

    assert isinstance(left, sapwood.Delivered)
    assert left.aborted
    assert compacted.entry.summary
    assert last.answer is not None
    assert last.answer.usage.output > 0

    replayed = await trio.to_thread.run_sync(replay_recording, path)

    assert replayed.difference is None
    assert replayed.same
    assert replayed.entries == len(entries)
    assert replayed.events > len(entries)
    assert looked == ["oak"], "no tool is run again"
