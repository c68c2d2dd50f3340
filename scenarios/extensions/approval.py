"""A person's approval: what cannot be undone waits for a yes, as long as the person takes."""

from __future__ import annotations

import trio

import sapwood
from sapwood.events.hooks import Block, ToolCallQuestion

RISKY = frozenset({"delete", "bash"})

extension = sapwood.Extension("approval")


async def person(question: str) -> str:
    """In the place of a person at a terminal, who would be asked by `await trio.to_thread.run_sync(input, question)`."""
    await trio.sleep(300)
    return "yes" if "old.md" in question else "no"


@extension.on(ToolCallQuestion, limit=None)  # no limit: people take their time
async def approve(question: ToolCallQuestion, context: sapwood.ExtensionContext) -> Block | None:
    if question.tool_name not in RISKY:
        return None
    answer = await person(f"{question.tool_name} {question.arguments}? ")
    return None if answer == "yes" else Block(reason="the person said no: leave it, and say what you wanted")
