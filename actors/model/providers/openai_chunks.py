"""The chunks of an answer of Chat Completions into pieces, whichever server streams them. No I/O.

1. The answer is whole when a choice says why it ended and `[DONE]` came (M2).
2. Calls are told apart by their number, by their id where servers count badly, and by their order where they do neither.
3. Usage is looked for in all the places where servers put it; one that says nothing is not taken for zero (M8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from sapwood.actors.model.amounts import dollars_of, field, text_at, tokens_of, usage_of
from sapwood.actors.model.blocks import Blocks, as_arguments, finished
from sapwood.actors.model.failing import failed_event
from sapwood.actors.model.providers.base import Piece
from sapwood.actors.model.sse import ServerEvent
from sapwood.actors.model.wire import Quick, cut, read_json
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.messages import StopReason, Usage

DONE: Final = "[DONE]"
THOUGHTS: Final = ("reasoning_content", "reasoning", "reasoning_text")
"""Fields in which servers stream what a model thinks. The first that says something is the one."""
DETAILS: Final = "reasoning_details"
"""Thinking in parts, some of them signed or encrypted, which a gateway wants back as they came."""

STOPS: Final[dict[str, StopReason]] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "error",
    "sensitive": "error",
    "error": "error",
    "network_error": "error",
}
"""How an answer ended. A word that is not here is an end as well: it came behind a whole answer."""
REFUSALS: Final = {"content_filter", "sensitive"}


class _Said(msgspec.Struct, frozen=True, gc=False):
    content: str
    refusal: None = None
    reasoning_content: Literal[""] | None = None
    reasoning: Literal[""] | None = None
    reasoning_text: Literal[""] | None = None
    reasoning_details: tuple[()] | None = None
    tool_calls: tuple[()] | None = None
    function_call: None = None


class _Choice(msgspec.Struct, frozen=True, gc=False):
    delta: _Said
    finish_reason: None = None
    usage: None = None


class _More(msgspec.Struct, frozen=True, gc=False):
    choices: tuple[_Choice]
    id: str = ""
    model: str = ""
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    usage: None = None
    error: None = None
    x_groq: None = None


_MORE: Final = Quick(_More)


class ChatDecoder:
    """The chunks of one answer."""

    def __init__(self, *, done_mark: bool = True) -> None:
        self._done_mark = done_mark
        self._blocks = Blocks()
        self._last: object = None
        """The key of the block that was added to last."""
        self._calls: dict[int, tuple[object, str]] = {}
        """Under the index of a call, the key of its block and the id that it came with."""
        self._thoughts: list[object] = []
        """Keys of what was thought."""
        self._details: list[Json] = []
        self._counts: dict[str, int | None] = {}
        self._total: int | None = None
        self._cost: float | None = None
        self._model: str | None = None
        self._id: str | None = None
        self._stop: str | None = None

    @property
    def usage(self) -> Usage:
        return usage_of(self._counts, total=self._total, cost=self._cost)

    @property
    def may_end(self) -> bool:
        return self._stop is not None and not self._done_mark

    def end(self) -> Sequence[Piece]:
        if not self.may_end:
            raise cut(self.usage)
        return self._finished()

    def feed(self, event: ServerEvent) -> Sequence[Piece] | None:
        more = _MORE.read(event)
        if more is not None and (text := more.choices[0].delta.content):
            self._model, self._id = more.model or self._model, more.id or self._id
            return self._text("text", text)
        if event.data.strip() == DONE:
            if self._stop is None:
                raise cut(self.usage)
            return self._finished()
        said = read_json(event)
        if field(said, "error") is not None or field(said, "object") == "error" or event.name == "error":
            raise failed_event("openai-completions", said)
        self._model = text_at(said, "model") or self._model
        self._id = text_at(said, "id") or self._id
        choices = field(said, "choices")
        choice = choices[0] if is_array(choices) and choices else None
        counted = [
            self._count(usage)
            for usage in (field(said, "usage"), field(choice, "usage"), field(said, "x_groq", "usage"))
            if usage is not None
        ]
        pieces = self._delta(field(choice, "delta"))
        stop = text_at(choice, "finish_reason")
        self._stop = stop or self._stop
        return pieces if pieces or stop or any(counted) or text_at(choice, "delta", "role") else None

    def _delta(self, delta: Json) -> list[Piece]:
        pieces: list[Piece] = []
        name = next((name for name in THOUGHTS if text_at(delta, name)), None)
        details = field(delta, DETAILS)
        if name is not None:
            pieces += self._text("thinking", text_at(delta, name))
            self._blocks.sign(self._last, name)
        if is_array(details) and details:
            self._details += details
        pieces += self._text("text", text_at(delta, "content") or text_at(delta, "refusal"))
        calls = field(delta, "tool_calls")
        for call in calls if is_array(calls) else ():
            pieces += self._call(call)
        old = field(delta, "function_call")
        return pieces if old is None else [*pieces, *self._call({"index": 0, "function": old})]

    def _text(self, kind: Literal["text", "thinking"], delta: str) -> list[Piece]:
        """More of the block that is open, if it is one of this kind; else a block of its own."""
        if not delta:
            return []
        key = self._last if isinstance(self._last, tuple) and self._last[0] == kind else (kind, len(self._blocks))
        if kind == "thinking" and key not in self._blocks:
            self._thoughts.append(key)
        return [*self._turn_to(key), *self._blocks.open(key, kind), *self._blocks.add(key, delta)]

    def _turn_to(self, key: object) -> list[Piece]:
        """A text or a thought ends where something else begins; a call may be gone on with."""
        before, self._last = self._last, key
        return list(self._blocks.close(before)) if before != key and isinstance(before, tuple) else []

    def _call(self, call: Json) -> list[Piece]:
        index, call_id = field(call, "index"), text_at(call, "id")
        if not isinstance(
            index, int
        ):  # some servers count nothing: an id begins a call, and what has none belongs to the last
            index = len(self._calls) if call_id or not self._calls else len(self._calls) - 1
        key, known = self._calls.get(index, (index, call_id))
        if call_id and known and call_id != known:  # and some give every call the same number
            key, known = call_id, call_id
        self._calls[index] = (key, known or call_id)
        given = field(call, "function", "arguments")
        opened = self._turn_to(key)
        if key not in self._blocks:
            call_id = call_id or f"{self._id or 'call'}-{index}"
            opened += self._blocks.open(key, "call", call_id=call_id, name=text_at(call, "function", "name"))
        return [*opened, *self._blocks.add(key, "" if given is None else as_arguments(given))]

    def _count(self, usage: Json) -> bool:
        prompt, output = tokens_of(field(usage, "prompt_tokens")), tokens_of(field(usage, "completion_tokens"))
        reasoning = tokens_of(field(usage, "completion_tokens_details", "reasoning_tokens"))
        read = tokens_of(field(usage, "prompt_tokens_details", "cached_tokens"))
        read = tokens_of(field(usage, "prompt_cache_hit_tokens")) if read is None else read
        write = tokens_of(field(usage, "prompt_tokens_details", "cache_write_tokens"))
        total = tokens_of(field(usage, "total_tokens"))
        if prompt is None and output is None:
            return False
        if total is not None and reasoning and total == (prompt or 0) + (output or 0) + reasoning:
            output = (output or 0) + reasoning  # one server bills what was thought beside the answer
        fresh = None if prompt is None else max(0, prompt - (read or 0) - (write or 0))
        self._counts = {
            "input": fresh,
            "output": output,
            "cache_read": read,
            "cache_write": write,
            "reasoning": reasoning,
        }
        self._total = total
        cost = dollars_of(field(usage, "cost"))
        self._cost = self._cost if cost is None else cost
        return True

    def _finished(self) -> list[Piece]:
        pieces: list[Piece] = [*(self._sign_details() if self._details else ()), *self._blocks.close_all()]
        finish = finished(
            self._blocks,
            STOPS.get(self._stop or "", "stop"),
            usage=self.usage,
            why=f"the answer ended with {self._stop}",
            kind="refused" if self._stop in REFUSALS else "server",
            model=self._model,
            response_id=self._id,
            raw=self._stop,
        )
        return [*pieces, finish]

    def _sign_details(self) -> list[Piece]:
        """Details are of all the thinking: the first thought bears them, one of nothing if none was told, and the others do not go back."""
        first, *others = self._thoughts or [DETAILS]
        opened = self._blocks.open(first, "thinking")
        self._blocks.sign(first, msgspec.json.encode(_joined(self._details)).decode())
        for other in others:
            self._blocks.sign(other, "")
        return list(opened)


def _joined(details: Sequence[Json]) -> list[Json]:
    """Parts of one detail, which streamed one by one, as one."""
    whole: list[dict[str, Json]] = []
    for detail in details:
        last = whole[-1] if whole else {}
        same = field(detail, "type") == last.get("type") and field(detail, "index") == last.get("index")
        if whole and same and field(detail, "type") in {"reasoning.text", "reasoning.summary"}:
            for key in ("text", "summary"):
                if text_at(detail, key):
                    last[key] = f"{last.get(key) or ''}{text_at(detail, key)}"
            signature = text_at(detail, "signature")
            whole[-1] = {**last, "signature": signature} if signature else last
        else:
            whole.append(dict(detail) if is_object(detail) else {"data": detail})
    return list(whole)
