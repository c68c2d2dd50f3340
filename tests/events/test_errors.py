"""Errors: their facts, their sentences, and whose fault they are."""

from __future__ import annotations

import errno
import inspect
from itertools import permutations
from typing import get_args

import pytest

from sapwood.events import errors
from sapwood.events.codec import BadEvent
from sapwood.events.errors import (
    LONGEST_WORDS,
    CannotOpen,
    CannotWrite,
    CompactionFailed,
    ContextTooLarge,
    ForkFailed,
    InvalidSessionId,
    NavigationFailed,
    NewerVersion,
    NotAnEntry,
    NotASession,
    ProviderError,
    ReadOnly,
    RedactionFailed,
    RefusalReason,
    Refused,
    SapwoodError,
    SessionBroken,
    SessionClosed,
    SessionInUse,
    StaleContext,
    StaleLeaf,
    StoreClosed,
    StoreConflict,
    StoreError,
    Unencodable,
    Writer,
    brief,
    no_entry,
    shown,
)

FULL = OSError(errno.ENOSPC, "No space left on device")
SURROGATE = UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")

SAID: list[tuple[SapwoodError, dict[str, object], str]] = [
    (Refused("busy", "Not now."), {"reason": "busy"}, "Not now."),
    (
        StaleLeaf("a", "b"),
        {"expected": "a", "actual": "b"},
        "the leaf is b, not a: read the tree again and retry",
    ),
    (
        StaleLeaf(None, "b"),
        {"expected": None, "actual": "b"},
        "the leaf is b, not the root: read the tree again and retry",
    ),
    (
        StaleLeaf("a", None),
        {"expected": "a", "actual": None},
        "the leaf is the root, not a: read the tree again and retry",
    ),
    (CompactionFailed("no answer"), {"aborted": False, "stopped_run": False, "returned": ()}, "no answer"),
    (CompactionFailed("stopped", aborted=True), {"aborted": True, "stopped_run": False, "returned": ()}, "stopped"),
    (
        ContextTooLarge(900, 800, (("a", 500), ("b", 40)), "no model answered"),
        {"tokens": 900, "window": 800, "largest": (("a", 500), ("b", 40)), "why": "no model answered"},
        (
            "what is to be sent has 900 tokens, the model's window 800, and no compaction makes it fit (no model answered). "
            "The largest entries: a (500 tokens), b (40 tokens). Hide one with edit(), or set a model with a larger window"
        ),
    ),
    (
        ContextTooLarge(9, 8, ()),
        {"tokens": 9, "window": 8, "largest": (), "why": None},
        (
            "what is to be sent has 9 tokens, the model's window 8, and no compaction makes it fit. "
            "The largest entries: none. Hide one with edit(), or set a model with a larger window"
        ),
    ),
    (StoreError("broken"), {}, "broken"),
    (
        NavigationFailed("Navigation cancelled", aborted=True),
        {"aborted": True},
        "Navigation cancelled",
    ),
    (ForkFailed("the extension 'careful' cancelled the fork"), {}, "the extension 'careful' cancelled the fork"),
    (
        NotASession("x.jsonl"),
        {"path": "x.jsonl"},
        "not a session file: x.jsonl (it has no session header); it was left as it is",
    ),
    (
        NewerVersion("x.jsonl", 4, 3),
        {"path": "x.jsonl", "version": 4, "known": 3},
        "x.jsonl has format version 4; this release writes up to 3, so it is open for reading only",
    ),
    (
        CannotWrite("x.jsonl", FULL),
        {"path": "x.jsonl", "errno": errno.ENOSPC},
        "cannot write x.jsonl: ENOSPC (No space left on device)",
    ),
    (
        CannotWrite("x.jsonl", OSError("odd")),
        {"path": "x.jsonl", "errno": None},
        "cannot write x.jsonl: EIO (odd)",
    ),
    (
        CannotOpen("x.jsonl", PermissionError(errno.EACCES, "Permission denied")),
        {"path": "x.jsonl", "errno": errno.EACCES},
        "cannot open or read x.jsonl: EACCES (Permission denied)",
    ),
    (
        ReadOnly("x.jsonl"),
        {"path": "x.jsonl"},
        "x.jsonl was opened for reading alone: open it without read_only to write",
    ),
    (
        SessionInUse("x.jsonl", Writer(pid=7, host="h", since="2026")),
        {"path": "x.jsonl", "owner": Writer(pid=7, host="h", since="2026")},
        "x.jsonl is in use by process 7 on h since 2026: close it there, or open it with read_only=True",
    ),
    (
        SessionInUse("x.jsonl", None),
        {"path": "x.jsonl", "owner": None},
        (
            "x.jsonl is in use by another writer, of whom nothing is known: "
            "close it there, or open it with read_only=True"
        ),
    ),
    (
        StoreConflict("x.jsonl", "deleted"),
        {"path": "x.jsonl", "what": "deleted"},
        (
            "somebody else has deleted x.jsonl while it was open: nothing was written; "
            "restore() puts back what was in it"
        ),
    ),
    (
        StoreConflict("x.jsonl", "shortened"),
        {"path": "x.jsonl", "what": "shortened"},
        (
            "somebody else has shortened x.jsonl while it was open: nothing was written; "
            "open it again to go on with what is there now"
        ),
    ),
    (StoreClosed("x.jsonl"), {"path": "x.jsonl"}, "x.jsonl is closed: open it again to read or write"),
    (
        NotAnEntry("no id", b'{"type":"label"}'),
        {"why": "no id", "line": b'{"type":"label"}'},
        'not an entry (no id): b\'{"type":"label"}\'',
    ),
    (
        Unencodable("custom", SURROGATE),
        {"what": "custom", "why": str(SURROGATE)},
        (
            "custom cannot be written as JSON: 'utf-8' codec can't encode character '\\ud800' in position 0: "
            "surrogates not allowed"
        ),
    ),
    (
        ProviderError("overloaded", kind="overloaded", status=529, retry_after_ms=1000),
        {"kind": "overloaded", "status": 529, "retry_after_ms": 1000, "usage": None},
        "overloaded",
    ),
    (
        ProviderError("no such model"),
        {"kind": "unknown", "status": None, "retry_after_ms": None, "usage": None},
        "no such model",
    ),
    (
        RedactionFailed("no name"),
        {"kind": "redaction", "status": None, "retry_after_ms": None, "usage": None},
        "no name",
    ),
    (
        StaleContext("s1"),
        {"session_id": "s1"},
        "the session s1 is over: what it gave to a handler does nothing any more",
    ),
    (SessionClosed(), {}, "this session is closed: open it again"),
    (
        SessionBroken("agent crashed too often and stays down"),
        {"what": "agent crashed too often and stays down"},
        ("the session broke: agent crashed too often and stays down: what is in the log stays, open it again"),
    ),
    (no_entry("gone"), {"reason": "unknown-entry"}, "Entry gone not found"),
    (
        InvalidSessionId("-a"),
        {"reason": "bad-input", "session_id": "-a"},
        (
            "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', "
            "and start and end with an alphanumeric character"
        ),
    ),
    (BadEvent("Object missing required field `aborted`"), {}, "Object missing required field `aborted`"),
]
BLAMED: list[type[SapwoodError]] = [
    Refused,
    StaleLeaf,
    CompactionFailed,
    ContextTooLarge,
    StoreError,
    ProviderError,
    SessionClosed,
    SessionBroken,
    NotAnEntry,
    Unencodable,
]
PARENTS = {
    "Refused": SapwoodError,
    "InvalidSessionId": Refused,
    "StaleLeaf": SapwoodError,
    "StaleContext": SapwoodError,
    "CompactionFailed": SapwoodError,
    "ContextTooLarge": SapwoodError,
    "StoreError": SapwoodError,
    "NotASession": StoreError,
    "ForkFailed": SapwoodError,
    "NavigationFailed": SapwoodError,
    "NewerVersion": StoreError,
    "CannotWrite": StoreError,
    "CannotOpen": StoreError,
    "StoreClosed": StoreError,
    "ReadOnly": StoreError,
    "SessionInUse": StoreError,
    "StoreConflict": StoreError,
    "NotAnEntry": SapwoodError,
    "Unencodable": SapwoodError,
    "ProviderError": SapwoodError,
    "RedactionFailed": ProviderError,
    "SessionClosed": SapwoodError,
    "SessionBroken": SapwoodError,
    "SapwoodError": Exception,
}


