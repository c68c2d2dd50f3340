"""Session files as anybody may have written them, drawn from a seed: the same seed is the same file for ever.

1. Every kind of entry, every role, and unknown kinds and fields; branches, several roots, parents that are missing, and lines out of order.
2. Several compactions: that keep nothing, something, or an entry that is missing, elsewhere, or later; edits of whatever there is.
3. Only what Pi and we read alike: what we read otherwise on purpose is told by hand, in the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

Row = dict[str, Any]

HEADER: Final[Row] = {
    "type": "session",
    "version": 3,
    "id": "s1",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "cwd": "/home/dev",
}
PIXEL: Final = "aGk="
COST: Final[Row] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
USAGE: Final[Row] = {"input": 7, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 9, "cost": COST}
CALL_IDS: Final = ("call-1", "call-2", "call_3|long+id", "")
WORDS: Final = ("", " ", "Which rings?", "漢字 😀", "two\nlines", "</summary>", "null")


def text(words: str) -> Row:
    return {"type": "text", "text": words}


class Draft:
    """A session that is being made up."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)  # noqa: S311 - the same file for the same seed is the point
        self.rows: list[Row] = []

    def words(self) -> str:
        return self.chance.choice(WORDS)

    def blocks(self, *more: Row) -> list[Row]:
        return self.chance.choices([text(self.words()), text("said"), *more], k=self.chance.randrange(3))

    def content(self) -> str | list[Row]:
        image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        return self.words() if self.chance.random() < 0.4 else self.blocks(image)

    def stamp(self) -> int:
        return 1_772_352_000_000 + 1000 * len(self.rows)

    def anybody(self) -> str:
        """An entry: one that is there, the next one itself, one that may come, or none at all."""
        near = self.chance.randrange(max(0, len(self.rows) - 12), len(self.rows) + 2)
        return self.chance.choice(
            [f"{near:08x}"] * 7 + [f"{self.chance.randrange(len(self.rows) + 6):08x}", "ffffffff"]
        )

    def parent(self) -> str | None:
        drawn = self.chance.random()
        if not self.rows or drawn < 0.02:
            return None
        if drawn < 0.03:
            return "eeeeeeee"  # it is nowhere
        back = 1 if drawn < 0.9 else self.chance.randrange(1, len(self.rows) + 1)
        return str(self.rows[-back]["id"])

    def add(self) -> None:
        kind = self.chance.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
        number = len(self.rows)
        stamp = f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.{number % 1000:03}Z"
        row = {
            "type": kind,
            "id": f"{number:08x}",
            "parentId": self.parent(),
            "timestamp": stamp,
            **KINDS[kind][1](self),
        }
        if self.chance.random() < 0.05:
            row["laterField"] = {"a": [1, None]}
        self.rows.append(row)


def system(draft: Draft) -> Row:
    said: Row = {"role": "system", "content": draft.words(), "timestamp": draft.stamp()}
    if draft.chance.random() < 0.7:
        said["sections"] = {"rules": draft.words(), "cwd": draft.chance.choice(["/home/dev", None])}
    if draft.chance.random() < 0.3:
        said["toolsAdded"] = [{"name": "read", "description": "Read a file", "parameters": {"type": "object"}}]
        said["toolsRemoved"] = [{"name": "write"}]
    return said


def user(draft: Draft) -> Row:
    return {"role": "user", "content": draft.content(), "timestamp": draft.stamp()}


def assistant(draft: Draft) -> Row:
    thought: Row = {"type": "thinking", "thinking": draft.words()}
    if draft.chance.random() < 0.5:
        thought |= {"thinkingSignature": "sig", "redacted": False}
    call = {
        "type": "toolCall",
        "id": draft.chance.choice(CALL_IDS),
        "name": "read",
        "arguments": {"path": "a", "n": [1]},
    }
    said: Row = {
        "role": "assistant",
        "content": draft.blocks(thought, call, call),
        "api": "story-api",
        "provider": "story",
        "model": draft.chance.choice(["small", "large"]),
        "usage": USAGE,
        "stopReason": draft.chance.choice(["stop", "stop", "toolUse", "length", "error", "aborted", "deferred"]),
        "timestamp": draft.stamp(),
    }
    return said | ({"errorMessage": "overloaded"} if said["stopReason"] == "error" else {})


