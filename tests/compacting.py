"""Sessions that can be compacted: a conversation of given sizes, and a model that sums up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs

from sapwood import (
    CompactionSettings,
    Extension,
    Reader,
    RetryPolicy,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Session,
    Settings,
)
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Ref, Tap
from sapwood.actors.model.providers.base import Request
from sapwood.actors.summaries.contract import HEADINGS, Kind
from sapwood.events.entries import Compaction
from sapwood.events.models import Model
from sapwood.events.runtime import Event, Purpose, name_of
from sapwood.store.port import Store
from tests.build import words
from tests.talking import drain

NEWS = ("compaction_start", "session_compact", "compaction_end", "session_compact_failed")
"""What is told of a compaction, by its names."""
SMALL = Model(provider="scripted", id="small", context_window=10_000)
"""A compaction by itself is due beyond 8000 tokens of it."""


def summary(kind: Kind = "compaction", *, says: str = "(none)", less: int = 0) -> str:
    """A summary in the format, but for its first headings."""
    return "\n".join(f"{heading}\n{says}" for heading in HEADINGS[kind][less:])


def sized(tokens: int, name: str = "") -> str:
    """A text of so many tokens by the heuristic, in one word."""
    return name + "x" * (4 * tokens - len(name))


def settings(
    *, keep: int = 20, reserve: int = 2_000, enabled: bool = False, summary_model: Model | None = None
) -> Settings:
    """Nothing happens by itself unless a test wants it to."""
    compaction = CompactionSettings(enabled=enabled, reserve_tokens=reserve, keep_recent_tokens=keep)
    return Settings(compaction=compaction, retry=RetryPolicy(max_retries=1), summary_model=summary_model)


@attrs.frozen
class Talk:
    """A session, what its model was asked, and what is told of it."""

    session: Session
    provider: Scripted
    reader: Reader

    def compactions(self) -> list[Compaction]:
        return [entry for entry in self.session.entries() if isinstance(entry, Compaction)]

    def requests(self, *purposes: Purpose) -> list[Request]:
        wanted = purposes or ("compaction", "turn_prefix")
        return [request for request in self.provider.requests if request.purpose in wanted]

    def told(self) -> list[Event]:
        """What is new."""
        return drain(self.reader)

    def news(self) -> list[str]:
        """The names of what is new of compactions."""
        return [name for name in map(name_of, self.told()) if name in NEWS]

    @property
    def state(self) -> str:
        """As a type checker cannot take for what it was before."""
        return self.session.state

    def actor(self, name: str) -> Ref:
        return self.session._wiring.system.actors[name]

    def seen(self) -> list[str]:
        """What the model would see."""
        return [words(message) for message in self.session.context().messages]


@asynccontextmanager
async def conversation(
    *summaries: ScriptedAnswer | str,
    turns: Sequence[ScriptedAnswer | str] = (),
    prefixes: Sequence[ScriptedAnswer | str] = (),
    where: str | Store | None = None,
    model: Model = SMALL,
    settings: Settings | None = None,
    extensions: Sequence[Extension] = (),
    environment: Environment | None = None,
    tap: Tap | None = None,
    talked: int = 2,
    each: int = 10,
    **more: Any,
) -> AsyncGenerator[Talk, None]:
    """A session with `talked` turns behind it: `u0…`, `a0…`, `u1…`, `a1…`, of `each` tokens. Then the model says `turns`.

    The beginning of a split turn is summed up as a matter of course, unless `prefixes` are given.
    """
    provider = Scripted(
        {
            "turn": [*(ScriptedAnswer(text=sized(each, f"a{at}")) for at in range(talked)), *map(_answer, turns)],
            "compaction": [*map(_answer, summaries)],
            "turn_prefix": [*map(_answer, prefixes or [summary("turn_prefix")] * 9)],
        }
    )
    runtime = Runtime(providers=[provider], environment=environment or Environment.scripted(), counter="heuristic")
    async with runtime.open_session(
        where,
        model=model,
        settings=settings if settings is not None else _quiet(),
        extensions=extensions,
        tap=tap,
        **more,
    ) as session:
        for at in range(talked):
            await session.prompt(sized(each, f"u{at}"))
        yield Talk(session, provider, session.events())


def _quiet() -> Settings:
    return settings()


def _answer(answer: ScriptedAnswer | str) -> ScriptedAnswer:
    return ScriptedAnswer(text=answer) if isinstance(answer, str) else answer