@pytest.mark.parametrize(("error", "facts", "sentence"), SAID, ids=lambda value: type(value).__name__)
def test_an_error_carries_its_facts_and_writes_its_sentence(
    error: SapwoodError, facts: dict[str, object], sentence: str
) -> None:
    assert str(error) == sentence
    assert vars(error) == facts


def test_every_error_is_tried_and_has_one_parent() -> None:
    defined = {
        name: kind
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, BaseException) and kind.__module__ == errors.__name__
    }

    assert {name: kind.__bases__ for name, kind in defined.items()} == {
        name: (parent,) for name, parent in PARENTS.items()
    }
    assert {type(error) for error, _, _ in SAID} == {*defined.values(), BadEvent} - {SapwoodError}
    assert BadEvent.__bases__ == (SapwoodError,)


@pytest.mark.parametrize(("one", "other"), list(permutations(BLAMED, 2)), ids=lambda kind: kind.__name__)
def test_no_blame_is_part_of_another(one: type[SapwoodError], other: type[SapwoodError]) -> None:
    assert not issubclass(one, other)


def test_an_error_is_no_error_of_the_system_or_of_a_value() -> None:
    for error, _, _ in SAID:
        assert not isinstance(error, OSError | ValueError | LookupError)


def test_a_long_line_is_told_by_its_beginning_and_kept_whole() -> None:
    error = NotAnEntry("no id", b"x" * 1000)

    assert str(error) == f"not an entry (no id): {b'x' * 80!r}"
    assert error.line == b"x" * 1000


def test_the_reasons_of_a_refusal_are_closed() -> None:
    assert set(get_args(RefusalReason)) == {
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
    }


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        (Writer(pid=7), "process 7"),
        (Writer(pid=7, host="h"), "process 7 on h"),
        (Writer(pid=7, since="2026"), "process 7 since 2026"),
    ],
)
def test_an_owner_is_told_as_far_as_it_is_known(owner: Writer, said: str) -> None:
    assert str(owner) == said


class Speechless:
    def __repr__(self) -> str:
        raise RuntimeError


def test_what_went_wrong_is_kept_from_its_beginning() -> None:
    assert brief("x" * LONGEST_WORDS) == "x" * LONGEST_WORDS
    assert brief("x" * LONGEST_WORDS + "y") == "x" * LONGEST_WORDS + " …"


def test_whatever_is_handed_in_is_shown_in_few_characters() -> None:
    assert shown("x" * 500) == "'" + "x" * 79
    assert shown(None) == "None"
    assert (shown(10**5000), shown(Speechless())) == ("<int>", "<Speechless>")


def test_a_provider_error_says_whether_asking_again_may_help() -> None:
    assert ProviderError("x", kind="network").retryable
    assert not ProviderError("x", kind="overflow").retryable
    assert not ProviderError("x").retryable
