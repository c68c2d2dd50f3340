"""Summaries by a small model: the past is summed up by another one than the session talks to, for a fraction of the price."""

from __future__ import annotations

import sapwood
from sapwood.events.hooks import ProvideSummary, SessionBeforeCompact
from sapwood.events.messages import Message

SMALL = sapwood.Model(provider="small", id="small-1", context_window=32_000)
PROVIDERS = [
    # a real one: sapwood.OpenAIChat(provider_id="small", key=…, base_url="http://127.0.0.1:8080/v1")
    sapwood.Scripted({"turn": [sapwood.ScriptedAnswer(text="Oak for the clay; fence it.")]}, provider_id="small"),
]

extension = sapwood.Extension("cheap-summaries")


def told(message: Message) -> str:
    """What a message says, as one line."""
    content = getattr(message, "content", "")
    text = content if isinstance(content, str) else " ".join(getattr(block, "text", "") for block in content)
    return f"{message.role}: {text}"


@extension.on(SessionBeforeCompact, limit=120)
async def summarise(question: SessionBeforeCompact, context: sapwood.ExtensionContext) -> ProvideSummary | None:
    preparation = question.preparation
    past = [preparation.previous_summary or "", *map(told, preparation.messages_to_summarize)]
    prompt = "You sum up what was said. Be short."
    async with sapwood.open_session(
        model=SMALL, providers=PROVIDERS, system_prompt=prompt, counter="heuristic"
    ) as small:
        outcome = await small.prompt("\n".join(past))
    if outcome.answer is None or outcome.failed:
        return None  # the session's own model writes it then
    text = " ".join(getattr(block, "text", "") for block in outcome.answer.content)
    return ProvideSummary(text=text, usage=outcome.answer.usage, details={"by": SMALL.id})
