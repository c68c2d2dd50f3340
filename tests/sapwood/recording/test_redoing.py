"""What a host did is done again."""

from __future__ import annotations

import pytest
from msgspec import to_builtins

from sapwood import Refused
from sapwood.events.commands import AppendCustom, Steer
from sapwood.events.entries import Custom
from sapwood.events.ids import EntryId
from sapwood.recording.redoing import redo
from tests.talking import drain, talking


async def test_each_kind_of_command_is_done() -> None:
    async with talking("Fine.") as session:
        reader = session.events()
        await redo(session, {"type": "steer", "input": {"entryId": "x", "text": "Be brief.", "timestamp": 1}})
        await redo(session, to_builtins(AppendCustom(entry_id=EntryId("mark"), custom_type="mark", data=[1])))
        await redo(session, {"type": "feed", "event": {"type": "agent_settled", "aborted": True}})
        await redo(session, {"type": "prompt", "input": {"entryId": "y", "text": "Hello.", "timestamp": 1}})
        await session.wait_idle()
        await redo(session, {"type": "abort"})

        [mark] = [entry for entry in session.entries() if isinstance(entry, Custom)]
        assert (mark.id, mark.custom_type, mark.data) == ("mark", "mark", [1])
        assert len(session.entries()) == 4, "both inputs, the answer, and the mark"
        assert len(drain(reader)) > 10
        assert Steer.__struct_config__.tag == "steer"
        await redo(session, {"type": "close"})


async def test_what_was_refused_is_refused_again() -> None:
    async with talking() as session:
        with pytest.raises(Refused):
            await redo(session, {"type": "navigate", "target": "nowhere"})
