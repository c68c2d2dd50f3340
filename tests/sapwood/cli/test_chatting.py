"""A talk in one process: which entry a beginning of an id means."""

from __future__ import annotations

import pytest

import sapwood
from sapwood.cli.chatting import Chat
from sapwood.cli.speaking import Speaker
from sapwood.cli.talking import Talk
from sapwood.events.errors import Refused


async def test_the_beginning_of_an_id_is_enough_if_it_is_one_entrys() -> None:
    says = sapwood.Scripted({"turn": [sapwood.ScriptedAnswer(text="An oak.")]})
    model = sapwood.Model(provider="scripted", id="talker")
    async with sapwood.open_session(None, model=model, providers=[says]) as session:
        await session.prompt("Which tree?")
        chat = Chat(Talk(session, Speaker(), session.events()), as_json=False)
        first, second = (entry.id for entry in session.entries())

        assert chat._entry(first) == first
        assert chat._entry(second[:7]) == second
        with pytest.raises(Refused, match="'': 2 entries have ids that begin so; /tree shows them"):
            chat._entry("")
        with pytest.raises(Refused, match="'zz': no entry has an id that begins so"):
            chat._entry("zz")
