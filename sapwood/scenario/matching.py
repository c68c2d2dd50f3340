"""Expected against seen. No I/O.

1. A mapping matches one that has at least its keys, each with what matches; `null` means absent or null.
2. A list matches item for item; `...` in it stands for any run of items, an empty one too.
3. A text matches itself, and one that ends in `...` whatever begins like it; `...` alone matches whatever is there.
4. Anything else matches what is equal and of its kind: 1 and 1.0 are, 1 and true are not.
5. `compare` finds no difference exactly if the list matches; else it pairs what belongs together, as `aligning` says.
6. A part of a pattern is held against a part of what was seen once, however the gaps lie: the work is bounded by their sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Literal

import attrs

from sapwood.events.base import Json, is_array, is_object
from sapwood.scenario.aligning import Likeness, Lists, Move, Spot, align

Field = tuple[str | int, ...]

GAP: Final = "..."

KINDS: Final = frozenset({"type", "role"})
"""Keys that tell what something is."""

LOOKED_FOR: Final = 20
"""Items that were not seen in their place and are looked for in others: as many as are shown of a scenario."""


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
    later: int | None = None
    """For `not seen`: where it was seen further on, and nothing else was expected there."""
    before: int | None = None
    """Where it was seen before, if it was not later."""
    at: int = 0
    """For `not expected`: before which expected item it was seen; the number of those for behind the last."""

    def at_places(self, places: Sequence[int]) -> Difference:
        """The same of a list in which what was seen stands at other places."""
        moved = (None if at is None else places[at] for at in (self.seen_at, self.later, self.before))
        seen_at, later, before = moved
        return attrs.evolve(self, seen_at=seen_at, later=later, before=before)


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
    front = _matched(expected, seen)
    back = _matched(expected[front.expected :][::-1], seen[front.seen :][::-1])
    rest = expected[front.expected : len(expected) - back.expected], seen[front.seen : len(seen) - back.seen]
    if rest[0] and all(map(_is_gap, rest[0])):
        return ()
    aligned = list(_aligned(*rest, key))
    paired = {s + front.seen for (_, s), (_, de, ds) in aligned if de and ds}
    paired |= {*front.paired, *(len(seen) - 1 - at for at in back.paired)}
    found = [
        _difference(expected, seen, (e + front.expected, s + front.seen), move) for (e, s), move in aligned if move[0]
    ]
    absent = itertools.count()
    return tuple(
        _looked_for(one, seen, paired, look=next(absent) < LOOKED_FOR) if one.kind == "not seen" else one
        for one in found
    )


def _is_gap(expected: Json) -> bool:
    return isinstance(expected, str) and expected == GAP


def _same(expected: Json, seen: Json) -> bool:
    if isinstance(expected, str) and isinstance(seen, str):
        return seen.startswith(expected[: -len(GAP)]) if expected.endswith(GAP) else seen == expected
    return isinstance(expected, bool) == isinstance(seen, bool) and bool(expected == seen)


def _list_mismatches(expected: Sequence[Json], seen: Sequence[Json], field: Field) -> Iterator[Mismatch]:
    if any(_is_gap(item) for item in expected):
        if not _fits(expected, seen):
            yield Mismatch(field, expected, seen)
    elif len(expected) != len(seen):
        yield Mismatch(field, expected, seen)
    else:
        for at, (one, other) in enumerate(zip(expected, seen, strict=True)):
            yield from mismatches(one, other, (*field, at))


@attrs.frozen
class _Matched:
    """How far two lists match from their starts: to their ends, to the first item that does not, or to the gap behind which none does."""

    expected: int
    seen: int
    paired: Sequence[int]
    """The seen items that an expected one stands for, the others being a gap's."""


