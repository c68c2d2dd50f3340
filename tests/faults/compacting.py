"""Sessions that are compacted: a provider that writes their summaries, what it was sent, and what was told."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from sapwood import (
    CompactionSettings,
    Delivered,
    Extension,
    Finish,
    Model,
    Request,
    Runtime,
    ScriptedAnswer,
    Session,
    Settings,
    SystemPrompt,
    Tool,
)
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Tap
from sapwood.actors.model.providers.base import Piece
from sapwood.actors.projection.counter import heuristic
from sapwood.actors.summaries.contract import HEADINGS, Kind
from sapwood.events.entries import Compaction
from sapwood.events.errors import ProviderError
from sapwood.events.runtime import (
    CompactionEnd,
    CompactionStart,
    Event,
    Purpose,
    SessionCompact,
    SessionCompactFailed,
)
from sapwood.reading import Reading
from sapwood.store.port import Store
from tests.build import words
from tests.faults.history import Log
from tests.faults.strict import Strict

SUMMARIES: Final[Mapping[Purpose, Kind]] = {"compaction": "compaction", "turn_prefix": "turn_prefix"}
Say = ScriptedAnswer | Finish | str
Answering = Callable[[Request], Say]


def record(*facts: str, kind: Kind = "compaction") -> str:
    """A summary that keeps to its format, with these facts in it."""
    first, *rest = HEADINGS[kind]
    return "\n".join([first, *(facts or ("To go on.",)), *(f"{heading}\n(none)" for heading in rest)])


def tokens_of(request: Request) -> int:
    """By the rule of thumb, which the sessions here go by as well."""
    return sum(map(heuristic, request.messages))


class Scribe(Strict):
    """Says what it is told to, `says` else, and writes a good summary where no other was asked for. Takes no more than `takes` tokens."""

    def __init__(
        self,
        *turns: Say,
        says: Answering | None = None,
        writes: Answering | None = None,
        takes: int | None = None,
        thoughts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(thoughts=thoughts)
        self.says: Answering = says or (lambda _: "well")
        self.writes: Answering = writes or (lambda request: record(kind=SUMMARIES[request.purpose]))
        self.takes = takes
        self.queued: dict[Purpose, list[Say]] = {"turn": [*turns]}

    def queue(self, purpose: Purpose, *answers: Say) -> None:
        """What it says next for this purpose."""
        self.queued.setdefault(purpose, []).extend(answers)

    def complaint(self, request: Request) -> str | None:
        """What it says of a request that it does not take."""
        size = tokens_of(request)
        if self.takes is not None and size > self.takes:
            return f"400 prompt is too long: {size} tokens > {self.takes} maximum"
        return next((f"400 {one}" for one in self.complaints(request)), None)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        complaint = self.complaint(request)
        if complaint is not None:
            self.requests.append(request)
            raise ProviderError(complaint)
        queued = self.queued.get(request.purpose)
        said = queued.pop(0) if queued else (self.says if request.purpose == "turn" else self.writes)(request)
        if isinstance(said, Finish):
            self.requests.append(request)
            yield _once(said)
            return
        self.add(request.purpose, ScriptedAnswer(text=said) if isinstance(said, str) else said)
        async with super().stream(request) as pieces:
            yield pieces

    def asked_for(self, *purposes: Purpose) -> list[Request]:
        """The requests of these purposes."""
        return [request for request in self.requests if request.purpose in purposes]

    @property
    def turns(self) -> list[Request]:
        return self.asked_for("turn")

    @property
    def summaries(self) -> list[Request]:
        return self.asked_for(*SUMMARIES)


async def _once(finish: Finish) -> AsyncIterator[Piece]:
    yield finish


def window(tokens: int | None, **more: Any) -> Model:
    """The model of these tests with another window."""
    return Model(provider="scripted", id="talker", context_window=tokens, **more)


def budgets(reserve: int | None = None, keep: int | None = None, *, enabled: bool = True, **more: Any) -> Settings:
    """Settings that reserve and keep so much; None: the default."""
    ordinary = CompactionSettings()
    chosen = CompactionSettings(
        enabled=enabled,
        reserve_tokens=ordinary.reserve_tokens if reserve is None else reserve,
        keep_recent_tokens=ordinary.keep_recent_tokens if keep is None else keep,
    )
    return Settings(compaction=chosen, **more)


@asynccontextmanager
async def compacting(
    provider: Strict,
    where: Path | Store | None = None,
    *,
    model: Model,
    settings: Settings | None = None,
    tools: Sequence[Tool | Callable[..., object]] | None = None,
    extensions: Sequence[Extension] = (),
    system_prompt: str | SystemPrompt | None = None,
    environment: Environment | None = None,
    tap: Tap | None = None,
) -> AsyncGenerator[Session]:
    """A session that counts by the rule of thumb."""
    runtime = Runtime(providers=[provider], environment=environment or Environment.scripted(), counter="heuristic")
    async with runtime.open_session(
        where,
        model=model,
        cwd="/home/dev",
        settings=settings,
        tools=tools,
        extensions=extensions,
        system_prompt=system_prompt,
        tap=tap,
    ) as session:
        yield session


def answer_of(outcome: Delivered) -> str:
    """The words of the last answer."""
    assert outcome.answer is not None
    return words(outcome.answer)


def compactions(session: Reading) -> list[Compaction]:
    """Those of the log."""
    return [entry for entry in session.entries() if isinstance(entry, Compaction)]


@attrs.frozen
class News:
    """What was told of compactions, checked: each start has one end, and each end says what came of it."""

    ends: tuple[CompactionEnd, ...]
    failures: tuple[SessionCompactFailed, ...]
    successes: tuple[SessionCompact, ...]


def news_of(events: Sequence[Event]) -> News:
    """See `News`."""
    begun = 0
    for event in events:
        match event:
            case CompactionStart():
                assert begun == 0, "one at a time"
                begun = 1
            case CompactionEnd(error_message=said):
                assert begun == 1 or "after one compact-and-retry" in (said or ""), "an end has a start"
                begun = 0
            case _:
                pass
    assert begun == 0, "a start has an end"
    ends = tuple(event for event in events if isinstance(event, CompactionEnd))
    failures = tuple(event for event in events if isinstance(event, SessionCompactFailed))
    successes = tuple(event for event in events if isinstance(event, SessionCompact))
    assert len(successes) == sum(end.result is not None for end in ends)
    return News(ends, failures, successes)


INSIDE: Final = re.compile(r"<(conversation|previous-summary)>\n(.*?)\n</\1>", re.DOTALL)


def framed(request: Request) -> dict[str, str]:
    """What stands in the frame of a request for a summary, by its tags."""
    return dict(INSIDE.findall(words(request.messages[-1])))


SMALL: Final = window(10_000)
TIGHT: Final = budgets(2_000, 1_500)
"""With `SMALL`: a compaction is due beyond 8000 tokens."""


def long_history(turns: int = 8, size: int = 1_200) -> Log:
    log = Log()
    log.turns(turns, size)
    return log


def seen(session: Session) -> list[bytes]:
    """The projection, byte by byte."""
    return [msgspec.json.encode(message) for message in session.context().messages]


def raising(error: Exception) -> Answering:
    def write(request: Request) -> Say:
        raise error

    return write
