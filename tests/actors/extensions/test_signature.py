"""What cannot be called as a handler is refused when it is registered, with what to do."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import pytest

from sapwood.actors.extensions.extension import Extension
from sapwood.actors.extensions.signature import check_handler
from sapwood.events.errors import Refused
from sapwood.events.hooks import ToolCallQuestion
from sapwood.events.runtime import TurnEnd


def two(question: Any, context: Any) -> None: ...


async def two_awaited(question: Any, context: Any) -> None: ...


def more_with_defaults(question: Any, context: Any, note: str = "", *, loud: bool = False) -> None: ...


def any_number(*given: Any, **named: Any) -> None: ...


def three(prefix: str, question: Any, context: Any) -> None: ...


def one(question: Any) -> None: ...


async def one_awaited(question: Any) -> None: ...


def none() -> None: ...


def by_name(*, question: Any, context: Any) -> None: ...


def one_by_name(question: Any, context: Any, *, loud: bool) -> None: ...


def one_by_one(question: Any, context: Any) -> Iterator[None]:
    yield None


async def one_by_one_awaited(question: Any, context: Any) -> AsyncIterator[None]:
    yield None


class Guard:
    def answer(self, question: Any, context: Any) -> None: ...

    def __call__(self, question: Any) -> None: ...


class Silent:
    """Its `__signature__` is no signature."""

    __signature__ = "none of your business"

    def __call__(self, question: Any, context: Any) -> None: ...


class Loud:
    """It raises whatever it likes when it is looked at."""

    @property
    def __signature__(self) -> object:
        raise RuntimeError("do not look")

    def __call__(self, question: Any, context: Any) -> None: ...


HANDLERS: list[Any] = [
    two,
    two_awaited,
    more_with_defaults,
    any_number,
    functools.partial(three, "oak"),
    Guard().answer,
    Silent(),
    Loud(),
    max,
]


@pytest.mark.parametrize("handler", HANDLERS)
def test_what_takes_a_question_and_a_context_is_a_handler(handler: Callable[..., object]) -> None:
    assert check_handler(handler) is handler


NONE: list[tuple[Any, str]] = [
    (
        one,
        r"the handler one\(question\) is called with a question and a context, .*: too many positional arguments\.",
    ),
    (one_awaited, r"one_awaited\(question\) is called"),
    (none, r"none\(\) is called"),
    (three, r"three\(prefix, question, context\) .*: missing a required argument: 'context'\."),
    (by_name, r"by_name\(\*, question, context\) is called"),
    (one_by_name, r"one_by_name\(question, context, \*, loud\) .*: missing a required .*argument: 'loud'\."),
    (Guard.answer, r"Guard\.answer\(self, question, context\) .* a method is registered bound to its object"),
    (Guard(), r"<.*Guard object at .*\(question\) is called"),
    (functools.partial(two, 1), r"is called with a question and a context"),
    (one_by_one, "the handler one_by_one yields: have it return its one answer"),
    (one_by_one_awaited, "the handler one_by_one_awaited yields: have it return its one answer"),
    (functools.partial(one_by_one), "yields: have it return its one answer"),
    (7, r"a handler is a function \(question, context\), not 7"),
]


@pytest.mark.parametrize(("handler", "told"), NONE)
def test_what_cannot_be_called_so_is_refused_with_what_to_do(handler: Any, told: str) -> None:
    with pytest.raises(Refused, match=told) as caught:
        check_handler(handler)

    assert caught.value.reason == "bad-input"


@pytest.mark.parametrize("heard", [ToolCallQuestion, TurnEnd])
def test_a_refused_handler_is_not_registered(heard: Any) -> None:
    """This used to be taken, and to forbid every call of a tool without a word before the first."""
    guard, wrong = Extension("guard"), cast("Any", one)

    with pytest.raises(Refused, match=r"Write it as \(question, context\)"):
        guard.on(heard)(wrong)

    assert guard.handlers == ()
