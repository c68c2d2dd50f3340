"""Sessions that compact: a model with a small window, summaries that keep the contract, and what was sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from sapwood import (
    CompactionSettings,
    Environment,
    Request,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Session,
    Settings,
    UserMessage,
)
from sapwood.events.entries import Compaction
from sapwood.events.messages import SystemMessage
from sapwood.events.models import Model
from tests.build import words

SMALL: Final = Model(provider="scripted", id="talker", context_window=2_000, max_output=400)
TIGHT: Final = Settings(compaction=CompactionSettings(reserve_tokens=500, keep_recent_tokens=300))
SUMMARY: Final = """## Goal
Know the oak.

## Constraints & Preferences
(none)

## Progress

### Done
- [x] It was asked for.

### In Progress
(none)

### Blocked
(none)

## Key Decisions
(none)

## Next Steps
1. Go on.

## Critical Context
(none)"""
PREFIX: Final = """## Original Request
Which oak?

## Progress So Far
- [x] Looked.

## Context Needed to Continue
1. Nothing."""


def long(name: str, tokens: int = 100) -> str:
    """A text of so many tokens by the heuristic that begins with its name."""
    return f"{name} ".ljust(4 * tokens, "x")


def said(texts: Iterable[str | ScriptedAnswer]) -> list[ScriptedAnswer]:
    return [ScriptedAnswer(text=text) if isinstance(text, str) else text for text in texts]


@asynccontextmanager
async def compacting(
    *answers: str | ScriptedAnswer,
    summaries: Sequence[str | ScriptedAnswer] | None = None,
    prefixes: Sequence[str | ScriptedAnswer] | None = None,
    where: Any = None,
    model: Model = SMALL,
    settings: Settings = TIGHT,
    **more: Any,
) -> AsyncGenerator[tuple[Session, Scripted]]:
    """A session, and the provider with what it was sent."""
    provider = Scripted(
        {
            "turn": said(answers),
            "compaction": said([SUMMARY] * 9 if summaries is None else summaries),
            "turn_prefix": said([PREFIX] * 9 if prefixes is None else prefixes),
        }
    )
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    async with runtime.open_session(where, model=model, settings=settings, cwd="/home/dev", **more) as session:
        yield session, provider


def sent(provider: Scripted, purpose: str) -> list[Request]:
    return [request for request in provider.requests if request.purpose == purpose]


def prompt_of(request: Request) -> str:
    """What a summary's request says, below its system prompt."""
    return "".join(words(message) for message in request.messages if isinstance(message, UserMessage))


def role_of(request: Request) -> str:
    return "".join(words(message) for message in request.messages if isinstance(message, SystemMessage))


def compactions(session: Session) -> list[Compaction]:
    return [entry for entry in session.entries() if isinstance(entry, Compaction)]
