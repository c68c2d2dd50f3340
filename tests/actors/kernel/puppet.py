"""An actor that does what each message says: a stand-in for tests.

1. `Do(act)`, told or asked, is answered with what `act` returns; what `act` raises is a crash.
2. Every other message is noted, a `Note` as its text; `Notes()` is answered with what this incarnation noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sapwood.actors.kernel.actor import Actor, Reaction, Reply
from sapwood.events.asking import Ask


class Do(Ask[Any], frozen=True):
    """Do this, and answer with it."""

    act: Callable[[], Reaction]


class Note(msgspec.Struct, frozen=True):
    """Note this."""

    text: object


class Notes(Ask[list[object]], frozen=True):
    """What was noted?"""


class Puppet(Actor[Any]):
    """See the module."""

    def __init__(self) -> None:
        self.notes: list[object] = []

    def handle(self, message: object) -> Reaction:
        match message:
            case Do(act):
                return act()
            case Notes():
                return Reply(list(self.notes))
            case Note(text):
                self.notes.append(text)
            case _:
                self.notes.append(message)
        return None


def crash(text: str = "poison") -> Do:
    """A message that its actor does not survive."""

    def act() -> Reaction:
        raise ValueError(text)

    return Do(act)
