"""What is left, what a summary is made of and how its files are listed are as oh-my-pi has them, but for what is named.

The vectors are what omp's own functions answered (`make_vectors.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from sapwood.actors.navigation.branch import left
from sapwood.actors.projection.parts import parts_of
from sapwood.actors.session_log.view import View
from sapwood.actors.summaries.file_lists import MOST_SHOWN, Files, listed_in_one
from sapwood.actors.summaries.flatten import cut_result
from sapwood.events.entries import Entry
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message
from sapwood.store.memory import MemoryStore
from tests.build import HEADER
from tests.interop.walking import DEPARTURES, Departure, Walk, assert_ours

VECTORS: Final[Mapping[str, Any]] = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "omp-branches.json").read_text(encoding="utf-8")
)
NOT_OMPS: Final[frozenset[Departure]] = frozenset({"prompt", "hidden"})
"""omp has neither system messages in its log nor edits of what stands in it."""
EVERY: Final = frozenset(DEPARTURES) - NOT_OMPS
ALSO: Final = {
    "a path stays as the tool was given it": "its tools take selectors and schemes, which omp takes off or leaves out; ours do not",
    "each path has a line of its own": "omp draws those of several folders as a tree; a path that is whole can be copied",
    "how many files are not shown is told in our words": "they are no contract",
    "no tokenizer of omp's": "its native one is not called: the vectors count a fourth of the bytes",
}
"""Departures that no walk shows."""


def by_four(message: Message) -> int:
    """Omp's count where it knows no tokenizer: a fourth of the bytes of each part, rounded up; an image is 1200."""
    return sum(-(-len(part.encode()) // 4) if isinstance(part, str) else 1200 for part in parts_of(message))


def viewed(rows: Sequence[Mapping[str, Any]]) -> View:
    return View(MemoryStore(HEADER, [json.dumps(row).encode() for row in rows]))


def assert_alike(
    view: View,
    move: Sequence[str | None],
    answer: Mapping[str, Any],
    budgets: Sequence[int],
    seen: set[Departure],
) -> None:
    """What we collect and prepare is what omp does, but for the departures. Those that made a difference are added to what is seen."""
    leaf, target = (None if name is None else view.tree.index(EntryId(name)) for name in move)
    was_left = left(view.tree, leaf, target)
    assert [view.tree.id(place) for place in was_left.entries] == answer["entries"]
    assert (None if was_left.common is None else view.tree.id(was_left.common)) == answer["common"]
    entries: list[Entry] = [view.entry(place) for place in was_left.entries]
    as_omp_walks, as_we_walk = (
        Walk(entries, departing, "omp", by_four) for departing in (frozenset[Departure](), EVERY)
    )
    otherwise: dict[Departure, Walk] = {one: Walk(entries, EVERY - {one}, "omp", by_four) for one in EVERY - seen}
    for budget, omp in zip(budgets, answer["prepared"], strict=True):
        as_omp = as_omp_walks.within(budget)
        assert [message.timestamp for message in as_omp.messages] == omp["messages"]
        assert as_omp.tokens == omp["tokens"]
        assert [*as_omp.files.read] == omp["readFiles"]
        assert [*as_omp.files.modified] == omp["modifiedFiles"]
        as_ours = as_we_walk.within(budget)
        assert_ours(entries, budget, as_ours, "omp", by_four)
        seen |= {one for one, walk in otherwise.items() if walk.within(budget) != as_ours}


def test_what_is_left_and_prepared_is_omps_but_for_the_departures() -> None:
    seen: set[Departure] = set()
    for case in VECTORS["cases"]:
        asked, view = case["asked"], viewed(case["asked"]["entries"])
        for move, answer in zip(asked["moves"], case["answer"], strict=True):
            assert_alike(view, move, answer, asked["budgets"], seen)

    assert seen == EVERY


@pytest.mark.parametrize("case", VECTORS["texts"], ids=lambda case: "{}-{}".format(*case["asked"]))
def test_a_result_is_cut_where_omp_cuts_it(case: Mapping[str, Any]) -> None:
    letter, times = case["asked"]
    kept, rest = case["answer"]

    assert cut_result(letter * times) == letter * kept + rest


@pytest.mark.parametrize("case", VECTORS["files"], ids=range(len(VECTORS["files"])))
def test_the_files_of_one_folder_are_listed_as_omp_lists_them(case: Mapping[str, Any]) -> None:
    asked = case["asked"]
    files = Files(read=tuple(asked["read"]), modified=tuple(asked["modified"]), both=tuple(asked["both"]))
    ours, omps = (text.splitlines() for text in (listed_in_one(asked["text"], files), case["answer"]))

    if len(files.read) > MOST_SHOWN:
        assert (ours.pop(-2), omps.pop(-2)) == ("[... 5 more files]", "[…5 files elided…]")
    assert ours == omps
