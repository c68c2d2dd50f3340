"""What a session was opened with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import msgspec
import pytest

from sapwood import (
    BranchSummarySettings,
    CompactionSettings,
    Extension,
    Refused,
    Scripted,
    Settings,
    SystemPrompt,
    TokenOverride,
)
from sapwood.actors.tools.tool import tool
from sapwood.events.hooks import ToolCallQuestion
from sapwood.events.messages import Message
from sapwood.events.runtime import News
from sapwood.recording.opening import (
    Opened,
    ToldProvider,
    opened_in,
    opened_out,
    told_extension,
    told_prompt,
    told_provider,
    told_tool,
)
from tests.build import MODEL


async def weigh(wood: str, kilos: int = 3) -> str:
    """Weigh some wood."""
    return f"{wood} {kilos}"


def same(messages: Sequence[Message]) -> Sequence[Message]:
    return messages


def guard() -> Extension:
    extension = Extension("guard")

    def hear(heard: object, context: object = None) -> None:
        pass

    extension.on(ToolCallQuestion, limit=7)(hear)
    extension.on(News, limit=None)(hear)

    extension.section("rules", "None.")
    extension.section("place")(hear)
    extension.tool(weigh)
    return extension


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
    providers={"scripted": told_provider(Scripted({}))},
    extensions=[told_extension(guard())],
    redacts=False,
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


def test_of_an_extension_all_but_its_code_is_told_and_its_tools_are_the_sessions() -> None:
    [told] = OPENED.extensions

    assert [(one.event, one.limit) for one in told.handlers] == [("tool_call", 7.0), ("*", None)]
    assert [(one.name, one.text) for one in told.sections] == [("rules", "None."), ("place", None)]


def test_whether_extensions_have_a_part_in_the_requests_of_a_provider_is_told() -> None:
    class Bare:
        id = "bare"
        api = "a-wire"

        def stream(self, request: object) -> Any:
            raise AssertionError

    assert told_provider(Bare()) == ToldProvider(api="a-wire", watched=False)
    assert told_provider(Scripted({})).watched


def test_code_that_no_recording_can_stand_before_is_refused() -> None:
    settings = attrs.evolve(OPENED.settings, branch_summary=BranchSummarySettings(convert=same))

    with pytest.raises(Refused, match="cannot be recorded"):
        opened_out(attrs.evolve(OPENED, settings=settings))
