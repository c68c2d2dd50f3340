"""A veto: nothing is written where nobody may write, and the model reads why."""

from __future__ import annotations

import sapwood
from sapwood.events.hooks import Block, ToolCallQuestion

PROTECTED = (".env", ".git/", "secrets/")
WRITERS = frozenset({"write", "edit"})

extension = sapwood.Extension("veto")


@extension.on(ToolCallQuestion)
def guard(question: ToolCallQuestion, context: sapwood.ExtensionContext) -> Block | None:
    path = str(question.arguments.get("path", ""))
    if question.tool_name in WRITERS and any(part in path for part in PROTECTED):
        return Block(reason=f"{path} is protected: nobody but a person writes there. Ask for it.")
    return None
