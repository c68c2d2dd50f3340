"""A host's redactor is asked in a thread, for each text once; what it does wrong is told, and is one error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest
import trio

from sapwood.actors.outgoing.veil import NOTHING, Redactor
from sapwood.actors.redaction import Redaction
from sapwood.events.errors import RedactionFailed
from tests.build import assistant, call, user

T = TypeVar("T")


class Apart:
    """Stands for a thread."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self, function: Callable[[], T], /) -> T:
        self.times += 1
        await trio.lowlevel.checkpoint()
        return function()


def redaction(redactor: Redactor | None) -> tuple[Redaction, Apart, list[tuple[str, BaseException]]]:
    apart, reports = Apart(), list[tuple[str, BaseException]]()
    return Redaction(redactor, apart, lambda whose, fault: reports.append((whose, fault))), apart, reports


async def test_without_a_redactor_nothing_is_looked_through() -> None:
    one, apart, _ = redaction(None)

    assert await one.veil([user("oak")]) is NOTHING
    assert apart.times == 0


async def test_each_text_is_looked_through_once_and_what_was_found_stays_known() -> None:
    asked: list[str] = []

    def find(text: str) -> Mapping[str, str]:
        asked.append(text)
        return {"oak": "<tree>"} if text == "oak" else {}

    one, apart, _ = redaction(find)
    veil = await one.veil([user("oak"), user("oak"), user(""), assistant(call("c1", path="birch"))], {"by": "ash"})

    assert asked == ["oak", "path", "birch", "by", "ash"]
    assert (veil.secrets, apart.times) == ({"<tree>": "oak"}, 1)
    assert await one.veil([user("birch"), user("oak")]) is veil
    assert apart.times == 1
    await one.veil([user("birch"), user("elm")])
    assert asked[5:] == ["elm"]


async def test_what_does_not_come_again_is_not_kept() -> None:
    asked: list[str] = []

    def find(text: str) -> Mapping[str, str]:
        asked.append(text)
        return {text: f"<{len(text)}>"}

    one, _, _ = redaction(find)
    for _ in range(2):
        assert (await one.veil([user("oak")], once=True)).secrets == {"<3>": "oak"}

    assert asked == ["oak", "oak"]


async def test_what_two_requests_find_at_once_is_known_to_both() -> None:
    one, _, _ = redaction(lambda text: {text: f"<{len(text)}>"})

    async with trio.open_nursery() as nursery:
        for text in ("oak", "birch"):
            nursery.start_soon(one.veil, [user(text)])

    assert (await one.veil([])).secrets == {"<3>": "oak", "<5>": "birch"}


async def test_a_redactor_that_raises_is_reported_and_is_one_error() -> None:
    def broken(text: str) -> Mapping[str, str]:
        raise ValueError("no pattern")

    one, _, reports = redaction(broken)
    with pytest.raises(RedactionFailed, match=r"^the redactor failed: ValueError: no pattern$"):
        await one.veil([user("oak")])

    assert [(whose, str(fault)) for whose, fault in reports] == [("the host's", "no pattern")]


async def test_an_answer_that_is_none_leaves_what_was_known() -> None:
    names = iter([{"oak": "<1>"}, {"ash": "<1>"}, {}])
    one, _, reports = redaction(lambda _: next(names))
    await one.veil([user("oak")])

    with pytest.raises(RedactionFailed, match="one name to two secrets"):
        await one.veil([user("ash")])

    assert (await one.veil([user("x")])).secrets == {"<1>": "oak"}, "and it is looked through when it comes again"
    assert reports == []
