"""A provider that plays a script: for scenarios, for tests, and for trying the runtime without a key.

1. Each purpose has a queue of answers of its own; a call takes the next one.
2. A script that has run out gives a failed answer that says so, never a made-up one.
3. It goes through the same actor as any other provider.
4. What is no script is `Refused` when it is written, and not when it is played.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Final, cast, get_args

import attrs
import msgspec
import trio

from sapwood.actors.model.providers.base import Around, Finish, Piece, Request
from sapwood.actors.model.wire import CUT
from sapwood.events.base import listed
from sapwood.events.content import ToolCall
from sapwood.events.deltas import TextDelta, TextEnd, TextStart, ToolCallDelta, ToolCallEnd, ToolCallStart
from sapwood.events.errors import ProviderError, Refused, shown
from sapwood.events.messages import NO_USAGE, StopReason, Usage
from sapwood.events.runtime import Purpose

_PIECES = re.compile(r"\S+\s*|\s+")
"""A text streams word by word, each with the blanks behind it."""
_ENDS: Final = tuple(reason for reason in get_args(StopReason) if reason != "pending")
_CALLS: Final = "a tuple of ToolCalls, each with an id and a name that are text, and a dict of arguments"


@attrs.frozen(kw_only=True)
class ScriptedAnswer:
    """One answer: a text, calls of tools, or a failure after the part that came."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    stop_reason: StopReason | None = None
    """How it ends; None: with `toolUse` if it calls, else with `stop`."""
    error: str | None = None
    """The call fails with this message once `text` has streamed."""
    wait: float = 0.0
    """Seconds of silence before the first piece."""
    stall: float = 0.0
    """Seconds of silence behind the last piece, before it ends."""
    cut: bool = False
    """Whether the stream ends there without a word, as where a connection breaks."""

    def __attrs_post_init__(self) -> None:
        calls: object = self.calls
        for field, good, what in (
            ("text", type(self.text) is str, "text"),
            ("calls", isinstance(calls, tuple) and all(map(_is_call, cast("tuple[object, ...]", calls))), _CALLS),
            ("usage", isinstance(self.usage, Usage), "a sapwood.Usage"),
            ("stop_reason", self.stop_reason in (None, *_ENDS), f"one of {', '.join(_ENDS)}, or None"),
            ("error", self.error is None or type(self.error) is str, "text, or None"),
            ("wait", _is_seconds(self.wait), "a number of seconds from 0 on"),
            ("stall", _is_seconds(self.stall), "a number of seconds from 0 on"),
            ("cut", type(self.cut) is bool, "True or False"),
        ):
            if not good:
                raise Refused("bad-input", f"ScriptedAnswer({field}=…) is {what}, not {shown(getattr(self, field))}")


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_call(call: object) -> bool:
    return (
        isinstance(call, ToolCall)
        and type(call.id) is str
        and type(call.name) is str
        and type(call.arguments) is dict
        and (call.arguments_error is None or type(call.arguments_error) is str)
    )


class Scripted:
    """Plays `script`, and keeps the requests that it was sent. `Refused` for what is none."""

    def __init__(
        self, script: Mapping[Purpose, Iterable[ScriptedAnswer]] | None = None, *, provider_id: str = "scripted"
    ) -> None:
        if type(provider_id) is not str or not provider_id:
            raise Refused("bad-input", f"Scripted(provider_id=…) is a name, not {shown(provider_id)}")
        if script is not None and not isinstance(script, Mapping):
            raise Refused("bad-input", f'Scripted({{"turn": [ScriptedAnswer(…), …]}}), not {shown(script)}')
        self._id = provider_id
        self._answers: dict[Purpose, deque[ScriptedAnswer]] = {}
        self.requests: list[Request] = []
        for purpose, answers in (script or {}).items():
            given = listed(answers)
            if given is None:
                raise Refused("bad-input", f"the script of a {purpose} is a list of answers, not {shown(answers)}")
            self.add(purpose, *cast("tuple[ScriptedAnswer, ...]", given))

    @property
    def id(self) -> str:
        return self._id

    def add(self, purpose: Purpose, *answers: ScriptedAnswer) -> None:
        """Append to the script."""
        if purpose not in get_args(Purpose):
            raise Refused("bad-input", f"a call is for one of {', '.join(get_args(Purpose))}, not for {shown(purpose)}")
        for answer in answers:
            if not isinstance(answer, ScriptedAnswer):
                raise Refused("bad-input", f"a script is of ScriptedAnswer(text=…), not of {shown(answer)}")
        self._answers.setdefault(purpose, deque()).extend(answers)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        self.requests.append(request)
        answers = self._answers.get(request.purpose)
        if not answers:
            raise ProviderError(f"the script has no answer left for a {request.purpose}: add one")
        async with aclosing(_play(answers.popleft())) as pieces:
            yield pieces

    @asynccontextmanager
    async def stream_around(self, request: Request, around: Around) -> AsyncGenerator[AsyncIterator[Piece]]:
        """As over HTTP, where the body is the request by its wire names, there are no headers, and each piece is an event (M9)."""
        await around.headers({})
        try:
            sent = msgspec.convert(await around.payload(msgspec.to_builtins(request)), Request)
        except msgspec.ValidationError as fault:
            raise ProviderError(f"the body is none that a script can answer: {fault}", kind="bad_request") from fault
        async with self.stream(sent) as pieces:
            around.answered(200, {})
            yield _heard(pieces, around)


async def _heard(pieces: AsyncIterator[Piece], around: Around) -> AsyncGenerator[Piece, None]:
    async for piece in pieces:
        around.heard(msgspec.to_builtins(piece))
        yield piece


async def _play(answer: ScriptedAnswer) -> AsyncGenerator[Piece, None]:
    if answer.wait:
        await trio.sleep(answer.wait)
    if answer.text:
        yield TextStart(content_index=0)
        for word in _PIECES.findall(answer.text):
            await trio.lowlevel.checkpoint()
            yield TextDelta(content_index=0, delta=word)
        yield TextEnd(content_index=0, content=answer.text)
    for at, call in enumerate(answer.calls, start=1 if answer.text else 0):
        yield ToolCallStart(content_index=at, id=call.id, tool_name=call.name)
        await trio.lowlevel.checkpoint()
        yield ToolCallDelta(content_index=at, delta=msgspec.json.encode(call.arguments).decode())
        yield ToolCallEnd(content_index=at, tool_call=call)
    if answer.stall:
        await trio.sleep(answer.stall)
    if answer.error is not None:
        raise ProviderError(answer.error)
    if answer.cut:
        raise ProviderError(CUT, kind="cut_off")
    yield Finish(stop_reason=answer.stop_reason or ("toolUse" if answer.calls else "stop"), usage=answer.usage)
