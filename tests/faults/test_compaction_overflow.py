"""A: requests that are too large, of turns and of summaries, and answers without room: made smaller once, never sent again as they were."""

from __future__ import annotations

from typing import Final

import pytest
import trio
import trio.testing

from sapwood import (
    ImageContent,
    Request,
    ScriptedAnswer,
    ThinkingContent,
    Usage,
)
from sapwood.events.entries import ContextEdit, MessageEntry
from sapwood.events.errors import ContextTooLarge, ProviderError
from sapwood.events.runtime import AutoRetryStart
from tests.build import assistant, text, user, words
from tests.faults.compacting import (
    SMALL,
    TIGHT,
    Scribe,
    answer_of,
    budgets,
    compacting,
    compactions,
    long_history,
    news_of,
    raising,
    record,
    tokens_of,
    window,
)
from tests.faults.history import Log, words_of
from tests.faults.sent import as_bytes, texts
from tests.talking import drain

RATE_LIMITS: Final = (
    "429 Rate limit reached: 200000 tokens per minute (TPM), try again in 2s",
    "429 too many tokens, please wait before trying again",
    "429 Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000",
)
OVERFLOWS: Final = (
    "400 prompt is too long: 210000 tokens > 200000 maximum",
    "400 This model's maximum context length is 128000 tokens",
    "413 request_too_large",
    "400 input is too long for this model",
)


@pytest.mark.parametrize("error", RATE_LIMITS)
async def test_a11_a_rate_limit_is_never_compacted_away(error: str, autojump_clock: trio.testing.MockClock) -> None:
    """A11: whatever it says of tokens. One that would come again is not waited for."""
    provider = Scribe(*[ScriptedAnswer(error=error)] * 2, "there")
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        reader = session.events()
        passes = error != RATE_LIMITS[-1]
        assert (await session.prompt("go on")).failed is not passes
        assert compactions(session) == []
        told = drain(reader)
        assert news_of(told).ends == ()
        assert [one.attempt for one in told if isinstance(one, AutoRetryStart)] == ([1, 2] if passes else [])
    assert [request.purpose for request in provider.requests] == ["turn"] * (3 if passes else 1)
    assert as_bytes(provider.turns[0]) == as_bytes(provider.turns[-1])


@pytest.mark.parametrize("error", OVERFLOWS)
async def test_a11_a_request_that_is_too_large_is_compacted_and_made_again(error: str) -> None:
    """A11: and not sent again as it was."""
    provider = Scribe(ScriptedAnswer(error=error), "there")
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        reader = session.events()
        assert not (await session.prompt("go on")).failed
        assert len(compactions(session)) == 1
        told = drain(reader)
        assert [(end.reason, end.will_retry) for end in news_of(told).ends] == [("overflow", True)]
        assert not any(isinstance(one, AutoRetryStart) for one in told)
    assert [request.purpose for request in provider.requests] == ["turn", "compaction", "turn"]
    assert tokens_of(provider.turns[1]) < tokens_of(provider.turns[0])


class Gateway(Scribe):
    """Lets no body through that is larger than a megabyte."""

    def complaint(self, request: Request) -> str | None:
        size = sum(map(len, as_bytes(request)))
        return f"400 request too large: {size} bytes, 1048576 at most" if size > 1_048_576 else None


@pytest.mark.parametrize("recent", [False, True], ids=["in the past", "in what is kept"])
async def test_a12_a_body_of_too_many_bytes_is_made_smaller_once(recent: bool) -> None:
    """A12: three images. Those of the past go with it; those that are kept end the recovery, once, and the session stays usable."""
    log = Log()
    image = ImageContent(data="A" * 400_000, mime_type="image/png")
    log.turns(2, 400)
    log.add(user((text("look"), image, image, image)), assistant("seen"))
    log.turns(0 if recent else 4, 1_000)
    provider = Gateway()
    async with compacting(provider, log.store(), model=window(20_000), settings=budgets(4_000, 3_000)) as session:
        reader = session.events()
        outcome = await session.prompt("go on")
        assert [end.reason for end in news_of(drain(reader)).ends][:1] == ["overflow"]
        assert len(provider.turns) == 2
        if recent:
            assert outcome.failed
            await session.edit(log.entries[4].id, None)
        else:
            assert len(compactions(session)) == 1
            assert not outcome.failed
        assert not (await session.prompt("and then?")).failed
    assert sum(map(len, as_bytes(provider.turns[-1]))) < 1_048_576
    assert all(b"AAAA" not in line for request in provider.summaries for line in as_bytes(request))


def cut_off(words: str, *, sent: int, said: int) -> ScriptedAnswer:
    told = Usage(input=sent, output=said, cache_read=0, cache_write=0, total_tokens=sent + said)
    return ScriptedAnswer(text=words, stop_reason="length", usage=told)


@pytest.mark.parametrize("again", ["a good answer", "cut off again"])
async def test_a13_an_answer_without_room_is_made_again_once(again: str) -> None:
    """A13: cut off after 16 tokens, since the window was full. The attempt is hidden, and a second one is the last."""
    cut = cut_off("", sent=7_900, said=16)
    provider = Scribe(cut, "whole" if again == "a good answer" else cut, "third")
    async with compacting(
        provider, long_history(5).store(), model=window(10_000, max_output=4_000), settings=TIGHT
    ) as session:
        reader = session.events()
        outcome = await session.prompt("go on")
        told = news_of(drain(reader))
        assert told.ends[0].will_retry
        assert len(provider.turns) == 2
        assert len(compactions(session)) == 1
        [edit] = [entry for entry in session.entries() if isinstance(entry, ContextEdit)]
        hidden = session.entry(edit.target_id)
        assert isinstance(hidden, MessageEntry)
        assert hidden.id not in {item.entry_id for item in session.context().items}
        if again == "a good answer":
            assert answer_of(outcome) == "whole"
        else:
            assert told.ends[-1].error_message == (
                "Truncated response recovery failed after one compact-and-retry attempt."
            )
            assert not (await session.prompt("shorter")).failed
    assert texts(provider.turns[1])[-1] == "go on"
    assert provider.turns[1].messages[-1].role == "user"


