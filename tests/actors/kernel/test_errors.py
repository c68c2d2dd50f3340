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