def _matched(expected: Sequence[Json], seen: Sequence[Json]) -> _Matched:
    """What stands between two gaps is matched where it comes first, which leaves the most for what follows."""
    gaps = [at for at, item in enumerate(expected) if _is_gap(item)]
    end = gaps[0] if gaps else len(expected)
    common = _common(expected[:end], seen)
    if common < end or not gaps:
        return _Matched(common, common, range(common))
    at, paired = end, [*range(end)]
    for gap, following in itertools.pairwise(gaps):
        segment = expected[gap + 1 : following]
        place = _first_place(segment, seen, at)
        if place is None:
            return _Matched(gap, at, paired)
        at = place + len(segment)
        paired.extend(range(place, at))
    return _Matched(gaps[-1], at, paired)


def _fits(expected: Sequence[Json], seen: Sequence[Json]) -> bool:
    """Whether a list with gaps matches. What comes behind the last gap stands at the end."""
    front = _matched(expected, seen)
    last = expected[front.expected :]
    if not last or not _is_gap(last[0]) or any(_is_gap(item) for item in last[1:]):
        return False
    tail = len(last) - 1
    return front.seen + tail <= len(seen) and _common(last[1:], seen[len(seen) - tail :]) == tail


def _first_place(segment: Sequence[Json], seen: Sequence[Json], start: int) -> int | None:
    for place in range(start, len(seen) - len(segment) + 1):
        if all(matches(one, seen[place + at]) for at, one in enumerate(segment)):
            return place
    return None


def _common(expected: Sequence[Json], seen: Sequence[Json]) -> int:
    """How many items match from the start."""
    for at, (one, other) in enumerate(zip(expected, seen, strict=False)):
        if not matches(one, other):
            return at
    return min(len(expected), len(seen))


def _aligned(expected: Sequence[Json], seen: Sequence[Json], key: str) -> Iterator[tuple[Spot, Move]]:
    def likeness(e: int, s: int) -> Likeness:
        if matches(expected[e], seen[s]):
            return "match"
        if not _alike(expected[e], seen[s], key):
            return "strange"
        return "unlike" if _kin(expected[e], seen[s]) else "far"

    gaps = [_is_gap(item) for item in expected]
    return align(Lists(expected=len(expected), seen=len(seen), is_gap=gaps.__getitem__, likeness=likeness))


def _alike(expected: Json, seen: Json, key: str) -> bool:
    """Whether the two are of one kind, so that their parts are worth comparing."""
    if not is_object(expected) or not is_object(seen):
        return False
    return key not in expected or matches(expected[key], seen.get(key, MISSING))


def _kin(expected: Json, seen: Json) -> bool:
    """Whether the two are of one kind all the way in: an answer's `message_end` is no kin of a user's."""
    if not is_object(expected) or not is_object(seen):
        return True
    return all(
        matches(value, seen.get(key, MISSING)) if key in KINDS else _kin(value, seen.get(key, MISSING))
        for key, value in expected.items()
    )


def _difference(expected: Sequence[Json], seen: Sequence[Json], place: Spot, move: Move) -> Difference:
    """The difference that a move tells. Of what was not seen, `seen_at` is for now where it should have been."""
    (e, s), (_, de, ds) = place, move
    if not ds:
        return Difference(kind="not seen", expected_at=e, seen_at=s, expected=expected[e])
    if not de:
        return Difference(kind="not expected", seen_at=s, seen=seen[s], at=e)
    return Difference(
        kind="unlike",
        expected_at=e,
        seen_at=s,
        expected=expected[e],
        seen=seen[s],
        fields=tuple(mismatches(expected[e], seen[s])),
    )


def _looked_for(absent: Difference, seen: Sequence[Json], paired: AbstractSet[int], *, look: bool) -> Difference:
    """The item that was not seen, with where it was seen all the same."""
    at = absent.seen_at or 0
    absent = attrs.evolve(absent, seen_at=None)
    places = itertools.chain(range(at, len(seen)), reversed(range(at))) if look else ()
    place = next((one for one in places if one not in paired and matches(absent.expected, seen[one])), None)
    if place is None:
        return absent
    return attrs.evolve(absent, later=place) if place >= at else attrs.evolve(absent, before=place)
