"""H and I: what a run asks of a server that fails it, how often, and what of it is kept. Codes as in README.md.

What a server does to a single attempt is in `test_hostile_servers.py`.
"""

from __future__ import annotations

import gc
import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from itertools import chain, repeat

import attrs
import pytest
import trio
import trio.testing

from sapwood import (
    AnthropicProvider,
    CompactionSettings,
    Model,
    Published,
    RetryPolicy,
    Runtime,
    Session,
    SessionClosed,
    Settings,
)
from sapwood.events.content import text_of
from sapwood.events.entries import MessageEntry
from sapwood.events.failures import failure_of
from sapwood.events.messages import AssistantMessage
from sapwood.events.runtime import AgentSettled, AutoRetryStart, Event, MessageUpdate
from tests.faults.compacting import record
from tests.serving import Play, Served, serving, streamed, whole
from tests.wires import ANTHROPIC_FAILURE, MESSAGE_START, WIRES, anthropic, request

MODEL = Model(provider="p", id="m", context_window=200_000)
SAID = "An oak stands there."
COMPACTING = CompactionSettings(keep_recent_tokens=200)
RETRIES = RetryPolicy(max_retries=3)
OVERLOADED = whole(b"{}", "529 Overloaded", kind="application/json")


def said(text: str = SAID, *, sent: int = 100, wrote: int = 5) -> list[bytes]:
    """An answer, event by event, and what it is billed with."""
    start = {
        **MESSAGE_START,
        "message": {**MESSAGE_START["message"], "usage": {"input_tokens": sent, "output_tokens": 1}},
    }
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
        for word in re.findall(r"\s*\S+\s*", text)
    ]
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": wrote}}
    rest = [{"type": "content_block_stop", "index": 0}, end, {"type": "message_stop"}]
    return [anthropic(event) for event in (start, block, *deltas, *rest)]


ANSWER = streamed(said())


@pytest.fixture
def clock() -> trio.testing.MockClock:
    """Jumps when nothing happens for a moment: a byte on its way to another socket of this machine takes less."""
    return trio.testing.MockClock(autojump_threshold=0.03)


@attrs.define
class Talk:
    """A session over a wire, and its server."""

    session: Session
    served: Served
    events: list[Event] = attrs.field(factory=list[Event])

    @property
    def answers(self) -> list[AssistantMessage]:
        """Those in the log, failed ones too."""
        messages = [entry.message for entry in self.session.entries() if isinstance(entry, MessageEntry)]
        return [message for message in messages if isinstance(message, AssistantMessage)]

    @property
    def bodies(self) -> list[bytes]:
        """What the server was sent, whole."""
        return self.served.requests

    def of(self, kind: type[Event]) -> int:
        """How many events of a kind were told."""
        return sum(isinstance(event, kind) for event in self.events)

    async def watch(self) -> None:
        """Keep every event."""
        async for item in self.session.events():
            if isinstance(item, Published):
                self.events.append(item.event)


@asynccontextmanager
async def talking(plays: Iterable[Play], *, retries: RetryPolicy = RETRIES, idle: float = 300) -> AsyncGenerator[Talk]:
    """A session whose server plays these, one a request."""
    script = iter(plays)

    async def play(stream: trio.SocketStream) -> None:
        await next(script)(stream)

    async with (
        serving(play) as served,
        AnthropicProvider(key=None, base_url=served.url, provider_id="p", idle=idle) as provider,
        Runtime(providers=[provider], counter="heuristic") as runtime,
        runtime.open_session(None, model=MODEL, settings=Settings(retry=retries, compaction=COMPACTING)) as session,
        trio.open_nursery() as nursery,
    ):
        talk = Talk(session, served)
        nursery.start_soon(talk.watch)
        await trio.testing.wait_all_tasks_blocked()
        yield talk
        await session.close()


async def stalling(_: trio.SocketStream) -> None:
    await trio.sleep_forever()


