"""What foreign code raises is an outcome, unless it ends more than its call."""

from __future__ import annotations

import asyncio

import pytest
import trio

from sapwood.actors.foreign import Fault, end_in, outcome_of, words_of
from sapwood.events.errors import ProviderError
from tests.actors.keeping import cancelled_once


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        (ValueError("x"), False),
        (asyncio.CancelledError(), False),
        (KeyboardInterrupt(), True),
        (SystemExit(), True),
        (BaseExceptionGroup("g", [ValueError(), BaseExceptionGroup("h", [KeyboardInterrupt()])]), True),
        (BaseExceptionGroup("g", [ValueError(), asyncio.CancelledError()]), False),
    ],
)
def test_an_interrupt_ends_more_than_a_call(fault: BaseException, *, end: bool) -> None:
    assert (end_in(fault) is not None) is end


def test_of_a_group_only_what_ends_more_goes_on() -> None:
    interrupt = KeyboardInterrupt()

    ended = end_in(BaseExceptionGroup("g", [ValueError(), interrupt]))

    assert pytest.RaisesGroup(pytest.RaisesExc(KeyboardInterrupt, check=lambda one: one is interrupt)).matches(ended)
    assert end_in(interrupt) is interrupt
    assert end_in(ValueError()) is None


async def test_a_cancelled_ends_more_only_where_somebody_cancels() -> None:
    kept = await cancelled_once()
    both = BaseExceptionGroup("g", [kept, ValueError()])

    assert end_in(kept) is None
    assert end_in(both) is None
    with trio.CancelScope() as scope:  # noqa: ASYNC100 - it is looked at, not waited in
        scope.cancel()
        assert end_in(kept) is kept
        assert pytest.RaisesGroup(trio.Cancelled).matches(end_in(both))
    assert end_in(kept) is None


async def test_an_interrupt_ends_more_beside_a_cancelled_that_was_kept() -> None:
    ended = end_in(BaseExceptionGroup("g", [await cancelled_once(), KeyboardInterrupt()]))

    assert pytest.RaisesGroup(KeyboardInterrupt).matches(ended)


async def test_what_foreign_code_comes_to_is_its_value_or_its_fault_which_is_reported() -> None:
    reported: list[BaseException] = []
    fault = asyncio.CancelledError("x")

    async def good() -> int:
        return 7

    async def bad() -> int:
        raise fault

    assert await outcome_of(good, reported.append) == 7
    assert reported == []
    came = await outcome_of(bad, reported.append)
    assert isinstance(came, Fault)
    assert (came.error, came.words(), came.words(asyncio.CancelledError)) == (fault, "CancelledError: x", "x")
    assert reported == [fault]


async def test_what_is_to_end_more_is_raised_alone_and_not_reported() -> None:
    reported: list[BaseException] = []

    async def ending() -> None:
        raise BaseExceptionGroup("g", [ValueError(), SystemExit(3)])

    with pytest.RaisesGroup(SystemExit):
        await outcome_of(ending, reported.append)
    assert reported == []


def test_an_error_is_told_with_its_name_and_one_of_ours_by_its_own_words() -> None:
    assert words_of(ValueError("no \ud800")) == "ValueError: no �"
    assert words_of(ExceptionGroup("g", [ValueError("x")])) == "ValueError: x"
    assert words_of(ProviderError("overloaded"), ProviderError) == "overloaded"


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_whose_words_fail_has_its_name() -> None:
    assert words_of(Wordless()) == "Wordless: (it has no words)"
