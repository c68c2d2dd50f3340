"""A recording that is played again, told in a line or with its first difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sapwood.events.base import Json
from sapwood.recording.replaying import Replayed
from sapwood.recording.tape import is_recording
from sapwood.store.disk import RealDisk
from sapwood.words.wording import Line, Piece, counted, cut, line, named

SHOWN: Final = 400
"""Characters of what differs; around the place where it does."""
START: Final = 64
"""Bytes that tell a recording from anything else."""


def is_a_recording(path: str) -> bool:
    """Whether the file at a path claims to be one. One that cannot be read does not."""
    disk = RealDisk()
    try:
        descriptor = disk.open_read(path)
    except (OSError, ValueError):
        return False
    try:
        return is_recording(disk.read(descriptor, 0, START))
    except OSError:
        return False
    finally:
        disk.close(descriptor)


def told(replayed: Replayed) -> Iterator[Line]:
    """The verdict."""
    sums = f"{counted(replayed.events, 'event')}, {counted(replayed.entries, 'entry', 'entries')}"
    name = Piece(named(replayed.path), "name")
    difference = replayed.difference
    if difference is not None:
        yield line(name, ": ", Piece("different", "bad"), f", behind {sums} that are the same")
        where = Piece(f"{named(replayed.path)}:{difference.line}", "name")
        yield line(
            where,
            f": {cut(difference.what)} is another one"
            if difference.seen
            else f": {cut(difference.what)} does not come",
        )
        expected, seen = _around(difference.expected, difference.seen)
        yield line("    ", Piece("recorded  ", "good"), expected)
        yield line("    ", Piece("seen      ", "bad"), seen)
    elif replayed.cut:
        yield line(name, ": ", Piece("cut", "bad"), f": it has no end; what there is of it is the same: {sums}")
    else:
        yield line(name, ": ", Piece("the same", "good"), f": {sums}")


def to_json(replayed: Replayed) -> Json:
    """The same as plain values."""
    difference = replayed.difference
    return {
        "path": replayed.path,
        "ok": replayed.same,
        "cut": replayed.cut,
        "events": replayed.events,
        "entries": replayed.entries,
        "difference": None
        if difference is None
        else {
            "line": difference.line,
            "what": difference.what,
            "recorded": difference.expected,
            "seen": difference.seen,
        },
    }


def _around(one: str | None, other: str | None) -> tuple[str, str]:
    """Both from a little before the place where they part, so that it is seen."""
    first, second = one or "(nothing)", other or "(nothing)"
    at = next((at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, at - SHOWN // 4)
    return _part(first, start), _part(second, start)


def _part(text: str, start: int) -> str:
    return f"{'…' if start else ''}{cut(text[start:], SHOWN)}"