async def test_h03_limits_on_silence_and_retries_have_a_sum(clock: trio.testing.MockClock) -> None:
    """H03: four attempts of two seconds, and 2, 4 and 8 s between them."""
    async with talking(repeat(stalling), idle=2) as talk:
        began = trio.current_time()
        outcome = await talk.session.prompt("Which tree?")

        assert outcome.failed
        assert [failure_of(answer).kind for answer in talk.answers] == ["timeout"] * 4
        assert trio.current_time() - began <= 4 * 2 + 2 + 4 + 8 + 1


@pytest.mark.parametrize("leaves", ["stops", "raises", "drops it"])
async def test_h09_who_stops_to_read_breaks_no_scope(leaves: str, clock: trio.testing.MockClock) -> None:
    """H09: and leaves nothing behind that complains when it is collected."""
    for recorded in WIRES.values():
        async with serving(streamed([recorded.stream], then="stall")) as served:
            async with recorded.provider(key=None, base_url=served.url) as provider:
                with trio.move_on_after(5) as scope:
                    try:
                        async with provider.stream(request()) as pieces:
                            await anext(pieces)
                            if leaves == "raises":
                                raise ZeroDivisionError  # noqa: TRY301 - it goes through the block of the answer
                            if leaves == "drops it":
                                del pieces
                    except ZeroDivisionError:
                        assert leaves == "raises"
                assert not scope.cancelled_caught
            gc.collect()
            await trio.sleep(1)
            assert served.open == 0


@pytest.mark.parametrize("after", [0, 1, 2, 4])
@pytest.mark.parametrize("how", ["end", "cut"])
async def test_h11_an_answer_that_breaks_is_made_again_and_nothing_of_it_twice(
    after: int, how: str, clock: trio.testing.MockClock
) -> None:
    """H11: whatever of the first one was told already stays with the failed attempt."""
    async with talking([streamed(said()[:after], then=how), ANSWER]) as talk:
        outcome = await talk.session.prompt("Which tree?")

        assert not outcome.failed
        failed, good = talk.answers
        assert (failed.stop_reason, text_of(good.content)) == ("error", SAID)
        assert text_of(good.content).startswith(text_of(failed.content))
        assert len(talk.bodies) == 2
    calls = {event.call_id for event in talk.events if isinstance(event, MessageUpdate)}
    assert len(calls) == (2 if after > 1 else 1)


async def test_i02_a_wait_beyond_the_cap_fails_at_once_and_says_so(clock: trio.testing.MockClock) -> None:
    """I02, I03: it used to be slept for, or cut to the cap and asked too early."""
    async with talking(repeat(whole(b"{}", "429 Too Many Requests", "retry-after: 18000"))) as talk:
        began = trio.current_time()
        outcome = await talk.session.prompt("Which tree?")

        assert outcome.failed
        assert len(talk.bodies) == 1
        assert trio.current_time() - began < 1
        assert failure_of(talk.answers[-1]).retry_after_ms == 18_000_000


async def refused(stream: trio.SocketStream) -> None:
    raise EOFError


@pytest.mark.parametrize("play", [OVERLOADED, refused], ids=["503", "cut"])
async def test_i04_there_is_one_layer_of_retries(play: Play, clock: trio.testing.MockClock) -> None:
    """I04: three retries are four requests."""
    async with talking(repeat(play)) as talk:
        outcome = await talk.session.prompt("Which tree?")

        assert outcome.failed
        assert (len(talk.bodies), talk.served.connections) == (4, 4)
    assert talk.of(AutoRetryStart) == 3


@pytest.mark.parametrize("before", [0, 4])
async def test_i05_an_overload_inside_of_an_answer_is_tried_again(before: int, clock: trio.testing.MockClock) -> None:
    """I05: before anything was said, and after."""
    async with talking([streamed([*said()[:before], ANTHROPIC_FAILURE]), ANSWER]) as talk:
        outcome = await talk.session.prompt("Which tree?")

        assert not outcome.failed
        assert [failure_of(answer).kind for answer in talk.answers] == ["overloaded", "unknown"]


