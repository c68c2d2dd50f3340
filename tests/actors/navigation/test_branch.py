"""A move knows where it ends and what it leaves behind, and its summary is made of what fits: of the newest always (N1 to N4)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import BranchSummarySettings
from sapwood.actors.navigation.branch import Destination, Prepared, budget, destination, is_there, left, prepared
from sapwood.actors.navigation.cutting import as_told
from sapwood.actors.navigation.settings import Manner
from sapwood.actors.session_log.view import View
from sapwood.actors.summaries.file_lists import Files
from sapwood.actors.summaries.flatten import flatten
from sapwood.events.content import ImageContent
from sapwood.events.entries import Entry
from sapwood.events.messages import StoredMessage, ToolResultMessage
from sapwood.events.models import Model
from sapwood.store.memory import MemoryStore
from tests.actors.navigation.left_behind import (
    PICTURE,
    THOUGHT,
    command,
    compaction,
    custom,
    custom_entry,
    drawn,
    edit,
    label,
    letters,
    names,
    nested,
    note,
    viewed,
    written,
)
from tests.build import HEADER, assistant, call, message_entry, result, system, text, user, words

OTHER = ImageContent(data="aG8=", mime_type="image/png")


def entries_of(*messages: StoredMessage) -> list[Entry]:
    return [message_entry(f"m{at}", message) for at, message in enumerate(messages)]


def made(entries: Sequence[Entry], room: int = 10_000, manner: Manner = "pi") -> Prepared:
    return prepared(entries, room, letters, manner=manner)


def said(entries: Sequence[Entry], room: int = 10_000, manner: Manner = "pi") -> list[str]:
    return [words(message) for message in made(entries, room, manner).messages]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (None, Destination(leaf=None)),
        (0, Destination(leaf=None, text="first")),
        (1, Destination(leaf=1)),
        (2, Destination(leaf=1, text="look here", images=(PICTURE, OTHER))),
        (3, Destination(leaf=3)),
        (4, Destination(leaf=3, text="a note")),
        (5, Destination(leaf=4, text="", images=(PICTURE,))),
        (6, Destination(leaf=6)),
        (7, Destination(leaf=7)),
        (8, Destination(leaf=8)),
        (9, Destination(leaf=9)),
    ],
)
def test_what_somebody_said_is_handed_back_and_the_leaf_becomes_its_parent(
    target: int | None, expected: Destination
) -> None:
    view = viewed(
        message_entry("0", user("first")),
        message_entry("1", assistant("answer"), "0"),
        message_entry("2", user((text("look "), PICTURE, text("here"), OTHER)), "1"),
        message_entry("3", result("c1"), "2"),
        custom_entry("4", "a note", "3"),
        message_entry("5", custom((PICTURE,)), "4"),
        compaction("6", "before", parent="5"),
        nested("7", "elsewhere", parent="6"),
        label("8", "1", "here", "7"),
        message_entry("9", command("ls", "a"), "8"),
    )

    assert destination(view, target) == expected


def test_what_is_handed_back_can_be_said_again() -> None:
    line = b'{"type":"custom_message","id":"0","parentId":null,"timestamp":"","customType":"n","content":"a \\ud83d","display":true}'

    assert destination(View(MemoryStore(HEADER, [line])), 0).text == "a \ufffd"


def test_an_entry_of_a_later_version_is_moved_to_as_it_is() -> None:
    line = b'{"type":"later","id":"0","parentId":null,"timestamp":"","message":{"role":"user","content":"hello"}}'

    assert destination(View(MemoryStore(HEADER, [line])), 0) == Destination(leaf=0)


@pytest.mark.parametrize(
    ("picture", "leaf", "expected"),
    [
        ("a ab", 1, True),
        ("a ab", 0, False),
        ("a ab", None, False),
        ("a ab bK", 1, True),
        ("a ab bK", 2, True),
        ("a ab aK", 0, True),
        ("a ab aK", 1, False),
        ("K", None, True),
        ("a K", None, True),
    ],
)
def test_one_is_there_if_nothing_but_bookkeeping_lies_between(
    picture: str, leaf: int | None, *, expected: bool
) -> None:
    assert is_there(drawn(picture).tree, Destination(leaf=leaf)) is expected


def test_an_empty_session_stands_before_its_first_entry() -> None:
    assert is_there(viewed().tree, Destination(leaf=None))


FORKED = "a ab bc cd ae ef x xy bC Cg"
"""A tree: a to d, with e and f beside b, and a compaction C under b; x and y are a tree of their own."""


@pytest.mark.parametrize(
    ("leaf", "to", "common", "entries"),
    [
        ("d", "f", "a", "bcd"),
        ("d", "a", "a", "bcd"),
        ("d", "b", "b", "cd"),
        ("d", "d", "d", ""),
        ("a", "d", "a", ""),
        ("f", "d", "a", "ef"),
        ("d", "y", None, "abcd"),
        ("y", "d", None, "xy"),
        ("d", None, None, "abcd"),
        (None, "f", None, ""),
        (None, None, None, ""),
        ("g", "e", "a", "bCg"),
        ("g", "d", "b", "Cg"),
        ("g", "C", "C", "g"),
    ],
)
def test_what_is_left_goes_up_to_the_deepest_common_entry(
    leaf: str | None, to: str | None, common: str | None, entries: str
) -> None:
    tree = drawn(FORKED).tree
    found = left(tree, None if leaf is None else tree.index(leaf), None if to is None else tree.index(to))

    assert (None if found.common is None else tree.id(found.common)) == common
    assert names(tree, found.entries) == entries


@given(st.data())
def test_what_is_left_and_what_is_above_it_are_the_old_path(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    letter = "abcdefghijklmnop"
    parents = [data.draw(st.sampled_from(["", *letter[:at]])) for at in range(size)]
    tree = drawn(" ".join(f"{parent}{letter[at]}" for at, parent in enumerate(parents))).tree
    places = st.sampled_from([None, *range(size)])
    leaf, to = data.draw(places), data.draw(places)
    found = left(tree, leaf, to)

    assert [*tree.path(found.common), *found.entries] == tree.path(leaf)
    assert set(tree.path(leaf)) & set(tree.path(to)) == set(tree.path(found.common))


@pytest.mark.parametrize(
    ("window", "reserve", "expected"),
    [
        (None, 16_384, 111_616),
        (200_000, 16_384, 183_616),
        (200_000, 0, 200_000),
        (100_000, 75_000, 25_000),
        (100_000, 75_001, 25_000),
        (100_000, 74_999, 25_001),
        (8_192, 16_384, 2_048),
        (8_193, 16_384, 2_049),
        (1, 16_384, 1),
        (1_000_000, 2**53 - 1, 250_000),
    ],
)
def test_the_budget_is_the_window_without_the_reserve_and_a_quarter_at_least(
    window: int | None, reserve: int, expected: int
) -> None:
    model = Model(provider="p", id="m", context_window=window)

    assert budget(model, BranchSummarySettings(reserve_tokens=reserve)) == expected


TALK = entries_of(user("one"), assistant("two2"), user("three"), assistant("four44"))
"""Three, four, five and six tokens."""


@pytest.mark.parametrize(
    ("room", "expected", "tokens", "dropped"),
    [
        (18, ["one", "two2", "three", "four44"], 18, 0),
        (17, ["two2", "three", "four44"], 15, 1),
        (15, ["two2", "three", "four44"], 15, 1),
        (14, ["three", "four44"], 11, 2),
        (10, ["four44"], 6, 3),
        (6, ["four44"], 6, 3),
        (5, ["four4"], 5, 3),
        (1, ["f"], 1, 3),
        (0, ["f"], 1, 3),
        (-16_384, ["f"], 1, 3),
    ],
)
def test_what_fits_is_in_from_the_newest_on_and_the_newest_always(
    room: int, expected: list[str], tokens: int, dropped: int
) -> None:
    found = made(TALK, room)

    assert [words(message) for message in found.messages] == expected
    assert (found.tokens, found.dropped) == (tokens, dropped)


def test_the_first_that_does_not_fit_ends_it_even_if_an_older_one_would() -> None:
    assert said(entries_of(user("a"), user("b" * 9), user("c")), 5) == ["c"]


def test_the_newest_says_how_much_of_it_is_missing_if_there_is_room() -> None:
    assert said(entries_of(user("a"), user("b" * 200)), 60) == [
        f"{'b' * 23}\n\n[... 177 more characters truncated]",
    ]


@pytest.mark.parametrize("summary", [compaction("s", "s" * 100), nested("s", "s" * 100)])
@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        (0, f"{'s' * 62}\n\n[... 38 more characters truncated]"),
        (59, f"{'s' * 4}\n\n[... 96 more characters truncated]"),
        (89, None),
        (90, None),
    ],
)
def test_a_summary_at_the_stop_is_let_in_below_nine_tenths_and_cut(
    summary: Entry, newest: int, expected: str | None
) -> None:
    """Pi and omp let all of it in: far above the budget, if it is long."""
    newer = entries_of(user("n" * newest)) if newest else []
    found = made([message_entry("o", user("old")), summary, *newer], 99 if newest == 0 else 100)

    kept = [words(message) for message in found.messages]
    assert kept == ([] if expected is None else [expected]) + ["n" * newest] * bool(newest)
    assert found.dropped == 1 + (expected is None)


@pytest.mark.parametrize(("used", "is_in"), [(899, True), (900, False), (901, False)])
def test_nine_tenths_of_the_budget_are_too_much_for_a_summary_to_be_let_in(used: int, *, is_in: bool) -> None:
    found = made([compaction("s", "s" * 1000), message_entry("n", user("n" * used))], 1000)

    assert (len(found.messages) == 2, found.tokens <= 1000, found.dropped) == (is_in, True, int(not is_in))


def test_a_message_at_the_stop_is_not_let_in() -> None:
    assert said(entries_of(user("o" * 100), user("n")), 99) == ["n"]


def test_what_is_before_a_summary_that_was_let_in_stays_out() -> None:
    entries: list[Entry] = [message_entry("o", user("old")), nested("s", "s" * 100), message_entry("n", user("new"))]

    assert len(said(entries, 90)) == 2
    assert made(entries, 90).dropped == 1


def test_a_summary_that_fits_is_no_stop() -> None:
    entries: list[Entry] = [message_entry("o", user("old")), compaction("s", "sum"), message_entry("n", user("new"))]

    assert said(entries, 9) == ["old", "sum", "new"]


@pytest.mark.parametrize("manner", ["pi", "omp"])
def test_what_a_summary_is_never_told_is_not_in_and_takes_no_room(manner: Manner) -> None:
    entries: list[Entry] = [
        message_entry("s", system(rules="long" * 99)),
        message_entry("u", user("ask")),
        message_entry("f", assistant("half of", call("c1"), stop="error", error="cut off")),
        message_entry("r", result("c1", "of a call that failed")),
        message_entry("t", assistant(THOUGHT)),
        message_entry("x", command("secret", "out", excluded=True)),
        message_entry("e", user("  ")),
        message_entry("n", result("c0", " ")),
        compaction("c", " "),
        nested("b", " "),
        note("k"),
        label("l", "u", "here"),
    ]

    found = made(entries, 3, manner)
    assert [words(message) for message in found.messages] == ["ask"]
    assert (found.tokens, found.dropped) == (3, 0)


def test_nothing_to_summarise_is_no_message_at_all() -> None:
    nothing = Prepared(messages=(), files=Files(), tokens=0, dropped=0)

    assert made([]) == nothing
    assert made([note("k"), label("l", "k", "here"), message_entry("s", system(rules="x"))]) == nothing


def test_in_pis_manner_results_are_left_out_and_in_omps_they_are_kept() -> None:
    entries = entries_of(assistant(call("c1", path="a")), result("c1", "found it"))

    assert said(entries, manner="pi") == [""]
    assert said(entries, manner="omp") == ["", "found it"]


def test_in_omps_manner_useless_results_are_dropped_unless_they_are_errors() -> None:
    useless = msgspec.structs.replace(result("c1", "no hits"), useless=True)
    wrong = msgspec.structs.replace(result("c2", "broken", error=True), useless=True)
    fine = msgspec.structs.replace(result("c3", "hits"), useless=False)

    assert said(entries_of(useless, wrong, fine), manner="omp") == ["broken", "hits"]
    assert said(entries_of(useless), manner="omp") == []


def test_a_result_is_counted_as_it_is_cut_and_handed_on_whole() -> None:
    found = made(entries_of(user("ask"), result("c1", "r" * 9_000)), 2_045, "omp")

    assert [len(words(message)) for message in found.messages] == [3, 9_000]
    assert found.tokens == 3 + 2_000 + len("\n\n[... 7000 more characters truncated]")
    assert len(said(entries_of(user("ask"), result("c1", "r" * 9_000)), found.tokens - 1, "omp")) == 1


def test_a_result_that_is_an_image_alone_is_told() -> None:
    shown = msgspec.structs.replace(result("c1"), content=(PICTURE,))

    assert made(entries_of(shown), manner="omp").tokens == len("[image]")


def test_thinking_and_images_take_no_room() -> None:
    found = made(entries_of(user((text("see"), PICTURE)), assistant(THOUGHT, "ok")), 12)

    assert (found.tokens, found.dropped) == (3 + len("[image]") + 2, 0)
    assert found.messages == (user((text("see"), PICTURE)), assistant(THOUGHT, "ok"))


def test_the_latest_edit_of_what_is_left_holds() -> None:
    entries: list[Entry] = [
        *entries_of(user("one"), user("two"), user("three")),
        compaction("c", "sum"),
        edit("e1", "m0", None),
        edit("e2", "m1", None),
        edit("e3", "m1", "TWO"),
        edit("e4", "c", None),
        edit("e5", "elsewhere", None),
    ]

    assert said(entries) == ["TWO", "three"]


def test_a_summary_speaks_and_the_prompt_of_its_boundary_does_not() -> None:
    boundary = msgspec.structs.replace(compaction("c", "sum"), system_message=system(rules="x"))

    assert said([boundary]) == ["sum"]
    assert made([boundary]).tokens == 3


def test_files_are_those_of_every_entry_whether_or_not_it_fits() -> None:
    """Pi and omp forget those of what stands before the stop, and of every compaction."""
    entries: list[Entry] = [
        message_entry("a", assistant(call("c1", path="a.py"), call("c2", "write", path="b.py"))),
        compaction("c", "s" * 50, details={"readFiles": ["c.py"], "modifiedFiles": ["d.py"]}),
        nested("b", "s" * 50, details={"readFiles": ["b.py"], "modifiedFiles": ["e.py"]}),
        nested("h", "theirs", details={"readFiles": ["h.py"], "modifiedFiles": ["i.py"]}, from_hook=True),
        compaction("k", "theirs", details={"readFiles": ["k.py"]}, from_hook=True),
        message_entry("u", user("newest")),
    ]
    every = Files(read=("a.py", "c.py"), modified=("b.py", "d.py", "e.py"), both=("b.py",))

    assert made(entries, 1).files == made(entries).files == every


def test_files_are_those_that_were_read_even_if_an_edit_hides_it() -> None:
    entries: list[Entry] = [message_entry("a", assistant(call("c1", path="a.py"))), edit("e", "a", None)]

    assert made(entries) == Prepared(messages=(), files=Files(read=("a.py",)), tokens=0, dropped=0)


def test_tools_may_say_themselves_which_arguments_are_paths() -> None:
    entries = entries_of(assistant(call("c1", "move", source="a.py", into="b.py")))
    paths = {"move": (("source", "read"), ("into", "write"))}

    assert prepared(entries, 99, letters, manner="pi", paths=paths).files == Files(("a.py",), ("b.py",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (result("c1", "Ash.", name="ask"), ["Ash."]),
        (result("c1", "nobody can be asked", name="ask", error=True), []),
        (result("c1", " ", name="ask"), []),
    ],
)
def test_an_answer_that_is_given_anew_is_told_in_pis_manner_too(answer: ToolResultMessage, told: list[str]) -> None:
    entries = entries_of(answer, result("c2", "Ash is heavy."))

    found = prepared(entries, 99, letters, manner="pi", answered=entries[0].id)

    assert [(message.role, words(message)) for message in found.messages] == [("user", one) for one in told]
    assert made(entries).messages == ()
    assert prepared(entries, 99, letters, manner="omp", answered=entries[0].id) == made(entries, manner="omp")


ROOMS = st.one_of(st.integers(-50, 200), st.sampled_from([-(10**9), 1_000, 10**9]))
MANNERS: st.SearchStrategy[Manner] = st.sampled_from(["pi", "omp"])


@given(written(), ROOMS, MANNERS)
def test_no_more_is_in_than_the_budget_but_for_a_character_of_the_newest(
    entries: list[Entry], room: int, manner: Manner
) -> None:
    found, all_of_it = made(entries, room, manner), made(entries, 10**9, manner)

    assert found.tokens == sum(letters(as_told(message)) for message in found.messages)
    if found.tokens > max(room, 0):
        assert [found.tokens for _ in found.messages] == [1]
    assert found.dropped == len(all_of_it.messages) - len(found.messages)
    assert (
        bool(found.messages) == bool(all_of_it.messages) or room < 1
    )  # of some a character is nothing that could be told
    assert found.messages[1:] == all_of_it.messages[len(all_of_it.messages) - len(found.messages) + 1 :]
    assert found.files == all_of_it.files


@given(written(), ROOMS, MANNERS)
def test_whatever_is_in_is_told(entries: list[Entry], room: int, manner: Manner) -> None:
    messages = made(entries, room, manner).messages

    assert len(flatten(messages)) >= len(messages)
    assert all(flatten([message]) for message in messages)


@given(written(), st.integers(0, 200), st.integers(0, 50), MANNERS)
def test_a_larger_budget_leaves_out_no_more(entries: list[Entry], room: int, more: int, manner: Manner) -> None:
    assert made(entries, room + more, manner).dropped <= made(entries, room, manner).dropped
