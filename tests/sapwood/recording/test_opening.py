"""What a session was opened with."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import msgspec
import pytest

from sapwood import BranchSummarySettings, CompactionSettings, Refused, Settings, SystemPrompt, TokenOverride
from sapwood.actors.tools.tool import tool
from sapwood.events.messages import Message
from sapwood.recording.opening import Opened, opened_in, opened_out, told_prompt, told_tool
from tests.build import MODEL


async def weigh(wood: str, kilos: int = 3) -> str:
    """Weigh some wood."""
    return f"{wood} {kilos}"


def same(messages: Sequence[Message]) -> Sequence[Message]:
    return messages


OPENED = Opened(
    model=MODEL,
    settings=Settings(
        summary_model=MODEL,
        compaction=CompactionSettings(model_overrides={"a/b": TokenOverride(reserve_tokens=7)}),
    ),
    counter="heuristic",
    counter_ready=True,
    durability="disk",
    tools=[told_tool(tool(weigh))],
    prompt=told_prompt(SystemPrompt(preamble="You saw.", sections={"rules": "None.", "place": lambda _: "here"})),
    providers={"scripted": None},
    handlers=[],
)


def test_all_of_it_is_read_again() -> None:
    again = opened_in(msgspec.json.decode(msgspec.json.encode(opened_out(OPENED))))

    assert again == OPENED
    assert again.tools is not None
    assert again.tools[0].description == "Weigh some wood."
    assert again.prompt is not None
    assert [(one.name, one.text) for one in again.prompt.sections] == [
        ("", "You saw."),
        ("rules", "None."),
        ("place", None),
    ]


def test_code_that_no_recording_can_stand_before_is_refused() -> None:
    settings = attrs.evolve(OPENED.settings, branch_summary=BranchSummarySettings(convert=same))

    with pytest.raises(Refused, match="cannot be recorded"):
        opened_out(attrs.evolve(OPENED, settings=settings))
