"""Pairing two lists at the least cost. No I/O, and it knows nothing of what is in them.

1. A pair that matches is free; one that is alike and differs costs less than two items without a partner, also if it is alike from
   afar; a gap takes any run for free.
2. The cheapest way is looked for from the end, places in the order of what is left to pay: lists that differ little are paired in
   little time, however long they are.
3. After `MOST_PLACES` the best that was found is kept, and the search begins anew before it: lists that differ everywhere cost no
   more than their lengths times a constant, and what is told of them is still true, if not always the shortest that could be told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

import attrs

ONE_SIDED: Final = 4
"""What an item costs that has no partner."""
UNLIKE: Final = 3
"""What a pair of one kind costs that differs: less than one item without a partner, so that likes are shown side by side, also
between gaps; three of them more than two, so that a list that is shifted by one is told as that."""
FAR: Final = 5
"""What a pair costs that is of one kind on the outside alone: more than a nearer one, and less than two items without a partner, so that it
is taken where nothing is nearer. Beside a gap, where one of the two goes for free, it is not taken."""
MOST_PLACES: Final = 60_000
"""Pairs of places that are looked at before something is settled: a quarter of a second, and exact for a dozen differences among
thousands of items."""

Likeness = Literal["match", "unlike", "far", "strange"]
"""Of an expected item and a seen one; `unlike` is of one kind, so that their parts are worth comparing; `far` is, but for what is in it."""
PAIRED: Final[Mapping[Likeness, int]] = {"match": 0, "unlike": UNLIKE, "far": FAR}
"""What a pair costs. A strange one is no pair."""
Spot = tuple[int, int]
Move = tuple[int, int, int]
"""What it costs to go on, and how far on either side."""


@attrs.frozen(kw_only=True)
class Lists:
    """Two lists, by what a pairing must know of them."""

    expected: int
    """How many there are."""
    seen: int
    is_gap: Callable[[int], bool]
    likeness: Callable[[int, int], Likeness]


def align(lists: Lists) -> Iterator[tuple[Spot, Move]]:
    """The way from the start of both lists to their ends: each place, and the move that is made there."""
    goal = (lists.expected, lists.seen)
    parts: list[list[tuple[Spot, Move]]] = []
    while goal != (0, 0):
        parts.append(list(_walked(lists, _left_to_pay(lists, goal), goal)))
        goal = parts[-1][0][0]
    for part in reversed(parts):
        yield from part


def _left_to_pay(lists: Lists, goal: Spot) -> dict[Spot, int]:
    """What is left to pay from each place that was looked at; the last is the start, or the place that is farthest from the goal."""
    costs: dict[Spot, int] = {}
    piles: list[list[Spot]] = [[goal], *([] for _ in range(max(ONE_SIDED, FAR)))]
    paid, farthest = 0, (goal[0], 0, -goal[1])
    while any(piles):
        for place in iter(lambda: piles[0].pop() if piles[0] else None, None):
            if place in costs:
                continue
            costs[place] = paid
            farthest = min(farthest, (place[0], paid, -place[1]))
            for cost, before in _before(lists, place):
                if before not in costs:
                    piles[cost].append(before)
            if len(costs) >= MOST_PLACES and farthest[0] < goal[0]:
                return _with_last(costs, (farthest[0], -farthest[2]))
        if (0, 0) in costs:
            return _with_last(costs, (0, 0))
        piles.append([])
        del piles[0]
        paid += 1
    raise AssertionError("every place leads back to the start")


def _with_last(costs: dict[Spot, int], place: Spot) -> dict[Spot, int]:
    costs[place] = costs.pop(place)
    return costs


def _before(lists: Lists, place: Spot) -> Iterator[tuple[int, Spot]]:
    """The places from which one move leads to a place, and its cost."""
    e, s = place
    if e:
        if lists.is_gap(e - 1):
            yield 0, (e - 1, s)
        else:
            yield ONE_SIDED, (e - 1, s)
            if s:
                likeness = lists.likeness(e - 1, s - 1)
                if likeness != "strange":
                    yield PAIRED[likeness], (e - 1, s - 1)
    if s:
        yield 0 if e < lists.expected and lists.is_gap(e) else ONE_SIDED, (e, s - 1)


def _walked(lists: Lists, costs: dict[Spot, int], goal: Spot) -> Iterator[tuple[Spot, Move]]:
    """From the last of the places to the goal, on the way on which the least is left to pay. The first of equals is taken."""
    place = next(reversed(costs))
    while place != goal:
        e, s = place
        left = costs[place]
        move = next(
            one for one in _moves(lists, place) if costs.get((e + one[1], s + one[2]), left + 1) == left - one[0]
        )
        yield place, move
        place = (e + move[1], s + move[2])


def _moves(lists: Lists, place: Spot) -> Iterator[Move]:
    """What can be done at a place; what is told best comes first."""
    e, s = place
    more, come = e < lists.expected, s < lists.seen
    if more and lists.is_gap(e):
        yield 0, 1, 0
        if come:
            yield 0, 0, 1
        return
    if more and come:
        likeness = lists.likeness(e, s)
        if likeness != "strange":
            yield PAIRED[likeness], 1, 1
    if more:
        yield ONE_SIDED, 1, 0
    if come:
        yield ONE_SIDED, 0, 1
