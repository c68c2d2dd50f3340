"""A checker ties the answer of a handler to its question: what is right passes under --strict, and each thing that is wrong is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.layout import ROOT

pytestmark = pytest.mark.slow

IMPORTS = """\
from sapwood.actors.extensions.extension import Extension, ExtensionContext
from sapwood.events.hooks import Block, Cancel, ChangeArguments, SessionBeforeFork, SessionStart, ToolCallQuestion

guard = Extension("guard")
"""
RIGHT = (
    IMPORTS
    + """

@guard.on(ToolCallQuestion)
async def block(question: ToolCallQuestion, context: ExtensionContext) -> Block | None:
    return Block(reason=f"{question.tool_name} in {context.cwd}")


@guard.on(ToolCallQuestion, limit=None)
def change(question: ToolCallQuestion, context: ExtensionContext) -> ChangeArguments:
    return ChangeArguments(arguments={**question.arguments, "depth": 1})


@guard.on(SessionStart, limit=2.5)
async def greet(question: SessionStart, context: ExtensionContext) -> None:
    print(question.reason)


class Guard:
    def __call__(self, question: ToolCallQuestion, context: ExtensionContext) -> Block | ChangeArguments | None:
        return None

    async def fork(self, question: SessionBeforeFork, context: ExtensionContext) -> Cancel | None:
        return Cancel()


guard.on(ToolCallQuestion)(Guard())
guard.on(SessionBeforeFork)(Guard().fork)
guard.on(ToolCallQuestion)(lambda question, context: Block(reason=question.tool_name))


async def use(question: ToolCallQuestion, context: ExtensionContext) -> None:
    answer = await block(question, context)
    if isinstance(answer, Block):
        print(answer.reason)
"""
)
WRONG = {
    "another_hooks_answer": """
@guard.on(ToolCallQuestion)
async def f(question: ToolCallQuestion, context: ExtensionContext) -> Cancel:
    return Cancel()
""",
    "a_plain_answer_of_another_hook": """
@guard.on(SessionBeforeFork)
def f(question: SessionBeforeFork, context: ExtensionContext) -> Block:
    return Block()
""",
    "an_answer_where_there_is_none": """
@guard.on(SessionStart)
async def f(question: SessionStart, context: ExtensionContext) -> str:
    return "hello"
""",
    "another_question": """
@guard.on(ToolCallQuestion)
def f(question: SessionStart, context: ExtensionContext) -> None: ...
""",
    "one_argument": """
@guard.on(ToolCallQuestion)
def f(question: ToolCallQuestion) -> None: ...
""",
    "a_field_that_there_is_not": """
guard.on(ToolCallQuestion)(lambda question, context: Block(reason=question.nothing))
""",
    "no_question": """
guard.on(str)
""",
    "a_limit_in_words": """
guard.on(ToolCallQuestion, limit="30 s")
""",
}


def complained(options: list[str], folder: Path) -> set[str]:
    """The programs of the folder that a type checker has something against."""
    done = subprocess.run([sys.executable, "-m", *options], cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stderr
    lines = [line for line in done.stdout.splitlines() if "error" in line and ".py:" in line]
    return {line.split(".py:")[0].split("/")[-1].strip() for line in lines}


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_type_checker_takes_what_is_right_and_nothing_else(checker: str, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    for name, source in WRONG.items():
        (tmp_path / f"{name}.py").write_text(IMPORTS + source, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "strict", "extraPaths": ["{ROOT}"], "reportUnusedImport": false}}', encoding="utf-8"
    )
    files = sorted(path.name for path in tmp_path.glob("*.py"))
    options = {
        "mypy": ["mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *files],
        "pyright": ["pyright", "--pythonpath", sys.executable],
    }[checker]

    assert complained(options, tmp_path) == set(WRONG)
