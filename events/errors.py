"""What the runtime refuses or cannot do, told apart by whose doing it is.

1. Every error that Sapwood raises on purpose is a `SapwoodError`; anything else that escapes is a fault of ours or of foreign code.
2. An error carries its facts as attributes and writes its own sentence.
3. The blame: `Refused` (the asker), `StaleLeaf` (a race), `StoreError` (the disk or the file), `ProviderError` (the world),
   `SessionClosed` (you, too late).
"""

from __future__ import annotations

import errno as errno_names
from typing import TYPE_CHECKING, Final, Literal

import attrs

if TYPE_CHECKING:
    from sapwood.events.commands import Returned
    from sapwood.events.messages import Usage

RefusalReason = Literal[
    "busy",
    "unknown-entry",
    "duplicate-entry",
    "bad-input",
    "read-only",
    "no-model",
    "already-compacted",
    "nothing-to-do",
    "wrong-thread",
    "handled",
]


def shown(value: object) -> str:
    """What a sentence says of a value that somebody handed in: 80 characters of it, or its type alone where it cannot be shown."""
    try:
        return f"{value!r:.80}"
    except Exception:  # noqa: BLE001 - a number of more digits than Python writes, or a host's own `__repr__`
        return f"<{type(value).__name__}>"


LONGEST_WORDS: Final = 10_000
"""Characters of what went wrong: it is in the log for good and is searched for what it means, and some put whole pages into it."""


def brief(words: str) -> str:
    """What went wrong, as far as it is kept: from the beginning, which says most."""
    return words if len(words) <= LONGEST_WORDS else f"{words[:LONGEST_WORDS]} …"


@attrs.frozen(kw_only=True)
class Writer:
    """Whoever writes a session, as far as it is known."""

    pid: int
    host: str | None = None
    since: str | None = None
    """ISO 8601, by the owner's clock."""

    def __str__(self) -> str:
        host = "" if self.host is None else f" on {self.host}"
        since = "" if self.since is None else f" since {self.since}"
        return f"process {self.pid}{host}{since}"


class SapwoodError(Exception):
    """Base of every error that the runtime raises on purpose. Not raised itself."""


class Refused(SapwoodError):
    """The asker asked for what cannot be had now, and nothing was changed. Not a race (`StaleLeaf`) and not the disk (`StoreError`)."""

    def __init__(self, reason: RefusalReason, message: str) -> None:
        super().__init__(message)
        self.reason: RefusalReason = reason


def no_entry(entry_id: str) -> Refused:
    """That there is no entry with this id, in the words that Pi has for it (N9)."""
    return Refused("unknown-entry", f"Entry {entry_id} not found")


class StaleContext(SapwoodError):
    """The context of an extension's handler was used after its session had ended. Nothing was done."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"the session {session_id} is over: what it gave to a handler does nothing any more")
        self.session_id = session_id


class StaleLeaf(SapwoodError):
    """The tree moved between the question and the append; nothing was written (S6). Ask again from the present leaf."""

    def __init__(self, expected: str | None, actual: str | None) -> None:
        super().__init__(
            f"the leaf is {actual or 'the root'}, not {expected or 'the root'}: read the tree again and retry"
        )
        self.expected = expected
        self.actual = actual


class CompactionFailed(SapwoodError):
    """A compaction was begun and came to nothing: the log has no entry of it, and the session goes on as it was (C14, C16)."""

    def __init__(
        self, why: str, *, aborted: bool = False, stopped_run: bool = False, returned: tuple[Returned, ...] = ()
    ) -> None:
        super().__init__(why)
        self.aborted = aborted
        """Whether somebody stopped it, a person or an extension; else it failed."""
        self.stopped_run = stopped_run
        """Whether the run that was on was stopped for it all the same (C15)."""
        self.returned = returned
        """What waited in the queues and was handed back for it all the same (C15)."""


class NavigationFailed(SapwoodError):
    """A move in the tree was begun and came to nothing: the leaf is where it was, and the session goes on (N6)."""

    def __init__(self, why: str, *, aborted: bool = False) -> None:
        super().__init__(why)
        self.aborted = aborted
        """Whether somebody stopped it, a person or an extension; else it failed."""


class ForkFailed(SapwoodError):
    """An extension would not have the session forked (S15): there is no new one."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


class ContextTooLarge(SapwoodError):
    """What is to be sent is larger than the model's window, and no compaction makes it fit (C17). Nothing was sent."""

    def __init__(self, tokens: int, window: int, largest: tuple[tuple[str, int], ...], why: str | None = None) -> None:
        sizes = ", ".join(f"{entry_id} ({count} tokens)" for entry_id, count in largest)
        because = "" if why is None else f" ({why})"
        super().__init__(
            f"what is to be sent has {tokens} tokens, the model's window {window}, and no compaction makes it fit{because}. "
            f"The largest entries: {sizes or 'none'}. Hide one with edit(), or set a model with a larger window"
        )
        self.tokens = tokens
        self.window = window
        self.why = why
        """What became of the last compaction."""
        self.largest = largest
        """Entry ids and what each comes to, the largest first."""


class StoreError(SapwoodError):
    """The file or the disk. Base of the store's errors; the session stays readable."""


class NotASession(StoreError):
    """The file has no session header. It was not touched."""

    def __init__(self, path: str) -> None:
        super().__init__(f"not a session file: {path} (it has no session header); it was left as it is")
        self.path = path


