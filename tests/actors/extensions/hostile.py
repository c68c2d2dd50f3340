"""Handlers that fail in every way that is known, for a question of any kind, and what is told of each.

1. `(handler, words, reported)`: what its failure says, and whether there is an exception to report.
2. All of them are harmless to call under a virtual clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import pytest
import trio

from sapwood.actors.foreign import LIMIT


class Speechless(Exception):
    """What it says of itself is another loop's error."""

    def __str__(self) -> str:
        raise asyncio.CancelledError


class Unspeakable:
    """An answer that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no picture")


class Masked:
    """An answer that breaks when somebody looks at it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no face")


class Never:
    """Something to await that breaks at once."""

    def __await__(self) -> Iterator[Any]:
        raise RuntimeError("not today")


class Foreign:
    """Something to await that belongs to another loop."""

    def __await__(self) -> Iterator[Any]:
        yield "a future of another loop"


def raising(question: Any, context: Any) -> Any:
    raise ValueError("oops")


async def raising_late(question: Any, context: Any) -> Any:
    await trio.lowlevel.checkpoint()
    raise ExceptionGroup("g", [KeyError("x")])


async def of_another_loop(question: Any, context: Any) -> Any:
    await trio.lowlevel.checkpoint()
    raise asyncio.CancelledError


def of_another_loop_at_once(question: Any, context: Any) -> Any:
    raise asyncio.CancelledError


async def leaving(question: Any, context: Any) -> Any:
    raise GeneratorExit("gone")


async def speechless(question: Any, context: Any) -> Any:
    raise Speechless


def unspeakable(question: Any, context: Any) -> Any:
    return Unspeakable()


def masked(question: Any, context: Any) -> Any:
    return Masked()


def never(question: Any, context: Any) -> Any:
    return Never()


def foreign(question: Any, context: Any) -> Any:
    return Foreign()


def number(question: Any, context: Any) -> Any:
    return 7


async def late_number(question: Any, context: Any) -> Any:
    await trio.lowlevel.checkpoint()
    return 7


def generator(question: Any, context: Any) -> Any:
    return (one for one in [7])


def async_generator(question: Any, context: Any) -> Any:
    async def yielding() -> AsyncIterator[Any]:
        yield 7

    return yielding()


def without_arguments(*given: Any) -> Any:
    """It says that it takes anything, as what a decorator makes does."""

    def inner() -> None: ...

    return inner(*given)


async def hanging(question: Any, context: Any) -> Any:
    await trio.sleep_forever()


async def swallowing(question: Any, context: Any) -> Any:
    """It answers its cancellation with an error of its own."""
    try:
        await trio.sleep_forever()
    finally:
        raise ValueError("instead")


TOO_LATE: Final = f"it did not come within {LIMIT:g} s"
HOSTILE: Final = [
    pytest.param(function, words, reported, id=function.__name__)
    for function, words, reported in [
        (raising, "ValueError: oops", True),
        (raising_late, "KeyError: 'x'", True),
        (of_another_loop, "CancelledError: ", True),
        (of_another_loop_at_once, "CancelledError: ", True),
        (leaving, "GeneratorExit: gone", True),
        (speechless, "Speechless: (it has no words)", True),
        (unspeakable, "RuntimeError: no picture", True),
        (masked, "RuntimeError: no face", True),
        (never, "RuntimeError: not today", True),
        (foreign, "TypeError: trio.run received unrecognized yield message", True),
        (
            without_arguments,
            "TypeError: without_arguments.<locals>.inner() takes 0 positional arguments but 2 were given",
            True,
        ),
        (number, "it gave 7, where ", False),
        (late_number, "it gave 7, where ", False),
        (generator, "it gave <generator object ", False),
        (async_generator, "it gave <async_generator object ", False),
        (hanging, TOO_LATE, False),
        (swallowing, TOO_LATE, True),
    ]
]
