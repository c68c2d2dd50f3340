"""A checker ties the answer of a handler to its question: what is right passes under --strict, and each thing that is wrong is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from sapwood.actors.extensions.merging import RULES
from sapwood.events.hooks import AnyQuestion
from tests.house.layout import ROOT

pytestmark = pytest.mark.slow

IMPORTS = """\
from sapwood import Extension, ExtensionContext
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


ADMITTED: dict[str, tuple[str, ...]] = {
    question.__name__: tuple(kind.__name__ for kind in RULES[question].admits) for question in get_args(AnyQuestion)
}
"""The answers of each question, by name."""
EVERY_ANSWER = sorted({name for names in ADMITTED.values() for name in names})
MADE = {
    "Block": "Block()",
    "Boundary": "Boundary()",
    "Cancel": "Cancel()",
    "ChangeArguments": "ChangeArguments(arguments={})",
    "ChangeHeaders": "ChangeHeaders(headers={})",
    "ChangeInput": 'ChangeInput(text="x")',
    "ChangeMessage": "ChangeMessage(message=question.message)",
    "ChangeMessages": "ChangeMessages(messages=())",
    "ChangePayload": "ChangePayload(payload={})",
    "ChangeResult": "ChangeResult()",
    "AddBeforeStart": "AddBeforeStart()",
    "Handled": "Handled()",
    "ProvideSummary": 'ProvideSummary(text="x")',
    "TreeAnswer": "TreeAnswer()",
}


def handler(question: str, answer: str, made: str, *, waits: bool) -> str:
    """A handler of this question that gives this answer."""
    kind = "async def" if waits else "def"
    return f"""
@one.on({question})
{kind} {question.lower()}_{answer.lower()}(question: {question}, context: ExtensionContext) -> {answer} | None:
    return {made}
"""


def every_hook() -> tuple[str, dict[str, str]]:
    """A program with every answer that there is for every question, and one for each question with another one's."""
    names = ", ".join([*ADMITTED, *EVERY_ANSWER])
    head = f"from sapwood import Extension, ExtensionContext\nfrom sapwood.events.hooks import {names}\n\n"
    head += 'one = Extension("one")\n'
    right, wrong = head, dict[str, str]()
    for at, (question, answers) in enumerate(ADMITTED.items()):
        for answer in answers:
            right += handler(question, answer, MADE[answer], waits=at % 2 == 0)
        other = next(name for name in EVERY_ANSWER if name not in {*answers, "ChangeMessage"})
        wrong[f"another_answer_to_{question.lower()}"] = head + handler(question, other, MADE[other], waits=at % 2 == 1)
    return right, wrong


EVENTS = """
from sapwood import Extension, ExtensionContext
from sapwood.events.runtime import News, TurnEnd

one = Extension("one")


@one.on(TurnEnd)
def ended(event: TurnEnd, context: ExtensionContext) -> None:
    print(event.message)


@one.on(News, limit=None)
async def every(event: News, context: ExtensionContext) -> None:
    await context.append_custom("seen")
"""
WRONG_EVENTS = {
    "an_answer_to_an_event": """
from sapwood import Extension, ExtensionContext
from sapwood.events.runtime import TurnEnd

@Extension("one").on(TurnEnd)
def ended(event: TurnEnd, context: ExtensionContext) -> int:
    return 7
""",
    "another_event": """
from sapwood import Extension, ExtensionContext
from sapwood.events.runtime import TurnEnd, TurnStart

@Extension("one").on(TurnEnd)
async def ended(event: TurnStart, context: ExtensionContext) -> None: ...
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
    right, wrong = every_hook()
    for name, source in {"right": RIGHT, "every_hook": right, "events": EVENTS}.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    for shipped in (ROOT / "scenarios" / "extensions").glob("*.py"):
        (tmp_path / f"shipped_{shipped.name}").write_bytes(shipped.read_bytes())
    wrong |= {name: IMPORTS + source for name, source in WRONG.items()} | WRONG_EVENTS
    for name, source in wrong.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "strict", "extraPaths": ["{ROOT}"], "reportUnusedImport": false}}', encoding="utf-8"
    )
    files = sorted(path.name for path in tmp_path.glob("*.py"))
    options = {
        "mypy": ["mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *files],
        "pyright": ["pyright", "--pythonpath", sys.executable],
    }[checker]

    assert complained(options, tmp_path) == set(wrong)