def tool_result(draft: Draft) -> Row:
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    return {
        "role": "toolResult",
        "toolCallId": draft.chance.choice(CALL_IDS),
        "toolName": "read",
        "content": draft.blocks(image),
        "details": {"rows": 2},
        "isError": draft.chance.random() < 0.3,
        "timestamp": draft.stamp(),
    }


def command(draft: Draft) -> Row:
    said: Row = {
        "role": "bashExecution",
        "command": "ls",
        "output": draft.words(),
        "exitCode": 1,
        "timestamp": draft.stamp(),
    }
    said |= {"cancelled": False, "truncated": draft.chance.random() < 0.5}
    return said | ({"excludeFromContext": True} if draft.chance.random() < 0.3 else {})


def extension(draft: Draft) -> Row:
    return {
        "role": "custom",
        "customType": "note",
        "content": draft.content(),
        "display": True,
        "timestamp": draft.stamp(),
    }


ROLES: Final[tuple[Callable[[Draft], Row], ...]] = (
    *[user] * 3,
    *[assistant] * 4,
    *[tool_result] * 2,
    system,
    command,
    extension,
)


def message(draft: Draft) -> Row:
    said = draft.chance.choice(ROLES)(draft)
    if said["role"] in {"user", "assistant", "toolResult", "system"} and draft.chance.random() < 0.03:
        said["content"] = None
    return {"message": said}


def compaction(draft: Draft) -> Row:
    own = f"{len(draft.rows):08x}"
    made: Row = {"summary": f"summary {own}", "tokensBefore": 640}
    made["firstKeptEntryId"] = own if draft.chance.random() < 0.15 else draft.anybody()
    if draft.chance.random() < 0.5:
        made["systemMessage"] = system(draft)
    if draft.chance.random() < 0.5:
        made |= {"details": {"readFiles": []}, "usage": USAGE, "fromHook": draft.chance.random() < 0.5}
    return made


def edit(draft: Draft) -> Row:
    replacements: list[Row | None] = [
        None,
        {"content": draft.words()},
        {"content": [text(draft.words()), text("changed")]},
        {"content": []},
    ]
    return {"targetId": draft.anybody(), "replacement": draft.chance.choice(replacements)}


def branch_summary(draft: Draft) -> Row:
    made: Row = {"fromId": draft.chance.choice(["root", draft.anybody()]), "summary": draft.words()}
    # a summary under a null root: the other branch was left for the beginning
    return made | ({"parentId": None} if draft.chance.random() < 0.3 else {})


def custom_message(draft: Draft) -> Row:
    return {"customType": "note", "content": draft.content(), "display": True, "details": {"net": 3}}


KINDS: Final[dict[str, tuple[int, Callable[[Draft], Row]]]] = {
    "message": (50, message),
    "compaction": (7, compaction),
    "context_edit": (12, edit),
    "branch_summary": (4, branch_summary),
    "custom_message": (6, custom_message),
    "label": (4, lambda draft: {"targetId": draft.anybody(), "label": draft.chance.choice(["here", "", None])}),
    "session_info": (2, lambda draft: {"name": draft.words()}),
    "usage": (2, lambda _: {"kind": "cache_warm", "provider": "story", "model": "small", "usage": USAGE}),
    "custom": (4, lambda draft: {"customType": draft.chance.choice(["sapwood.leaf", "tally"]), "data": {"n": 1}}),
    "model_change": (3, lambda _: {"provider": "story", "modelId": "picked"}),
    "thinking_level_change": (3, lambda draft: {"thinkingLevel": draft.chance.choice(["off", "low", "high"])}),
    "of_a_later_version": (2, lambda _: {"summary": "?", "message": {"role": "user", "content": "?"}}),
}
"""How often each comes, and what is in it."""


def tree(seed: int) -> tuple[list[Row], list[str | None]]:
    """The entries of a file, and a few leaves to look at it from besides its own; None is before the first entry."""
    draft = Draft(seed)
    for _ in range(draft.chance.randrange(1, 80)):
        draft.add()
    rows = draft.rows
    if draft.chance.random() < 0.1:  # another program's order: parents come later
        draft.chance.shuffle(rows)
    leaves: list[str | None] = [str(draft.chance.choice(rows)["id"]) for _ in range(2)]
    return rows, [*leaves, None]


def line(row: Row) -> bytes:
    """As JavaScript writes it."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def lines(rows: Sequence[Row | bytes]) -> bytes:
    """A file with these entries; what is bytes is a line already, whatever it says."""
    return b"".join((row if isinstance(row, bytes) else line(row)) + b"\n" for row in [HEADER, *rows])
