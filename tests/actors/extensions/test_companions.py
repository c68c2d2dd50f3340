"""What extensions do beside a session: they hear of events in order, and work until it ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from sapwood import Extension, ExtensionContext
from sapwood.actors.kernel.testing import CrashAt
from sapwood.events.hooks import ProviderStreamEvent
from sapwood.events.runtime import (
    AgentEnd,
    Diagnostic,
    ExtensionError,
    MessageUpdate,
    News,
    TurnEnd,
    TurnStart,
    name_of,
)
from tests.actors.extensions.everywhere import failures
from tests.talking import drain, talking


async def test_events_are_told_in_order_each_to_who_subscribed_to_its_kind() -> None:
    heard: list[str] = []
    ear = Extension("ear")

    @ear.on(TurnStart)
    def began(event: TurnStart, context: ExtensionContext) -> None:
        heard.append(f"began {event.turn_index} in {context.cwd}")

    @ear.on(TurnEnd)
    async def ended(event: TurnEnd, context: ExtensionContext) -> None:
        await trio.lowlevel.checkpoint()
        heard.append("ended")

    @ear.on(News)
    def every(event: News, context: ExtensionContext) -> None:
        heard.append(str(event.__struct_config__.tag))

    async with talking("one", extensions=[ear]) as session:
        reader = session.events()
        await session.prompt("hi")
        told = [name_of(event) for event in drain(reader)]

    assert [one for one in heard if one.startswith(("began", "ended"))] == ["began 0 in /home/dev", "ended"]
    assert [one for one in heard if not one.startswith(("began", "ended"))] == told


async def test_what_was_published_before_the_end_is_told_before_it(autojump_clock: MockClock) -> None:
    """An audit trail has the last event."""
    heard: list[str] = []
    ear = Extension("ear")

    @ear.on(AgentEnd)
    async def slow(event: AgentEnd, context: ExtensionContext) -> None:
        await trio.sleep(1.5)
        heard.append("end")

    async with talking("one", extensions=[ear]) as session:
        began = trio.current_time()
        await session.prompt("hi")
        assert trio.current_time() == began, "the run does not wait for it"

    assert heard == ["end"]


async def test_who_is_too_slow_at_the_end_is_told_of_it(autojump_clock: MockClock) -> None:
    ear = Extension("ear")

    @ear.on(News, limit=None)
    async def never(event: News, context: ExtensionContext) -> None:
        await trio.sleep_forever()

    async with talking("one", extensions=[ear]) as session:
        reader = session.events()
        await session.prompt("hi")
        began = trio.current_time()
        await session.close()
        assert trio.current_time() - began <= 2.2
        events = drain(reader)

    [failed] = failures(events)
    assert (failed.extension, failed.error_message) == ("ear", "it was at work when the session ended")
    [left] = [one for one in events if isinstance(one, Diagnostic)]
    assert left.code == "events_left_out"
    assert left.facts is not None
    assert left.facts["lost"] > 5


async def test_pieces_of_an_answer_are_told_and_events_of_the_wire_too() -> None:
    pieces: list[str] = []
    wire: list[object] = []
    ear = Extension("ear")

    @ear.on(MessageUpdate)
    def piece(event: MessageUpdate, context: ExtensionContext) -> None:
        pieces.append(str(getattr(event.assistant_message_event, "delta", "")))

    @ear.on(ProviderStreamEvent)
    def raw(event: ProviderStreamEvent, context: ExtensionContext) -> None:
        wire.append((event.provider, event.model, event.data))

    async with talking("One oak.", extensions=[ear]) as session:
        await session.prompt("hi")

    assert "".join(pieces) == "One oak."
    assert ("scripted", "talker", {"type": "text_delta", "contentIndex": 0, "delta": "oak."}) in wire


async def test_no_extension_is_told_of_its_own_failures() -> None:
    """It would fail at each of them, for ever."""
    heard: list[str] = []
    bad, good = Extension("bad"), Extension("good")

    @bad.on(ExtensionError)
    def again(event: ExtensionError, context: ExtensionContext) -> None:
        heard.append(f"bad heard of {event.extension}")

    @bad.on(TurnStart)
    def fail(event: TurnStart, context: ExtensionContext) -> None:
        raise ValueError("oops")

    @good.on(ExtensionError)
    def fine(event: ExtensionError, context: ExtensionContext) -> None:
        heard.append(f"good heard of {event.extension}")

    async with talking("one", extensions=[bad, good]) as session:
        await session.prompt("hi")

    assert heard == ["good heard of bad"]


async def fail() -> None:
    raise ValueError("no network")


def fail_at_once(event: News, context: ExtensionContext) -> None:
    raise ValueError("no network")


def fail_later(event: News, context: ExtensionContext) -> None:
    if isinstance(event, ExtensionError):
        context.start_soon(fail)


@pytest.mark.parametrize("handler", [fail_at_once, fail_later])
@pytest.mark.parametrize("kind", [ExtensionError, News])
async def test_those_that_fail_at_the_failures_of_others_do_not_go_on_for_ever(
    kind: type[News], handler: Callable[[News, ExtensionContext], None], autojump_clock: MockClock
) -> None:
    """Each is told of the first failure, and nobody of what came of that; the host reads all of them."""
    reporters = [Extension(name) for name in ("one", "two", "three")]
    for reporter in reporters:
        reporter.on(kind)(handler)
    async with talking(extensions=reporters) as session:
        reader = session.events()
        session.feed(ExtensionError(extension="other", event="turn_start", error_message="oops"))
        await trio.sleep(1)
        told = failures(drain(reader))
        again = session.feed(ExtensionError(extension="other", event="turn_start", error_message="oops"))
        await trio.sleep(1)
        told_again = failures(drain(reader))

    assert sorted(one.extension for one in told) == ["one", "other", "three", "two"]
    assert sorted(one.extension for one in told_again) == ["one", "other", "three", "two"], again


async def test_work_that_raises_is_told_and_harms_nobody(autojump_clock: MockClock) -> None:
    done: list[str] = []
    busy = Extension("busy")

    async def later(seconds: float, words: str) -> None:
        try:
            await trio.sleep(seconds)
            if words == "fails":
                raise ValueError(words)
        finally:
            done.append(words)

    @busy.on(TurnStart)
    def begin(event: TurnStart, context: ExtensionContext) -> None:
        context.start_soon(later, 0.05, "fails")
        context.start_soon(later, 1000, "lasts")

    async with talking("one", "two", extensions=[busy]) as session:
        reader = session.events()
        await session.prompt("hi")
        await trio.sleep(1)
        assert done == ["fails"]
        assert not (await session.prompt("again")).failed
        await session.close()
        assert sorted(done) == ["fails", "fails", "lasts", "lasts"], "what was still at work was cancelled"
        failed = failures(drain(reader))

    assert [(one.extension, one.event, one.error_message) for one in failed] == [
        ("busy", "background", "ValueError: fails")
    ]


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_crash_loses_one_event_at_most(nth: int) -> None:
    heard: list[str] = []
    ear = Extension("ear")

    @ear.on(TurnStart)
    def began(event: TurnStart, context: ExtensionContext) -> None:
        heard.append("turn")

    async with talking("one", "two", "three", extensions=[ear], tap=CrashAt("companions", nth)) as session:
        for text in ("a", "b", "c"):
            assert not (await session.prompt(text)).failed

    assert len(heard) >= 2


@pytest.mark.parametrize("nth", range(1, 6))
async def test_what_waits_in_a_crash_is_told_without_another_event(nth: int, autojump_clock: MockClock) -> None:
    """One event is in hand, one more may be with a handler: the others are told, each once and in order."""
    heard: list[str] = []
    ear = Extension("ear")

    @ear.on(TurnStart)
    async def began(event: TurnStart, context: ExtensionContext) -> None:
        await trio.sleep(0.1)
        heard.append(str(event.turn_index))

    async with talking(extensions=[ear], tap=CrashAt("companions", nth)) as session:
        for turn in range(4):
            session.feed(TurnStart(turn_index=turn))
        await trio.sleep(1)
        in_time = list(heard)

    assert in_time == heard == sorted(set(heard))
    assert len(heard) >= 2
