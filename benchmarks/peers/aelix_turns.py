"""A prompt with turns, each with a tool, through a port of Pi's agent to Python: aelix 0.1.0b2, in an environment of its own.

    python aelix_turns.py FOLDER ENTRIES KEPT TURNS TIMES TEXT

Its whole agent with a session on the disk, no extensions, and a provider that is handed in. The session holds ENTRIES: if they are more
than a few, all but the last KEPT of them are compacted away. It says, as JSON, what each of TIMES prompts has cost in seconds of CPU, and
of the last one how many messages its first and its last request had, and how many requests there were.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import AsyncGenerator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

core: Any = import_module("aelix_agent_core.harness.core")
messages: Any = import_module("aelix_ai.messages")
repo: Any = import_module("aelix_agent_core.session.jsonl_repo")
streaming: Any = import_module("aelix_ai.streaming")
tools: Any = import_module("aelix_ai.tools")
types: Any = import_module("aelix_agent_core.types")

USAGE: Final = {"input": 100, "output": 50, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 150}
PARAMETERS: Final = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def answer(**more: object) -> Any:
    return messages.AssistantMessage(api="x", provider="p", model="m", usage=dict(USAGE), **more)


def said(number: int, text: str) -> Any:
    content = [messages.TextContent(text=text)]
    if number % 2:
        return answer(content=content, stop_reason="stop", timestamp=number)
    return messages.UserMessage(content=content, timestamp=number)


async def session_of(folder: Path, entries: int, kept: int, text: str) -> Any:
    sessions = repo.JsonlSessionRepo(sessions_root=str(folder))
    session = await sessions.create(repo.JsonlSessionCreateOptions(cwd=str(folder)))
    ids: list[str] = [await session.append_message(said(number, text)) for number in range(entries - 1)]
    if len(ids) > kept:
        await session.append_compaction(text, ids[-kept], 100_000)
    else:
        await session.append_message(said(entries - 1, text))
    return session


async def prompt(folder: Path, entries: int, kept: int, turns: int, text: str) -> tuple[float, list[int]]:
    session = await session_of(folder, entries, kept, text)
    sent: list[int] = []

    async def stream(_model: object, context: Any, _options: object) -> AsyncGenerator[Any, None]:
        sent.append(len(context.messages))
        yield streaming.AssistantStartEvent(partial=answer())
        content, reason = [messages.TextContent(text=text)], "stop"
        if len(sent) < turns:
            called = messages.ToolCallContent(tool_call_id=f"c{len(sent)}", tool_name="echoed", input={"text": text})
            content, reason = [called], "toolUse"
        yield streaming.AssistantDoneEvent(message=answer(content=content, stop_reason=reason))

    async def echoed(arguments: dict[str, str], _context: object) -> Any:
        return tools.ToolResult(content=[messages.TextContent(text=arguments["text"])])

    tool = types.AgentTool(name="echoed", description="Say it again.", parameters=PARAMETERS, execute=echoed)
    options = core.AgentHarnessOptions(
        model=streaming.Model(id="m", api="x", provider="p", context_window=1_000_000),
        tools=[tool],
        session=session,
        stream_fn=stream,
        initial_messages=list((await session.build_context()).messages),
        cwd=str(folder),
    )
    agent = core.AgentHarness(options)
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        await agent.prompt("go")
        return time.process_time() - started, [sent[0], sent[-1], len(sent)]
    finally:
        gc.enable()


async def main(folder: str, entries: int, kept: int, turns: int, times: int, text: str) -> None:  # noqa: PLR0917 - as in argv
    costs: list[float] = []
    sent: list[int] = []
    for nth in range(times):
        place = Path(folder) / str(nth)
        place.mkdir()
        cost, sent = await prompt(place, entries, kept, turns, text)
        costs.append(cost)
    print(json.dumps({"seconds": costs, "sent": sent}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case [where, entries, kept, turns, times, text]:
            asyncio.run(main(where, int(entries), int(kept), int(turns), int(times), text))
        case _:
            sys.exit(__doc__)
