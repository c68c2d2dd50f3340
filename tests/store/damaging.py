"""Files that are damaged on purpose, and what must hold of any of them."""

from __future__ import annotations

import bisect
import random
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from sapwood.events.codec import decode_envelope, decode_header
from sapwood.events.errors import NotAnEntry
from sapwood.store.scan import scan
from sapwood.store.scanned import Scanned

Mutator = Callable[[random.Random, bytes], bytes]

GARBAGE: Final = (
    *(b"\0", b"\0" * 9, b"\xff", b"\r", b"\n", b" ", b"\t", b"\\", b'"', b"}{", b"{", b"}", b"[", b"]", b",", b":", b"null"),
    *(b'{"type":', b'{"id":"a","parentId":null,', b'"parentId":"a"', b'{"type":"toolCall","id":"c1"}', b"\xe2\x80\xa8", b"\xef\xbb\xbf"),
)  # fmt: skip
_LF: Final = re.compile(b"\n")
_LINE_END: Final = re.compile(rb"\r?\n|\r?\Z")
_HEADER: Final = re.compile(rb"(?:\r?\n)?([^\n]+?)(?:\r?\n|\r)?")
"""With the line ends round it."""


def entries(data: bytes, held: Scanned) -> list[bytes]:
    return [data[at : at + length] for at, length in zip(held.offsets, held.lengths, strict=True)]


def named(held: Scanned) -> list[tuple[str, int, int]]:
    """What is damaged, where, and how long it is."""
    return [(one.kind, one.offset, one.length) for one in held.damage]


def assert_all_is_named(data: bytes, held: Scanned) -> None:
    """Every byte is part of one entry or of the header, ends a line, or lies in one `Damage`; and each is what and where it says."""
    assert len(held.offsets) == len(held.lengths) == len(held.tree)
    spans = [*zip(held.offsets, held.lengths, strict=True)]
    assert spans == sorted(spans)
    for place, piece in enumerate(entries(data, held)):
        assert b"\n" not in piece
        if held.header.version >= 2:
            assert decode_envelope(piece).id == held.tree.id(place)
    spans += [(one.offset, one.length) for one in held.damage if one.length and one.kind != "invalid_utf8"]
    headers = [gap for gap in _gaps(data, sorted(spans)) if not _is_line_end(data, *gap)]
    assert len(headers) == 1
    [(start, end)] = headers
    header = _HEADER.fullmatch(data, start, end)
    assert header is not None
    written = [_header(header[1]), _header(data[header.start(1) : end])]  # a CR may be a blank
    if any(one.kind == "odd_version" for one in held.damage):
        written = [msgspec.structs.replace(one, version=2) for one in written]
    assert held.header in written
    _assert_places(data, held)


_header: Final = lru_cache(maxsize=64)(decode_header)
"""Most damage is not in it, and reading an odd one takes long."""


def _gaps(data: bytes, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The bytes that no span covers. No two spans cover one."""
    at, gaps = 0, list[tuple[int, int]]()
    for offset, length in spans:
        assert at <= offset
        gaps.append((at, offset))
        at = offset + length
    assert at <= len(data)
    return [(start, end) for start, end in [*gaps, (at, len(data))] if start < end]


def _is_line_end(data: bytes, start: int, end: int) -> bool:
    found = _LINE_END.match(data, start)
    return start > 0 and found is not None and found.end() == end


def _assert_places(data: bytes, held: Scanned) -> None:
    """Damage is told in file order, by the right line; and what is inside of an entry, is inside of one."""
    breaks = [found.start() for found in _LF.finditer(data)] if held.damage else []
    assert [one.offset for one in held.damage] == sorted(one.offset for one in held.damage)
    for one in held.damage:
        assert one.line == 1 + bisect.bisect_left(breaks, one.offset)
        assert 0 <= one.offset <= one.offset + one.length <= len(data)
        assert one.length > 0 or one.kind in UNSIZED


UNSIZED: Final = {
    *("lost_newline", "crlf", "odd_version", "self_parent", "cycle", "missing_parent", "later_parent", "several_roots"),
}


def assert_whole_lines_are_found(data: bytes, held: Scanned, whole: Iterable[bytes]) -> None:
    """Lines that nothing has touched are entries where they stand, unless an entry before them has the same id."""
    places = dict(zip(held.offsets, held.lengths, strict=True))
    places.update((one.offset, one.length) for one in held.damage if one.kind in {"duplicate_id", "repeated_entry"})
    known, at = set(whole), 0
    for line in data.split(b"\n"):
        content = line.removesuffix(b"\r")
        if content in known:
            assert places.get(at) == len(content)
        at += len(line) + 1


def scanned_or_none(data: bytes) -> Scanned | None:
    """None of what has no header any more."""
    try:
        return scan(data)
    except NotAnEntry as error:
        assert "no line of it is a session header" in str(error)  # noqa: PT017 - and nothing else
        return None


def _range(chance: random.Random, data: bytes, most: int = 60) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.randrange(1, most))


def flip(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + bytes(byte ^ 1 << chance.randrange(8) for byte in data[at : at + 1]) + data[at + 1 :]


def zero(chance: random.Random, data: bytes) -> bytes:
    start, end = _range(chance, data)
    return data[:start] + bytes(end - start) + data[end:]


def delete(chance: random.Random, data: bytes) -> bytes:
    start, end = _range(chance, data)
    return data[:start] + data[end:]


def duplicate(chance: random.Random, data: bytes) -> bytes:
    start, end = _range(chance, data, most=200)
    return data[:end] + data[start:end] + data[end:]


def swap(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    one, other = (chance.randrange(len(lines)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def insert(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(GARBAGE) + data[at:]


def truncate(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def glue(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    return b"\n".join([*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]])


def carriage_returns(chance: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n", chance.choice([-1, 1, 2, 5]))


def splice(chance: random.Random, data: bytes) -> bytes:
    """A part of a line in the midst of another."""
    line = chance.choice(data.split(b"\n"))
    start, end = _range(chance, line, most=300)
    at = chance.randrange(len(data) + 1)
    return data[:at] + line[start:end] + data[at:]


def start_again(chance: random.Random, data: bytes) -> bytes:
    """The beginning of a line, and then the whole of it."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)] + lines[at]
    return b"\n".join(lines)


MUTATORS: Final[Sequence[Mutator]] = (
    *(flip, zero, delete, duplicate, swap, insert, truncate, glue, carriage_returns, splice, start_again),
)


def mutated(seed: int, data: bytes) -> bytes:
    """One to three kinds of damage, the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - it is to be repeated
    for _ in range(chance.choice([1, 1, 2, 3])):
        data = chance.choice(MUTATORS)(chance, data)
    return data
