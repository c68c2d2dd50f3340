"""An actor that does what each message says, so that a test reads in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import msgspec
import pytest
from sapwood.actors.kernel import Actor, Answer, Reply, Ring, System, Tap, open_system
from sapwood.events.asking import Ask


class Do(Ask[Any], frozen=True):
    """Answer with what `act` returns; `act` may raise. Told or asked."""

    act: Callable[[], Answer]


class Note(msgspec.Struct, frozen=True):
    """Told, or published."""

    text: object


class Notes(Ask[list[object]], frozen=True):
    """What was noted since the actor was made."""


class Puppet(Actor[Any]):
    """Does what it is told, and notes the rest."""

    def __init__(self) -> None:
        self.notes: list[object] = []

    def handle(self, message: object) -> Answer:
        match message:
            case Do(act):
                return act()
            case Notes():
                return Reply(list(self.notes))
            case Note(text):
                self.notes.append(text)
                return None
            case _:
                self.notes.append(message)
                return None


@attrs.frozen
class Kit:
    """What the tests of this folder share."""

    Do = Do
    Note = Note
    Notes = Notes
    Puppet = Puppet

    def open(self, *, tap: Tap | None = None, grace: float = 2.0) -> Any:
        return open_system("s", ring=Ring(64), tap=tap, grace=grace)

    def crash(self, text: str = "poison") -> Callable[[], Answer]:
        def act() -> Answer:
            raise ValueError(text)

        return act


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()


_ = System