async def test_a13_a_long_answer_that_filled_its_own_limit_is_kept() -> None:
    """A13: there was plenty of room; it is no reason to compact."""
    provider = Scribe(cut_off(words_of(1_000), sent=5_000, said=1_000))
    async with compacting(
        provider, long_history(3).store(), model=window(10_000, max_output=1_000), settings=TIGHT
    ) as session:
        assert not (await session.prompt("write much")).failed
        assert compactions(session) == []
        assert not any(isinstance(entry, ContextEdit) for entry in session.entries())
    assert len(provider.requests) == 1


async def test_a14_a_summary_that_overflows_as_well_is_made_of_smaller_parts() -> None:
    """A14: the window is smaller than anybody said. What overflowed is never sent again."""
    provider = Scribe(takes=4_000)
    async with compacting(provider, long_history(6).store(), model=SMALL, settings=TIGHT) as session:
        assert not (await session.prompt("go on")).failed
        assert len(compactions(session)) == 1
    assert [tokens_of(request) > 4_000 for request in provider.turns] == [True, False]
    sent = [tuple(as_bytes(request)) for request in provider.summaries]
    assert len({*sent}) == len(sent) > 2
    assert tokens_of(provider.summaries[0]) > 4_000


async def test_a14_where_no_summary_can_be_had_a_larger_model_takes_the_session_up() -> None:
    """A14: one recovery an input, a failure that tells the sizes, no entry; and the same log is compacted by another model."""
    provider = Scribe(takes=4_000, writes=raising(ProviderError("400 prompt is too long")))
    async with compacting(provider, long_history(6).store(), model=SMALL, settings=TIGHT) as session:
        for _ in range(2):
            reader, before = session.events(), len(provider.turns)
            assert (await session.prompt("go on")).failed
            told = news_of(drain(reader))
            assert compactions(session) == []
            assert len(provider.turns) == before + 1
            assert [end.reason for end in told.ends].count("overflow") == 1
            said = next(end.error_message for end in told.ends if end.reason == "overflow")
            assert said is not None
            assert said.startswith("Context overflow recovery failed: Summarization failed: a request of ")
            assert "tokens was too large" in said
        provider.takes = None
        provider.writes = lambda _: record()
        await session.set_model(window(1_000_000))
        await session.compact()
        assert len(compactions(session)) == 1
        assert not (await session.prompt("there?")).failed


async def test_a14_where_no_summary_can_be_had_a_move_back_takes_the_session_up() -> None:
    """A14: the same log, the same model: an earlier entry is gone to, without a summary, and the talk goes on from there."""
    log = long_history(6)
    provider = Scribe(takes=4_000, writes=raising(ProviderError("400 prompt is too long")))
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT) as session:
        assert (await session.prompt("go on")).failed
        assert compactions(session) == []
        earlier = log.entries[3].id
        assert session.state == "idle"
        await session.navigate(earlier)
        assert not (await session.prompt("there?")).failed
        assert compactions(session) == []
    assert texts(provider.turns[-1]) == [*map(words, log.messages[:4]), "there?"]
    assert tokens_of(provider.turns[-1]) <= 4_000


async def test_a15_no_request_for_a_summary_is_larger_than_the_window_allows() -> None:
    """A15: five thousand entries, of them 800 of an extension's with 5 MB, and 2 MB of thinking."""
    log = Log()
    for nth in range(800):
        log.note(words_of(1_562, f"note{nth}"))
        log.add(user(f"question {nth}"), assistant(ThinkingContent(thinking="h" * 2_500), f"answer {nth}"))
    log.turns(900, 20)
    provider = Scribe(takes=128_000 - 16_384)
    async with compacting(provider, log.store(), model=window(128_000)) as session:
        assert not (await session.prompt("go on")).failed
        assert len(compactions(session)) == 1
    assert len(log.entries) >= 4_200
    sizes = [tokens_of(request) for request in provider.summaries]
    assert max(sizes) <= 128_000 - 16_384
    assert sum(map(len, as_bytes(provider.summaries[0]))) <= 4 * 128_000
    assert len({tuple(texts(request)) for request in provider.summaries}) == len(sizes) >= 12
    assert not any("hhhh" in one for request in provider.summaries for one in texts(request))


async def test_a18_what_cannot_be_made_to_fit_is_told_once_and_not_sent() -> None:
    """A18: with its size, the window and the largest entries; the session stays readable, and an edit brings it back."""
    log = Log()
    large = log.add(user(words_of(15_000)))
    log.add(assistant("much"))
    provider = Scribe(takes=10_000)
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT) as session:
        with pytest.raises(ContextTooLarge) as caught:
            await session.prompt("go on")
        assert caught.value.tokens >= 15_000
        assert caught.value.window == 10_000
        assert caught.value.largest[0][0] == large
        assert provider.turns == []
        assert len(session.entries()) == len(log.entries)
        await session.edit(large, None)
        assert not (await session.prompt("go on")).failed
