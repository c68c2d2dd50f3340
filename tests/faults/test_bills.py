"""L03 and I07 over each wire: what a server billed is what a session has cost, and what is asked again is asked in the same bytes."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from sapwood import CompactionSettings, Model, RetryPolicy, Runtime, Settings
from tests.compacting import summary
from tests.serving import Play, serving, streamed, whole
from tests.wires import KEY, PLAIN, WIRES

WHOLE = 420 + 50
BROKEN = {"anthropic": 420 + 7, "openai_chat": 420 + 7, "openai_responses": WHOLE, "gemini": 420 + 3}
"""Tokens that the server had told of when an answer broke off, see `Recorded.counted`."""


@pytest.mark.parametrize("wire", WIRES)
async def test_l03_the_totals_are_what_the_server_billed_whatever_became_of_its_answers(
    wire: str, autojump_clock: trio.testing.MockClock
) -> None:
    """L03, I07: answers that broke off, ones that were refused, a turn that was tried again, a summary that was."""
    autojump_clock.autojump_threshold = 0.03
    recorded, say = WIRES[wire], PLAIN[wire]
    first = recorded.stream[: recorded.stream.find(b"\n\n") + 2]
    breaks = streamed([first, recorded.counted])
    overloaded = whole(b"{}", "529 Overloaded", kind="application/json")
    billed = 0

    def bills(play: Play, tokens: int) -> Play:
        async def billing(stream: trio.SocketStream) -> None:
            nonlocal billed
            billed += tokens
            await play(stream)

        return billing

    def answer(text: str) -> Play:
        return bills(whole(say(text)), WHOLE)

    broken = bills(breaks, BROKEN[wire])
    plays = iter([broken, overloaded, answer("An oak."), answer("A birch."), broken, overloaded, answer(summary())])

    async def play(stream: trio.SocketStream) -> None:
        await next(plays)(stream)

    async with serving(play) as served, recorded.provider(key=KEY, base_url=served.url, provider_id="p") as provider:
        model = Model(provider="p", id="m", context_window=100_000)
        settings = Settings(
            retry=RetryPolicy(max_retries=3), compaction=CompactionSettings(enabled=False, keep_recent_tokens=100)
        )
        async with (
            Runtime(providers=[provider], counter="heuristic") as runtime,
            runtime.open_session(None, model=model, settings=settings) as session,
        ):
            for asked in ("Which tree?", "And now? " * 100):  # the first turn is summed up, whole
                assert not (await session.prompt(asked)).failed
            await session.compact()
            spent = session.stats()

    turns, more, summaries = served.requests[:3], served.requests[3:4], served.requests[4:]
    assert [len(set(turns)), len(more), len(set(summaries)), len(summaries)] == [1, 1, 1, 3]
    assert spent.spent.total == billed == 3 * WHOLE + 2 * BROKEN[wire]
    assert spent.by_purpose["turn"].total == 2 * WHOLE + BROKEN[wire]
    assert spent.by_purpose["compaction"].total == WHOLE + BROKEN[wire]
    assert {name: one.total for name, one in spent.by_model.items()} == {"p/m": billed}
