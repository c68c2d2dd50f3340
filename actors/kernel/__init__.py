"""The actor kernel: what every actor of the house stands on. No domain word in it.

An `Actor` handles one message after the other, synchronously; whatever takes time is an operation that it `Start`s, with
exactly one `Outcome`. A `System` makes each actor when it is first needed, gives it one mailbox for events, tells and asks,
makes it again after a crash up to a limit, refuses an ask that would close a circle (`WouldDeadlock`) or was not declared
(`UndeclaredAsk`), lives on one `Loop` (`WrongThread`), and is left with no task behind. `System.publish` numbers an event into the
`Ring`, which any number of `Reader`s follow without ever slowing it, and puts it into the mailbox of every actor that hears its
kind. A `Tap` sees, orders and breaks everything that passes; ready ones stand in `sapwood.actors.kernel.testing`.
"""

from sapwood.actors.kernel.actor import (
    Actor,
    Cancelled,
    Crashed,
    Declined,
    Done,
    Ended,
    Outcome,
    Reaction,
    Refuse,
    Reply,
    Start,
)
from sapwood.actors.kernel.apart import Apart, sealed
from sapwood.actors.kernel.errors import (
    CRASHES,
    ActorCrashed,
    ActorFailed,
    Closed,
    OperationCancelled,
    OperationCrashed,
    UndeclaredAsk,
    WouldDeadlock,
    WrongThread,
)
from sapwood.actors.kernel.loop import Loop
from sapwood.actors.kernel.ref import Inquiry, Ref, insist, insist_anew
from sapwood.actors.kernel.ring import Reader, Ring
from sapwood.actors.kernel.system import System, open_system
from sapwood.actors.kernel.tap import Receipt, Tap, Verdict
from sapwood.actors.kernel.track import Published, Resync

__all__ = [
    "CRASHES",
    "Actor",
    "ActorCrashed",
    "ActorFailed",
    "Apart",
    "Cancelled",
    "Closed",
    "Crashed",
    "Declined",
    "Done",
    "Ended",
    "Inquiry",
    "Loop",
    "OperationCancelled",
    "OperationCrashed",
    "Outcome",
    "Published",
    "Reaction",
    "Reader",
    "Receipt",
    "Ref",
    "Refuse",
    "Reply",
    "Resync",
    "Ring",
    "Start",
    "System",
    "Tap",
    "UndeclaredAsk",
    "Verdict",
    "WouldDeadlock",
    "WrongThread",
    "insist",
    "insist_anew",
    "open_system",
    "sealed",
]
