"""The shell of the exclusion: read the table, hand out the lease."""

from __future__ import annotations

from typing import assert_never

from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.exclusion.table import HOLDS, RUNNING, AbortFirst, Busy, Grant, Queue, decide
from sapwood.actors.kernel import Actor, Refuse, Reply
from sapwood.events.errors import Refused
from sapwood.events.requests import Acquire


class Exclusion(Actor[Acquire]):
    """Owns who may change the tree. Asked to acquire; announces nothing."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def handle(self, message: Acquire) -> Reply | Refuse:
        verdict = decide(self._lease.at, message.newcomer)
        match verdict:
            case Grant():
                self._lease.grant(HOLDS[message.newcomer], message.key)
                return Reply()
            case Busy(words):
                return Refuse(Refused("busy", words))
            case AbortFirst() | Queue():
                # who may abort the holder asks again when it has settled; what is queued needs no lease
                return Refuse(Refused("busy", RUNNING))
            case _:
                assert_never(verdict)
