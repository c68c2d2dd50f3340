"""Secrets stay where they are: neither the log nor the model sees a key that was typed or that a tool came upon."""

from __future__ import annotations

import re

import sapwood
from sapwood.events.hooks import ChangeInput, ChangeResult, InputReceived, ToolResultQuestion

SECRET = re.compile(r"\b(?:sk|ghp|xoxb)-[A-Za-z0-9_-]{8,}")
HIDDEN = "[a secret]"

extension = sapwood.Extension("redaction")


@extension.on(InputReceived)
def typed(question: InputReceived, context: sapwood.ExtensionContext) -> ChangeInput | None:
    text = SECRET.sub(HIDDEN, question.text)
    return ChangeInput(text=text) if text != question.text else None


@extension.on(ToolResultQuestion)
def found(question: ToolResultQuestion, context: sapwood.ExtensionContext) -> ChangeResult | None:
    content = question.content
    blocks = (sapwood.TextContent(text=content),) if isinstance(content, str) else content
    bare = tuple(
        sapwood.TextContent(text=SECRET.sub(HIDDEN, block.text)) if isinstance(block, sapwood.TextContent) else block
        for block in blocks
    )
    return ChangeResult(content=bare) if bare != blocks else None
