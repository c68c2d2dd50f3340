"""What a delta costs from the socket to an observer, beside a bare httpx loop that parses the same stream; and many sessions at once.

A server in a process of its own plays an answer of 20,000 deltas, each a chunk of HTTP, as fast as it is taken. Ours is a whole session:
the prompt, the wire, the answer put together, its entry in the log, and an observer that reads every event. The bare loop posts to the
same server, takes line by line, and decodes each event with the standard library's JSON; it keeps nothing. Where more is there at once
than one delta, ours tells neighbours as one event: all the text is told, and the observer's sum of it is checked. `one by one` has a pause
between two deltas, so that each is an event of its own.

Then 200 sessions of one process stream at once, 20 deltas a second each, and every observer looks at how long nothing came. The
server's own pace is 0.05 s; what is told is the longest gap of all.

    uv run python -m benchmarks streaming
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import httpx
import trio

from benchmarks.harness import ROUNDS, Ratio, compare, limit
from sapwood import AnthropicProvider, GeminiProvider, Model, OpenAIChat, OpenAIResponses, Published, Runtime
from sapwood.actors.model.http import HttpProvider
from sapwood.events.deltas import TextDelta
from sapwood.events.runtime import MessageUpdate

DELTAS: Final = 20_000
WORDS: Final = tuple(f"word{number} " for number in range(10))
BOUND: Final = 2.0
"""Asked for; 1.3 to 1.4 is measured."""
SLOWLY, PAUSE = 2_000, 0.0005
"""Deltas that come one by one, and the seconds between them."""
SESSIONS: Final = 200
FEW: Final = 60
"""Deltas of each session where many stream at once."""
PACE: Final = 0.05
"""Seconds between them."""
GAP: Final = 1.0
"""Seconds: 0.4 is measured where others are at work; a person sees a second."""
SERVER: Final = Path(__file__).with_name("peers") / "replaying.py"


def anthropic(words: Sequence[str]) -> Iterator[Any]:
    """An answer of Anthropic's Messages."""
    yield {
        "type": "message_start",
        "message": {"id": "m", "model": "x", "usage": {"input_tokens": 9, "output_tokens": 1}},
    }
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for word in words:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": len(words)}}
    yield {"type": "message_stop"}


def chat(words: Sequence[str]) -> Iterator[Any]:
    """An answer of OpenAI's Chat Completions."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x"}
    for word in words:
        yield {**head, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield {**head, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": len(words)}}
    yield "[DONE]"


def responses(words: Sequence[str]) -> Iterator[Any]:
    """An answer of OpenAI's Responses."""
    message: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "content": []}
    whole: dict[str, Any] = {**message, "content": [{"type": "output_text", "text": "".join(words), "annotations": []}]}
    yield {"type": "response.output_item.added", "output_index": 0, "item": message}
    at = {"item_id": "m", "output_index": 0, "content_index": 0}
    for number, word in enumerate(words):
        yield {"type": "response.output_text.delta", **at, "sequence_number": number, "delta": word, "logprobs": []}
    yield {"type": "response.output_item.done", "output_index": 0, "item": whole}
    usage = {"input_tokens": 9, "output_tokens": len(words), "total_tokens": 9 + len(words)}
    yield {"type": "response.completed", "response": {"status": "completed", "output": [whole], "usage": usage}}


