from __future__ import annotations

from contextvars import copy_context

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from sapwood.actors.kernel.chain import Link
from sapwood.actors.kernel.commons import Commons, SystemPhase


class Nobody:
    name = "nobody"
    asks = ()
    advice = ""

    def __init__(self, system: object) -> None:
        self.system = system


def commons(nursery: trio.Nursery) -> Commons:
    return Commons(name="s", tap=None, grace=1, context=copy_context(), actors=nursery, operations=nursery)


@pytest.mark.parametrize(
    ("phase", "outside", "inside"), [("open", True, True), ("stopping", False, True), ("closed", False, False)]
)
async def test_who_may_ask_depends_on_the_phase(
    nursery: trio.Nursery, phase: SystemPhase, *, outside: bool, inside: bool
) -> None:
    shared = commons(nursery)
    shared.phase = phase
    assert shared.admits(None) is outside
    mine, foreign = Link(Nobody(shared), None), Link(Nobody("another system"), None)
    assert shared.admits(mine) is inside
    assert shared.admits(Link(Nobody("another system"), mine)) is inside
    assert shared.admits(foreign) is outside


async def test_idle_returns_when_everything_begun_is_finished(nursery: trio.Nursery) -> None:
    shared = commons(nursery)
    await shared.idle()
    shared.begin(3)
    seen: list[str] = []

    async def wait() -> None:
        await shared.idle()
        seen.append("idle")

    nursery.start_soon(wait)
    await wait_all_tasks_blocked()
    shared.finish(2)
    await wait_all_tasks_blocked()
    assert seen == []
    shared.finish()
    await wait_all_tasks_blocked()
    assert seen == ["idle"]
