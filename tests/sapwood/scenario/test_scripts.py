"""What a script leaves out."""

from __future__ import annotations

from sapwood.events.messages import NO_USAGE
from sapwood.scenario.scripts import Answer, Answers, ScriptedTool


def test_an_answer_that_says_little_is_whole_at_once_and_costs_nothing() -> None:
    answer = Answer(text="An oak.")

    assert (answer.calls, answer.ends, answer.error, answer.usage) == ((), None, None, NO_USAGE)
    assert (answer.wait, answer.stall, answer.cut) == (0.0, 0.0, False)
    assert (Answers().turn, Answers().branch_summary) == ((), ())


def test_a_tool_that_says_little_gives_its_arguments_back_and_lets_itself_be_stopped() -> None:
    tool = ScriptedTool()

    assert (tool.result, tool.takes, tool.error) == (None, {}, None)
    assert (tool.alone, tool.deaf, tool.final) == (False, False, False)
