"""What a story scripts is what is played: answers in their order, and tools that do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.events.content import ToolCall
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import ToolDefinition, ToolResultMessage
from sapwood.scenario.language import Prompt, Story
from sapwood.scenario.running import play
from sapwood.scenario.scripting import provider, script, tools
from sapwood.scenario.scripts import Answer, Answers, Call, ScriptedTool
from tests.sapwood.scenario.stories import written


def story(*answers: Answer, **given: ScriptedTool) -> Story:
    return Story(title="x", answers=Answers(turn=answers), tools=given or None, steps=(Prompt(prompt="hi"),))


def test_each_purpose_has_its_queue() -> None:
    answer = Answer(text="a")

    assert script(story(answer)) == {"turn": (answer,), "compaction": (), "turn_prefix": (), "branch_summary": ()}
    assert provider(story()).id == "scripted"


def test_calls_without_an_id_are_numbered_over_the_whole_script() -> None:
    made = provider(
        story(
            Answer(calls=(Call(name="a"), Call(name="b", id="mine", arguments={"x": 1}))),
            Answer(calls=(Call(name="c", broken="cut", arguments={"x": 1}),)),
        )
    )

    calls = [answer.calls for answer in made._present._answers["turn"]]
    assert calls == [
        (
            ToolCall(id=ToolCallId("c1"), name="a", arguments={}),
            ToolCall(id=ToolCallId("mine"), name="b", arguments={"x": 1}),
        ),
        (ToolCall(id=ToolCallId("c3"), name="c", arguments={}, arguments_error="cut"),),
    ]


def test_a_story_that_says_nothing_of_tools_gives_none() -> None:
    assert tools(story()) is None


def test_a_tool_takes_what_the_story_says() -> None:
    [made] = tools(story(weigh=ScriptedTool(takes={"wood": "text", "kilos": "integer"}, alone=True))) or []

    assert (made.name, made.mode) == ("weigh", "sequential")
    assert made.definition == ToolDefinition(
        name="weigh",
        description="weigh of this story",
        parameters={
            "type": "object",
            "properties": {"wood": {"type": "string"}, "kilos": {"type": "integer"}},
            "required": ["wood", "kilos"],
        },
    )


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("{result: done}", "done"),
        ('{takes: {n: integer}, result: ""}', ""),
        ("{takes: {n: integer}}", '{"n":3}'),
        ("{error: no fire}", "no fire"),
    ],
)
def test_a_tool_gives_what_the_story_says(tool: str, told: str, tmp_path: Path) -> None:
    text = (
        f"title: x\ntools: {{it: {tool}}}\nanswers: {{turn: [{{calls: [{{name: it, arguments: {{n: 3}}}}]}}, {{text: ok}}]}}\n"
        f"steps:\n  - prompt: hi\nexpect:\n  projection: [..., {{role: toolResult, text: '{told}'}}, assistant]\n"
    )

    assert play(written(tmp_path, text)).differences == ()


def test_a_tool_that_is_final_ends_the_run(tmp_path: Path) -> None:
    text = "title: x\ntools: {it: {final: true}}\nanswers: {turn: [{calls: [{name: it}]}]}\nsteps:\n  - prompt: hi\n"

    assert play(written(tmp_path, text)).differences == ()


def test_of_calls_that_end_at_one_moment_the_first_of_the_script_ends_first(tmp_path: Path) -> None:
    """They used to end in any order."""
    calls = ", ".join("{name: it}" for _ in range(8))
    text = f"title: x\ntools: {{it: {{wait: 1}}}}\nanswers: {{turn: [{{calls: [{calls}]}}, {{text: ok}}]}}\nsteps:\n  - prompt: hi\n"
    path = written(tmp_path, text)

    orders = {
        tuple(
            entry.message.tool_call_id
            for entry in play(path).entries
            if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
        )
        for _ in range(5)
    }

    assert orders == {tuple(f"c{n}" for n in range(1, 9))}
