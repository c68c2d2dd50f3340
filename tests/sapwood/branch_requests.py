"""The request for a branch's summary, as the model gets it, for a person to read: one file a manner.

uv run python -m tests.sapwood.branch_requests      # writes them again, to be looked at in the diff
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final, get_args

import trio

from sapwood import BranchSummarySettings, Model, Request, Runtime, Scripted, ScriptedAnswer, Settings
from sapwood.actors.environment import Environment
from sapwood.actors.navigation.settings import Manner
from sapwood.events.ids import EntryId
from tests.build import words
from tests.compacting import summary

DATA: Final = Path(__file__).parents[1] / "data"
SESSION: Final = DATA / "pi-ringing-v3.jsonl"
TARGET: Final = EntryId("697bbe09")
"""Eighty entries before the leaf: a compaction, and the summary of another branch, lie between."""
MANNERS: Final[tuple[Manner, ...]] = get_args(Manner)


def kept(manner: Manner) -> Path:
    """The file of a manner."""
    return DATA / f"branch-request.{manner}.txt"


async def request_of(manner: Manner) -> Request:
    """What goes out when the session is moved there, with a person's instructions."""
    provider = Scripted({"branch_summary": [ScriptedAnswer(text=summary("branch"))]})
    model = Model(provider="scripted", id="reader", context_window=200_000, thinks=True)
    settings = Settings(branch_summary=BranchSummarySettings(manner=manner))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(SESSION.read_bytes())
        async with (
            Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic") as runtime,
            runtime.open_session(path, model=model, settings=settings) as session,
        ):
            await session.navigate(
                TARGET, summarize=True, instructions="Tell what became of AX1024." if manner == "pi" else None
            )
    [request] = provider.requests
    return request


def as_text(request: Request) -> str:
    """Everything of a request that a model or its provider is told; the routing id is another one each time."""
    options = {
        "purpose": request.purpose,
        "thinking": request.thinking_level,
        "output": request.max_output or "what the model gives",
        "cache write": request.cache_write,
        "metadata": request.metadata or "none",
    }
    head = [f"{name}: {value}" for name, value in options.items()]
    said = [f"===== {message.role}\n{words(message)}" for message in request.messages]
    return "\n".join([*head, "", *said, ""])


async def _write() -> None:
    for manner in MANNERS:
        kept(manner).write_text(as_text(await request_of(manner)), encoding="utf-8")


if __name__ == "__main__":
    trio.run(_write)
