"""Edits that a host asks for: what may be edited (P3), and what they do to the measure (T3)."""

from __future__ import annotations

import pytest

import sapwood
from sapwood import Scripted, ScriptedAnswer, SystemPrompt
from sapwood.events.entries import Compaction, MessageEntry, Replacement
from sapwood.events.messages import SystemMessage, Usage
from sapwood.events.runtime import MessageUpdate
from tests.build import MODEL


async def test_only_what_the_model_reads_on_this_branch_is_edited() -> None:
    """A system message that was hidden took the prompt away, and a hidden compaction all that it stands for; nobody was told."""
    async with sapwood.open_session(
        model=MODEL,
        providers=[Scripted({"turn": [ScriptedAnswer(text=text) for text in ("One.", "Two.")]})],
        system_prompt=SystemPrompt(preamble="You count."),
    ) as session:
        await session.prompt("Say one.")
        prompt, asked, _ = session.entries()
        assert isinstance(prompt, MessageEntry)
        assert isinstance(prompt.message, SystemMessage)
        custom = await session.append_custom("mark", {})
        here = session.entries()[-1].id
        await session.navigate(asked.id)
        await session.prompt("Say two.")
        log = len(session.entries())

        for target, words in (
            (prompt.id, "does not contribute editable model content"),
            (custom, "is not on the active branch"),
            (here, "is not on the active branch"),
            (sapwood.EntryId("nowhere"), "not found"),
        ):
            with pytest.raises(sapwood.Refused, match=f"Entry {target} {words}"):
                await session.edit(target, None)
        assert len(session.entries()) == log
        assert session.system_prompt is not None
        await session.edit(session.entries()[-1].id, Replacement(content="Two!"))


async def test_an_edit_while_a_request_is_out_is_not_known_to_its_answer() -> None:
    """The answer's usage is of what was sent: by it the window seemed empty, and twice the window was sent next."""
    settings = sapwood.Settings(compaction=sapwood.CompactionSettings(enabled=False))
    answers = [ScriptedAnswer(text=text, usage=Usage.of(input=10, output=2), stall=0.2) for text in ("One.", "Two.")]
    async with sapwood.open_session(model=MODEL, providers=[Scripted({"turn": answers})], settings=settings) as session:
        await session.prompt("Say one.")
        first = session.entries()[0].id
        reader = session.events()
        handle = session.submit("Say two.")
        async for item in reader:
            if isinstance(item, sapwood.Published) and isinstance(item.event, MessageUpdate):
                break
        await session.edit(first, Replacement(content="oak " * 5_000))
        await handle.outcome()

        assert session.measured().source == "estimated"
        assert session.measured().tokens > 4_000
    assert not any(isinstance(entry, Compaction) for entry in session.entries())