def gemini(words: Sequence[str]) -> Iterator[Any]:
    """An answer of Google's Gemini."""
    for number, word in enumerate(words):
        part = {"content": {"role": "model", "parts": [{"text": word}]}, "index": 0}
        yield {"candidates": [part], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": number}}
    yield {
        "candidates": [{"finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 9},
    }


WIRES: Final[dict[str, tuple[Callable[[Sequence[str]], Iterator[Any]], Callable[..., HttpProvider]]]] = {
    "anthropic": (anthropic, AnthropicProvider),
    "chat": (chat, OpenAIChat),
    "responses": (responses, OpenAIResponses),
    "gemini": (gemini, GeminiProvider),
}


def spoken(deltas: int) -> list[str]:
    """What an answer of so many deltas says."""
    return [WORDS[number % len(WORDS)] for number in range(deltas)]


def events_of(wire: str, deltas: int) -> list[str]:
    """The answer as a server sends it, an event a part."""
    make, _ = WIRES[wire]
    return [f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in make(spoken(deltas))]


@contextmanager
def serving(deltas: int, *pace: str) -> Generator[str]:
    """The address of a server that plays answers of so many deltas."""
    with tempfile.TemporaryDirectory() as folder:
        for wire in WIRES:
            (Path(folder) / wire).write_text(json.dumps(events_of(wire, deltas)))
        words = [sys.executable, str(SERVER), folder, *pace]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None  # noqa: S101 - it was asked for
                yield f"http://127.0.0.1:{int(server.stdout.readline())}"
            finally:
                server.kill()


async def bare(url: str, deltas: int) -> None:
    """A loop that parses an answer and keeps nothing of it."""
    seen = 0
    async with (
        httpx.AsyncClient(timeout=None, trust_env=False, verify=False) as client,  # noqa: S113, S501 - as ours, to 127.0.0.1
        client.stream("POST", url, content=b"{}") as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                json.loads(line[6:])
                seen += 1
    if seen < deltas:
        raise AssertionError(f"the stream was to have {deltas} events, not {seen}")


@attrs.define
class Observed:
    """What an observer saw of an answer."""

    characters: int = 0
    longest: float = 0.0
    """Seconds between two pieces of text."""

    async def watch(self, events: AsyncIterator[object]) -> None:
        """Read every event."""
        last: float | None = None
        async for item in events:
            match item:
                case Published(event=MessageUpdate(assistant_message_event=TextDelta(delta=delta))):
                    now = trio.current_time()
                    self.longest = max(self.longest, 0.0 if last is None else now - last)
                    self.characters += len(delta)
                    last = now
                case _:
                    pass


async def session(runtime: Runtime, model: Model, deltas: int) -> Observed:
    """One prompt, and what an observer saw of its answer."""
    observed = Observed()
    async with runtime.open_session(None, model=model) as one, trio.open_nursery() as nursery:
        nursery.start_soon(observed.watch, one.events())
        outcome = await one.prompt("go")
        await one.close()
    if outcome.failed or observed.characters != sum(map(len, spoken(deltas))):
        raise AssertionError(f"the observer was to see all of {deltas} deltas: {observed}, {outcome}")
    return observed


async def ours(wire: str, url: str, deltas: int) -> None:
    """The same answer through a session."""
    _, provider = WIRES[wire]
    async with provider(key=None, base_url=url, provider_id="p") as one, Runtime(providers=[one]) as runtime:
        await session(runtime, Model(provider="p", id="m", context_window=1_000_000), deltas)


async def many(url: str) -> float:
    """Seconds of the longest gap that any of so many observers saw."""
    seen: list[Observed] = []

    async def one(runtime: Runtime) -> None:
        seen.append(await session(runtime, Model(provider="p", id="m", context_window=1_000_000), FEW))

    async with (
        OpenAIChat(key=None, base_url=url, provider_id="p") as provider,
        Runtime(providers=[provider]) as runtime,
        trio.open_nursery() as nursery,
    ):
        for _ in range(SESSIONS):
            nursery.start_soon(one, runtime)
    return max(observed.longest for observed in seen)


def compared(wire: str, url: str, deltas: int, how: str, rounds: int) -> Ratio:
    """Ours over the bare loop."""
    return compare(
        f"{deltas:,} deltas over {wire}{how} to an observer / a bare loop",
        lambda: trio.run(ours, wire, f"{url}/{wire}", deltas),
        lambda: trio.run(bare, f"{url}/{wire}", deltas),
        bound=BOUND,
        rounds=rounds,
    )


def run() -> Iterator[Ratio]:
    """Ours over the bare loop, on each wire and one by one; then the longest gap."""
    with serving(DELTAS) as url:
        for wire in WIRES:
            yield compared(wire, url, DELTAS, "", ROUNDS)
    with serving(SLOWLY, str(PAUSE)) as url:
        yield compared("chat", url, SLOWLY, ", one by one", ROUNDS // 2)
    with serving(FEW, str(PACE)) as url:
        longest = trio.run(many, f"{url}/chat")
    yield limit(f"{SESSIONS} sessions at once, every {PACE:g} s: longest gap, s", longest, GAP)


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
