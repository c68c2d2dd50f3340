"""The tools keep one batch an answer, and a stop that comes before it is kept for it."""

from __future__ import annotations

from typing import Literal

import pytest

from sapwood import Session
from sapwood.actors.kernel import Ref
from sapwood.actors.session_log.run_log import RunLog
from sapwood.actors.tools.results import BROKEN, TRUNCATED, UNSTARTED
from sapwood.events.content import text_of
from sapwood.events.ids import EntryId
from sapwood.events.requests import RunTools, StopTools, ToolsRan
from tests.build import assistant, call
from tests.talking import talking


async def touch() -> str:
    return "touched"


def tools_of(session: Session) -> Ref:
    return session._wiring.system.actors["tools"]


async def an_answer(session: Session) -> EntryId:
    return await RunLog(session._wiring.pen).append(assistant(call("c1", "touch")))


def told(ran: ToolsRan) -> list[str]:
    return [text_of(one.message.content) for one in ran.results]


@pytest.mark.parametrize(("unrun", "words"), [(None, "touched"), ("truncated", TRUNCATED), ("broken", BROKEN)])
async def test_calls_are_run_or_told_why_not(unrun: Literal["truncated", "broken"] | None, words: str) -> None:
    async with talking(tools=[touch]) as session:
        behind = await an_answer(session)

        asked = RunTools(batch_id="b", calls=(call("c1", "touch"),), behind=behind, unrun=unrun)
        ran = await tools_of(session).ask(asked)

        assert told(ran) == [words]
        assert ran.last == ran.results[0].entry_id == session.entries()[-1].id
        assert session.entries()[-1].parent_id == behind


async def test_a_stop_that_comes_first_is_kept_for_its_batch_and_for_no_other() -> None:
    async with talking(tools=[touch]) as session:
        tools, behind = tools_of(session), await an_answer(session)

        await tools.ask(StopTools(batch_id="b"))
        other = await tools.ask(RunTools(batch_id="a", calls=(call("c1", "touch"),), behind=behind))
        stopped = await tools.ask(RunTools(batch_id="b", calls=(call("c1", "touch"),), behind=other.last))
        await tools.ask(StopTools(batch_id="b"))
        again = await tools.ask(RunTools(batch_id="c", calls=(call("c1", "touch"),), behind=stopped.last))

    assert [told(ran) for ran in (other, stopped, again)] == [["touched"], [UNSTARTED], ["touched"]]
