"""G: what a branch's summary is made of, and where it begins (G02, G03, G15). What takes a session is asserted with navigation."""

from __future__ import annotations

from sapwood.actors.navigation.branch import left, prepared
from sapwood.actors.session_log.view import View
from sapwood.actors.summaries.file_lists import Files
from sapwood.actors.summaries.flatten import flatten
from sapwood.events.entries import Entry
from tests.actors.navigation.left_behind import compaction, letters, nested, viewed
from tests.build import assistant, call, message_entry, result, user

CANARY = "K-4711"


def left_in(view: View, leaf: str, to: str | None) -> list[Entry]:
    tree = view.tree
    return [view.entry(place) for place in left(tree, tree.index(leaf), None if to is None else tree.index(to)).entries]


def test_a_fact_that_only_a_result_has_reaches_the_summary_in_omps_manner_and_not_in_pis() -> None:
    """G02: the two systems differ on purpose, so which it is, is a setting (N4)."""
    view = viewed(
        message_entry("u", user("look")),
        message_entry("a", assistant(call("c", path="a.py")), "u"),
        message_entry("r", result("c", f"{CANARY} {'x' * 9_000}"), "a"),
    )
    entries = left_in(view, "r", "u")

    told = {
        manner: "".join(flatten(prepared(entries, 10_000, letters, manner=manner).messages)) for manner in ("omp", "pi")
    }
    assert CANARY in told["omp"]
    assert len(told["omp"]) < 2_200
    assert CANARY not in told["pi"]


def test_an_old_answer_and_what_came_of_it_are_in_the_summary_when_it_is_given_anew() -> None:
    """G03: with the answer itself for an anchor it was neither on the new branch nor in the summary."""
    view = viewed(
        message_entry("q", assistant(call("c", "ask"))),
        message_entry("a", result("c", "blue"), "q"),
        message_entry("w", assistant("painted it blue"), "a"),
    )
    tree = view.tree
    found = left(tree, tree.leaf, tree.parent(1))

    assert found.common == tree.index("q")
    assert found.entries == (1, 2)


def test_one_that_goes_back_past_a_compaction_sums_up_no_more_than_what_is_left() -> None:
    """G15: a walk that stopped at the compaction, or began at it, took in what both paths share."""
    view = viewed(
        message_entry("a", user("shared")),
        message_entry("b", assistant(call("1", path="left.py")), "a"),
        compaction("c", "summed up", details={"readFiles": ["summed.py"]}, parent="b"),
        nested("s", "an extension's", details={"readFiles": ["theirs.py"]}, from_hook=True, parent="c"),
        message_entry("d", user("behind it"), "s"),
    )
    entries = left_in(view, "d", "a")
    found = prepared(entries, 10_000, letters, manner="pi")

    assert [entry.id for entry in entries] == ["b", "c", "s", "d"]
    assert sum("summed up" in text for text in flatten(found.messages)) == 1
    assert found.files == Files(read=("left.py", "summed.py"))
