from __future__ import annotations

import pytest

from sapwood.actors.kernel import (
    ActorCrashed,
    ActorFailed,
    Closed,
    OperationCancelled,
    OperationCrashed,
    UndeclaredAsk,
    WouldDeadlock,
)
from sapwood.actors.kernel.errors import alone
from sapwood.events.errors import SapwoodError

EVERY = [
    ActorCrashed("log", "Append"),
    ActorCrashed("log", "Append", dropped=True),
    ActorFailed("log"),
    OperationCrashed("log", "write"),
    OperationCancelled("log", "write"),
    Closed("log"),
    WouldDeadlock("log", "run"),
    UndeclaredAsk("log", "run"),
]


@pytest.mark.parametrize("error", EVERY, ids=repr)
def test_every_error_names_the_actor_in_its_own_sentence(error: SapwoodError) -> None:
    assert "log" in str(error)
    assert isinstance(error, SapwoodError)


def test_a_dropped_message_is_told_apart_from_a_crash() -> None:
    assert str(ActorCrashed("log", "Append")) != str(ActorCrashed("log", "Append", dropped=True))


def test_what_stands_alone_in_its_groups_comes_out_of_them_and_all_else_stays() -> None:
    fault, stop = KeyError("a"), KeyboardInterrupt()
    two = ExceptionGroup("two", [fault, ValueError("b")])

    assert alone(fault) is fault
    assert alone(ExceptionGroup("one", [ExceptionGroup("one", [fault])])) is fault
    assert alone(BaseExceptionGroup("one", [stop])) is stop
    assert alone(two) is two
    assert alone(ExceptionGroup("one", [two])) is two
