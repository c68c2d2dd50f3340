"""What is queued while extensions are asked about it comes in the order in which it was said."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from sapwood import Extension
from sapwood.actors.kernel import Receipt
from sapwood.actors.kernel.tap import Phase, Verdict
from sapwood.events.hooks import InputReceived
from tests.talking import talking


class BreakQueueing:
    """Breaks the operation by which the first input is queued, before it does anything."""

    def __init__(self) -> None:
        self.left = 1

    async def receipt(self, receipt: Receipt) -> Verdict:
        await trio.lowlevel.checkpoint()
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        await trio.lowlevel.checkpoint()
        if (actor, phase) == ("agent", "start") and operation.startswith("queue") and self.left:
            self.left -= 1
            raise RuntimeError("struck")


def listening() -> Extension:
    extension = Extension("listening")

    @extension.on(InputReceived)
    async def listen(question: InputReceived, context: object) -> None:
        await trio.sleep(3 - len(question.text))

    return extension


async def test_what_is_heard_of_sooner_waits_for_what_was_said_before(autojump_clock: MockClock) -> None:
    async with talking(extensions=[listening()]) as session:
        for text in ("a", "bb", "ccc"):
            session.follow_up(text)
        await trio.sleep(10)
        assert [one.text for one in session.queue().follow_up] == ["a", "bb", "ccc"]


async def test_one_that_breaks_before_it_is_heard_of_holds_nobody_up(autojump_clock: MockClock) -> None:
    async with talking(extensions=[listening()], tap=BreakQueueing()) as session:
        struck, other = session.follow_up("a"), session.follow_up("bb")
        await trio.sleep(10)
        assert [one.text for one in session.queue().follow_up] == ["bb"]
        with pytest.raises(Exception, match="crashed"):
            await struck.outcome()
        assert other.outcome_nowait is None