async def test_i05_an_error_that_nobody_knows_is_the_end_and_is_kept(clock: trio.testing.MockClock) -> None:
    """I05: with what the server said."""
    odd = anthropic({"type": "error", "error": {"type": "an_odd_error", "message": "the moon is full"}})
    async with talking([streamed([odd]), ANSWER]) as talk:
        outcome = await talk.session.prompt("Which tree?")

        assert outcome.failed
        assert "the moon is full" in (talk.answers[-1].error_message or "")
        assert len(talk.bodies) == 1


async def test_i06_a_prompt_is_over_when_its_last_attempt_is(clock: trio.testing.MockClock) -> None:
    """I06: and it settles once."""
    async with talking([OVERLOADED, OVERLOADED, ANSWER]) as talk:
        outcome = await talk.session.prompt("Which tree?")

        assert outcome.answer == talk.answers[-1]
        assert talk.answers[-1].stop_reason == "stop"
    assert talk.of(AgentSettled) == 1


async def test_i07_attempts_are_the_same_bytes_and_what_failed_is_not_sent(clock: trio.testing.MockClock) -> None:
    """I07, M4: byte for byte as the server was sent them; failed attempts stay in the log alone."""
    plays = [
        OVERLOADED,
        streamed(said()[:3], then="cut"),
        streamed([ANTHROPIC_FAILURE]),
        refused,
        stalling,
        ANSWER,
        ANSWER,
    ]
    async with talking(plays, retries=RetryPolicy(max_retries=5), idle=20) as talk:
        assert not (await talk.session.prompt("Which tree?")).failed
        assert len(set(talk.bodies)) == 1
        assert len(talk.bodies) == 6
        await talk.session.prompt("And now?")

        assert len(talk.answers) == 7
        *_, last = talk.bodies
        assert last.count(b'"role":"assistant"') == 1
        assert b"overloaded" not in last.lower()


@pytest.mark.parametrize("stop", ["abort", "close", "cancel"])
async def test_i08_a_back_off_ends_at_once(stop: str, clock: trio.testing.MockClock) -> None:
    """I08: whoever ends it, and nothing more is asked for."""
    settled: list[float] = []
    async with talking(repeat(whole(b"{}", "429 Too Many Requests", "retry-after: 60"))) as talk:
        scope = trio.CancelScope()

        async def asked() -> None:
            with scope, suppress(SessionClosed):
                await talk.session.prompt("Which tree?")
            settled.append(trio.current_time())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(asked)
            await trio.sleep(30)
            began = trio.current_time()
            if stop == "abort":
                await talk.session.abort()
            elif stop == "close":
                await talk.session.close()
            else:
                scope.cancel()
    assert settled[0] - began < 0.2
    assert len(talk.bodies) == 1


async def test_what_a_server_bills_is_in_the_sums_whatever_became_of_it(clock: trio.testing.MockClock) -> None:
    """L03, T6: failed attempts, retries and summaries of either end; each once."""
    long, bills = "word " * 400, list[tuple[int, int]]()

    def billed(sent: int, wrote: int, play: Play) -> Play:
        async def played(stream: trio.SocketStream) -> None:
            bills.append((sent, wrote))
            await play(stream)

        return played

    plays = [
        billed(100, 1, streamed(said(sent=100)[:4], then="cut")),  # the turn breaks, and what it sent was billed
        billed(0, 0, OVERLOADED),
        billed(100, 40, streamed(said(long, sent=100, wrote=40))),
        billed(170, 50, streamed(said(long, sent=170, wrote=50))),
        billed(300, 1, streamed([*said(sent=300)[:3], ANTHROPIC_FAILURE])),  # the summary breaks
    ]
    summary = billed(310, 25, streamed(said(record(), sent=310, wrote=25)))
    async with talking(chain(plays, repeat(summary))) as talk:
        for words in ("one", "two"):
            assert not (await talk.session.prompt(words)).failed
        await talk.session.compact()
        assert not (await talk.session.prompt("three")).failed

        spent = talk.session.stats().spent
        assert len(bills) == len(talk.bodies) > len(plays) + 1
        assert (spent.input, spent.output) == (sum(sent for sent, _ in bills), sum(wrote for _, wrote in bills))
