"""Expected against seen. No I/O.

1. A mapping matches one that has at least its keys, each with what matches; `null` means absent or null.
2. A list matches item for item; `...` in it stands for any run of items, an empty one too.
3. A text matches itself, and one that ends in `...` whatever begins like it; `...` alone matches whatever is there.
4. Anything else matches what is equal and of its kind: 1 and 1.0 are, 1 and true are not.
5. `compare` finds no difference exactly if the list matches; else it pairs what belongs together at the least cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import attrs

from sapwood.events.base import Json, is_array, is_object

Field = tuple[str | int, ...]

GAP: Final = "..."

_ONE_SIDED: Final = 4
"""What an item costs that has no partner."""
_UNLIKE: Final = 3
"""What a pair of one kind costs that differs: less than one item without a partner, so that likes are shown side by side, also
between gaps; three of them more than two, so that a list that is shifted by one is told as that."""


@attrs.frozen
class Missing:
    """Nothing is there."""


MISSING: Final = Missing()


@attrs.frozen
class Mismatch:
    """One part of an item that is not as expected."""

    field: Field
    expected: Json
    seen: Json
    """`MISSING` if it is not there."""


@attrs.frozen(kw_only=True)
class Difference:
    """One item that was not seen, was not expected, or is not as expected."""

    kind: Literal["not seen", "not expected", "unlike"]
    expected_at: int | None = None
    seen_at: int | None = None
    expected: Json = MISSING
    seen: Json = MISSING
    fields: tuple[Mismatch, ...] = ()
    """For `unlike`: what differs."""


def mismatches(expected: Json, seen: Json, field: Field = ()) -> Iterator[Mismatch]:
    """Where `seen` is not as expected; nothing if it matches."""
    if _is_gap(expected) and seen is not MISSING:
        return
    if expected is None and (seen is None or seen is MISSING):
        return
    if is_object(expected) and is_object(seen):
        for key, value in expected.items():
            yield from mismatches(value, seen.get(key, MISSING), (*field, key))
    elif is_array(expected) and is_array(seen):
        yield from _list_mismatches(expected, seen, field)
    elif not _same(expected, seen):
        yield Mismatch(field, expected, seen)


def matches(expected: Json, seen: Json) -> bool:
    """Whether `seen` is as expected."""
    return next(mismatches(expected, seen), None) is None


def compare(expected: Sequence[Json], seen: Sequence[Json], *, key: str) -> tuple[Difference, ...]:
    """What is different between a list of patterns and what was seen, in order.

    Args:
        expected: patterns; `...` for any run.
        seen: what was seen.
        key: what tells the kind of an item (`type`, `role`): items of one kind are compared part by part.
    """
    start = _common(expected, seen)
    expected_end, seen_end = len(expected), len(seen)
    while expected_end > start and seen_end > start:
        last = expected[expected_end - 1]
        if _is_gap(last) or not matches(last, seen[seen_end - 1]):
            break
        expected_end, seen_end = expected_end - 1, seen_end - 1
    aligned = _Alignment(expected[start:expected_end], seen[start:seen_end], key)
    return tuple(aligned.differences(start))


def _is_gap(expected: Json) -> bool:
    return isinstance(expected, str) and expected == GAP


def _same(expected: Json, seen: Json) -> bool:
    if isinstance(expected, str) and isinstance(seen, str):
        return seen.startswith(expected[: -len(GAP)]) if expected.endswith(GAP) else seen == expected
    return isinstance(expected, bool) == isinstance(seen, bool) and bool(expected == seen)


def _list_mismatches(expected: Sequence[Json], seen: Sequence[Json], field: Field) -> Iterator[Mismatch]:
    if any(_is_gap(item) for item in expected):
        if any(_Alignment(expected, seen, "").differences(0)):
            yield Mismatch(field, expected, seen)
    elif len(expected) != len(seen):
        yield Mismatch(field, expected, seen)
    else:
        for at, (one, other) in enumerate(zip(expected, seen, strict=True)):
            yield from mismatches(one, other, (*field, at))


def _common(expected: Sequence[Json], seen: Sequence[Json]) -> int:
    """How many items match from the start, before any gap."""
    for at, (one, other) in enumerate(zip(expected, seen, strict=False)):
        if _is_gap(one) or not matches(one, other):
            return at
    return min(len(expected), len(seen))


class _Alignment:
    """The cheapest way to pair two lists: a table of what the rest costs from each pair of places on."""

    def __init__(self, expected: Sequence[Json], seen: Sequence[Json], key: str) -> None:
        self._expected = expected
        self._seen = seen
        self._key = key
        self._cost: list[list[int]] = [[0] * (len(seen) + 1) for _ in range(len(expected) + 1)]
        for e in range(len(expected), -1, -1):
            for s in range(len(seen), -1, -1):
                moves = self._moves(e, s)
                self._cost[e][s] = min((cost + self._cost[e + de][s + ds] for cost, de, ds in moves), default=0)

    def differences(self, start: int) -> Iterator[Difference]:
        """The differences on the cheapest way; places are counted from `start`."""
        e = s = 0
        while moves := self._moves(e, s):
            cost, de, ds = min(moves, key=lambda move: move[0] + self._cost[e + move[1]][s + move[2]])
            if cost:
                yield self._difference(e, s, de, ds, start)
            e, s = e + de, s + ds

    def _moves(self, e: int, s: int) -> list[tuple[int, int, int]]:
        """From a pair of places: what it costs to go on, and how far on either side. The first of equals is taken."""
        more, come = e < len(self._expected), s < len(self._seen)
        if more and _is_gap(self._expected[e]):
            return [(0, 1, 0), (0, 0, 1)] if come else [(0, 1, 0)]
        moves: list[tuple[int, int, int]] = []
        if more and come:
            if matches(self._expected[e], self._seen[s]):
                moves.append((0, 1, 1))
            elif self._alike(e, s):
                moves.append((_UNLIKE, 1, 1))
        if more:
            moves.append((_ONE_SIDED, 1, 0))
        if come:
            moves.append((_ONE_SIDED, 0, 1))
        return moves

    def _alike(self, e: int, s: int) -> bool:
        """Whether the two are of one kind, so that their parts are worth comparing."""
        expected, seen = self._expected[e], self._seen[s]
        if not is_object(expected) or not is_object(seen):
            return False
        return self._key not in expected or matches(expected[self._key], seen.get(self._key, MISSING))

    def _difference(self, e: int, s: int, de: int, ds: int, start: int) -> Difference:
        expected = self._expected[e] if de else MISSING
        seen = self._seen[s] if ds else MISSING
        fields = tuple(mismatches(expected, seen)) if de and ds else ()
        return Difference(
            kind="unlike" if de and ds else "not seen" if de else "not expected",
            expected_at=start + e if de else None,
            seen_at=start + s if ds else None,
            expected=expected,
            seen=seen,
            fields=fields,
        )