class NewerVersion(StoreError):
    """The file was written by a later format; it is readable, and refuses to be written (S2)."""

    def __init__(self, path: str, version: int, known: int) -> None:
        super().__init__(
            f"{path} has format version {version}; this release writes up to {known}, so it is open for reading only"
        )
        self.path = path
        self.version = version
        self.known = known


class CannotWrite(StoreError):
    """A system call failed while a session's file was written. What was to be appended is nowhere, or is taken out again (S8)."""

    def __init__(self, path: str, cause: OSError) -> None:
        name = errno_names.errorcode.get(cause.errno or 0, "EIO")
        super().__init__(f"cannot write {path}: {name} ({cause.strerror or cause})")
        self.path = path
        self.errno = cause.errno


class ReadOnly(StoreError):
    """The session was opened for reading alone."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was opened for reading alone: open it without read_only to write")
        self.path = path


class SessionInUse(StoreError):
    """Somebody else writes this session (S10). Nothing was read or changed; it may be opened for reading."""

    def __init__(self, path: str, owner: Writer | None) -> None:
        who = "another writer, of whom nothing is known" if owner is None else str(owner)
        super().__init__(f"{path} is in use by {who}: close it there, or open it with read_only=True")
        self.path = path
        self.owner = owner


Interference = Literal["deleted", "replaced", "shortened", "changed", "begun"]
"""What somebody else did to an open file: `changed` bytes that we had read, or `begun` a session in a file that was to be ours."""


class StoreConflict(StoreError):
    """Somebody else did something to the open file that cannot be joined with (S9). Nothing was written."""

    def __init__(self, path: str, what: Interference) -> None:
        advice = (
            "restore() puts back what was in it"
            if what in {"deleted", "replaced"}
            else "open it again to go on with what is there now"
        )
        super().__init__(f"somebody else has {what} {path} while it was open: nothing was written; {advice}")
        self.path = path
        self.what: Interference = what


class CannotOpen(StoreError):
    """A system call failed while a session's file was opened or read."""

    def __init__(self, path: str, cause: OSError) -> None:
        name = errno_names.errorcode.get(cause.errno or 0, "EIO")
        super().__init__(f"cannot open or read {path}: {name} ({cause.strerror or cause})")
        self.path = path
        self.errno = cause.errno


class StoreClosed(StoreError):
    """The store was closed before this call."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is closed: open it again to read or write")
        self.path = path


class NotAnEntry(SapwoodError):
    """A line whose envelope (type, id, parentId) cannot be read. Its bytes stay where they are."""

    def __init__(self, why: str, line: bytes) -> None:
        super().__init__(f"not an entry ({why}): {line[:80]!r}")
        self.why = why
        self.line = line


class Unencodable(SapwoodError):
    """A value that JSON in UTF-8 cannot carry (a lone surrogate, a number that is no JSON number)."""

    def __init__(self, what: str, cause: Exception) -> None:
        super().__init__(f"{what} cannot be written as JSON: {cause}")
        self.what = what
        self.why = str(cause)


FailureKind = Literal[
    "unknown",
    "network",
    "timeout",
    "cut_off",
    "rate_limit",
    "overloaded",
    "server",
    "overflow",
    "too_large",
    "quota",
    "auth",
    "bad_request",
    "refused",
    "redaction",
]
"""Why a model call failed.

`overflow` is more tokens than the window holds, and `too_large` more bytes or images than the server takes, or more tokens than a minute
allows (M5). `refused` is an answer that the provider held back for what it says. `redaction`: nothing was sent, see `RedactionFailed`.
`unknown`: only the words tell.
"""
PASSING_KINDS: Final[frozenset[FailureKind]] = frozenset(
    {
        "network",
        "timeout",
        "cut_off",
        "rate_limit",
        "overloaded",
        "server",
    }
)
"""What the next attempt may not meet again (M4)."""


class ProviderError(SapwoodError):
    """The model's provider, or the way to it: the world's fault, not that of the provider's code."""

    def __init__(
        self,
        message: str,
        *,
        kind: FailureKind = "unknown",
        status: int | None = None,
        retry_after_ms: int | None = None,
        usage: Usage | None = None,
    ) -> None:
        """`status` is that of the HTTP answer, `usage` what was billed all the same; a wait in ms that the provider asks for."""
        super().__init__(message)
        self.kind: FailureKind = kind
        self.status = status
        self.retry_after_ms = retry_after_ms
        self.usage = usage

    @property
    def retryable(self) -> bool:
        """Whether asking again may help (M4), as far as the kind tells."""
        return self.kind in PASSING_KINDS


class RedactionFailed(ProviderError):
    """The host's redactor could not be used (E6): nothing was sent. Its code is at fault, and not the provider."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="redaction")


class SessionClosed(SapwoodError):
    """The session was closed before this call, or while it waited."""

    def __init__(self) -> None:
        super().__init__("this session is closed: open it again")


class SessionBroken(SapwoodError):
    """A part of the session crashed, and was not made anew in time; its cause tells which. What is in the log stays: open it again."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the session broke: {what}: what is in the log stays, open it again")
        self.what = what


class InvalidSessionId(Refused):
    """A custom session id that breaks the rule (S11); the text is Pi's."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            "bad-input",
            "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', "
            "and start and end with an alphanumeric character",
        )
        self.session_id = session_id
