"""What the kernel raises on purpose, told apart by whose doing it is.

1. Each carries its facts and writes its own sentence; the cause, where there is one, is its `__cause__`.
2. The blame: the actor (`ActorCrashed`, `ActorFailed`), its operation (`OperationCrashed`, `OperationCancelled`), you, too
   late (`Closed`) or from elsewhere (`WrongThread`), or the wiring (`WouldDeadlock`, `UndeclaredAsk`).
"""

from __future__ import annotations

from typing import Final

from sapwood.events.errors import Refused, SapwoodError


def alone(error: BaseException) -> BaseException:
    """What a group of one holds, and a group of a group; anything else as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


class ActorCrashed(SapwoodError):
    """The actor crashed before it answered; a new one takes its place. Asking again may help (`insist`). Not `OperationCrashed`,
    which the actor survives.
    """

    def __init__(self, actor: str, message: str, *, dropped: bool = False) -> None:
        super().__init__(
            f"{actor} never got {message}: a tap dropped it" if dropped else f"{actor} crashed at {message}"
        )
        self.actor = actor
        self.message = message
        """The type name of the message that was in hand, or `its factory`; not always the one that you asked."""
        self.dropped = dropped


class ActorFailed(SapwoodError):
    """The actor crashed beyond its restart limit and stays dead. Asking again cannot help."""

    def __init__(self, actor: str) -> None:
        super().__init__(f"{actor} crashed too often and stays down")
        self.actor = actor


class OperationCrashed(SapwoodError):
    """An operation raised something that is no typed refusal; its actor lives on."""

    def __init__(self, actor: str, operation: str) -> None:
        super().__init__(f"{operation} of {actor} crashed")
        self.actor = actor
        self.operation = operation


class OperationCancelled(SapwoodError):
    """An operation was cancelled by someone other than its asker, before it had an outcome."""

    def __init__(self, actor: str, operation: str) -> None:
        super().__init__(f"{operation} of {actor} was cancelled")
        self.actor = actor
        self.operation = operation


class StrayCancelled(Exception):
    """Foreign code raised a `Cancelled` that it had kept, where nobody cancels it. The fault of that code; no refusal, but a crash."""

    def __init__(self) -> None:
        super().__init__("it ended in a cancellation that was not its own")


CRASHES: Final = (ActorCrashed, ActorFailed, OperationCrashed, OperationCancelled)
"""What comes of code that broke inside: nobody outside of the kernel's users knows of actors."""


class Closed(SapwoodError):
    """The system or the ring was closed before this call, or while it waited."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is closed")
        self.what = what


class WrongThread(Refused):
    """Called from elsewhere than from the one `trio.run` that it lives in, and nothing was touched. Not `Closed`: there it works."""

    def __init__(self) -> None:
        super().__init__(
            "wrong-thread",
            "this lives in another trio.run than the one that calls it, if any does: hand the call over with "
            "trio.from_thread.run(…, trio_token=token), where token is what trio.lowlevel.current_trio_token() gives over there",
        )


class WouldDeadlock(SapwoodError):
    """The asked actor has an operation that waits, through a chain of asks, for the asker. Nothing was asked."""

    def __init__(self, asker: str, asked: str, advice: str = "ask when that is over") -> None:
        super().__init__(f"this code ({asker}) is a part of what it would wait for ({asked}), for ever: {advice}")
        self.asker = asker
        self.asked = asked


class UndeclaredAsk(SapwoodError):
    """An operation asked an actor that its own actor did not name in `asks`. Nothing was asked."""

    def __init__(self, asker: str, asked: str) -> None:
        super().__init__(f"{asker} did not declare that it asks {asked}: name it in spawn(asks=...)")
        self.asker = asker
        self.asked = asked
