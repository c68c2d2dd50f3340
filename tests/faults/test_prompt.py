"""Faults of other systems around the prompt: what was reported there is tried here."""

from __future__ import annotations

from typing import cast

from sapwood import Scripted, ScriptedAnswer, SystemMessage, SystemPrompt, open_session
from sapwood.events.codec import encode_entry
from sapwood.events.entries import Compaction, KnownEntry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, MODEL, TIME, assistant, message_entry, system, user

SAID = {"preamble": "You help.", "rules": "<rules>\nBe brief.\n</rules>"}


def after_a_compaction() -> MemoryStore:
    """A session with a prompt, compacted: the compaction carries the prompt, and what it keeps begins before the prompt did."""
    entries: list[KnownEntry] = [
        message_entry("u1", user("Which tree?")),
        message_entry("s1", system(**SAID), "u1"),
        message_entry("a1", assistant("An oak."), "s1"),
        Compaction(
            id=EntryId("c1"),
            parent_id=EntryId("a1"),
            timestamp=TIME,
            summary="Trees were talked of.",
            first_kept_entry_id=EntryId("u1"),
            tokens_before=20_000,
            system_message=system(**SAID),
        ),
    ]
    return MemoryStore(HEADER, map(encode_entry, entries))


async def test_b08_an_unchanged_prompt_is_not_said_again_after_a_compaction() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="A pine."), ScriptedAnswer(text="A lime.")]})
    rules = "Be brief."
    prompt = SystemPrompt(preamble="You help.", sections={"rules": lambda _: rules})
    async with open_session(after_a_compaction(), model=MODEL, providers=[provider], system_prompt=prompt) as session:
        await session.prompt("And a softer one?")

        new = [cast("MessageEntry", entry).message for entry in session.entries()[4:]]
        assert [message.role for message in new] == ["user", "assistant"]
        [head] = [said for said in provider.requests[0].messages if isinstance(said, SystemMessage)]
        assert head.sections == SAID

        rules = "Be kind."
        await session.prompt("And another?")

        change, _, answer = [cast("MessageEntry", entry).message for entry in session.entries()[6:]]
        assert isinstance(change, SystemMessage)
        assert (change.content, change.sections) == ("", {"rules": "<rules>\nBe kind.\n</rules>"})
        assert (change.tools_added, change.tools_removed) == (None, None)
        assert isinstance(answer, AssistantMessage)
