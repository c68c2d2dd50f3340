"""A session of every kind of entry, cut at every byte, spoilt at every line's boundary, and one line at a time; and thousands by chance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import pytest

from sapwood.store.scan import scan
from sapwood.store.scanned import Scanned
from tests.store.damaging import (
    assert_all_is_named,
    assert_whole_lines_are_found,
    entries,
    mutated,
    named,
    scanned_or_none,
)
from tests.store.stores import DATA, file_of, header_of, line

pytestmark = pytest.mark.slow

LINES: Final = DATA.parent / "lines"


def _one_session() -> list[bytes]:
    """The lines of `tests/lines` as one chain, behind those of a real session."""
    real = (DATA / "pi-all-kinds.jsonl").read_bytes().splitlines()
    parent = json.loads(real[-1])["id"]
    for path in sorted(LINES.glob("*.jsonl")):
        for each in path.read_bytes().splitlines() if path.stem != "session" else []:
            said = json.loads(each)
            fresh = f"{len(real):08x}"
            moved = each.replace(json.dumps(said["id"]).encode(), json.dumps(fresh).encode(), 1)
            there, here = (f'"parentId":{json.dumps(one)}'.encode() for one in (said["parentId"], parent))
            assert there in moved
            real.append(moved.replace(there, here, 1))
            parent = fresh
    return real


HEADER_LINE, *ALL = _one_session()
DATA_OF_ALL: Final = file_of(*ALL, head=HEADER_LINE + b"\n")
ENDS: Final = [at for at, byte in enumerate(DATA_OF_ALL) if byte == ord("\n")]
"""Where the lines end: the header's, then those of the entries."""


def path_of(held: Scanned) -> list[str]:
    """The ids from the top to the leaf."""
    return [held.tree.id(place) for place in held.tree.path(held.tree.leaf)]


WHOLE: Final = scan(DATA_OF_ALL)
IDS: Final[Sequence[str]] = [WHOLE.tree.id(place) for place in range(len(WHOLE.tree))]


def test_there_is_an_entry_of_each_kind_and_nothing_is_wrong() -> None:
    assert {WHOLE.tree.kind(place) for place in range(len(WHOLE.tree))} >= {path.stem for path in LINES.iterdir()} - {
        "session"
    }
    assert entries(DATA_OF_ALL, WHOLE) == ALL
    assert WHOLE.damage == ()


@pytest.mark.parametrize("part", range(8))
def test_cut_at_any_byte_all_whole_entries_are_found_and_the_rest_is_named(part: int) -> None:
    for cut in range(len(HEADER_LINE) + 1 + part, len(DATA_OF_ALL), 8):
        data = DATA_OF_ALL[:cut]
        held = scan(data)
        *whole, rest = data.split(b"\n")[1:]
        is_whole = rest in ALL

        assert entries(data, held) == ([*whole, rest] if is_whole else whole)
        torn = [] if is_whole or not rest else [("torn_tail", cut - len(rest), len(rest))]
        assert named(held) == torn


IN_PLACE_OF_A_LINE_FEED: Final = (
    *(bytes([ord("\n") ^ 1 << bit]) for bit in range(8)),
    *(b"\0", b"\r", b" ", b"\t", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"0", b"\xff", b"", b"\0" * 512, b"\n\n"),
)  # fmt: skip


@pytest.mark.parametrize("odd", IN_PLACE_OF_A_LINE_FEED, ids=repr)
def test_whatever_stands_in_place_of_a_line_feed_the_lines_on_both_sides_are_found(odd: bytes) -> None:
    for end in ENDS:
        data = DATA_OF_ALL[:end] + odd + DATA_OF_ALL[end + 1 :]
        held = scan(data)

        assert [one.strip() for one in entries(data, held)] == ALL
        assert held.header == WHOLE.header
        assert_all_is_named(data, held)
        last = end == ENDS[-1]
        blank = not odd.strip(b" \t\r")
        assert [kind for kind, *_ in named(held)] == (
            [] if last and blank and odd != b"\r" else _named_as(odd, last=last)
        )


def _named_as(odd: bytes, *, last: bool) -> list[str]:
    if odd == b"\n\n":
        return ["blank_line"]
    if odd in {b"", b" ", b"\t", b"\r"}:
        return ["crlf"] if last else ["lost_newline"]
    if not odd.strip(b"\0"):
        return ["nul_run"]
    if last:
        return ["torn_tail"]
    return ["doubled_start" if odd == b"{" else "garbage"]


@pytest.mark.parametrize("end", range(len(ENDS) - 1))
def test_any_byte_beside_a_boundary_may_be_lost_and_only_its_own_line_is(end: int) -> None:
    at = ENDS[end]
    for start, stop in ((at - 1, at), (at - 1, at + 1), (at, at + 2), (at + 1, at + 2)):
        data = DATA_OF_ALL[:start] + DATA_OF_ALL[stop:]
        held = scanned_or_none(data)
        if held is None:
            assert end == 0
            continue
        found = [one.strip() for one in entries(data, held)]
        spoilt = {end - 1 if start < at else end}

        assert found == [one for nth, one in enumerate(ALL) if nth not in spoilt]
        assert_all_is_named(data, held)


@pytest.mark.parametrize("share", [0.6, 0.2, 0.95])
@pytest.mark.parametrize("nth", range(len(ALL)))
def test_a_line_that_was_cut_is_bridged_where_it_shows_what_it_was(nth: int, share: float) -> None:
    """D01: what came after a bad line used to hang nowhere."""
    cut = ALL[nth][: int(len(ALL[nth]) * share)]
    data = file_of(*ALL[:nth], cut, *ALL[nth + 1 :], head=HEADER_LINE + b"\n")
    held = scan(data)
    [damage] = [one for one in held.damage if one.kind == "cut_line"]

    assert entries(data, held) == [*ALL[:nth], *ALL[nth + 1 :]]
    assert_all_is_named(data, held)
    assert (damage.line, damage.length) == (nth + 2, len(cut))
    shows = cut.find(b'"parentId":') >= 0 and cut.find(b",", cut.find(b'"parentId":')) >= 0
    if shows:
        assert (damage.entry_id, damage.bridged) == (IDS[nth], bool(WHOLE.tree.children(nth)))
        assert path_of(held) == [one for one in path_of(WHOLE) if one != IDS[nth]]
        assert [one.kind for one in held.damage if one is not damage and one.kind != "several_roots"] == []
    elif damage.entry_id is None:
        orphans = {held.tree.id(place) for place in held.tree.children(None) if held.tree.detached(place)}
        assert orphans == {one.entry_id for one in held.damage if one.kind == "missing_parent"}
        assert all(one.parent_id == IDS[nth] for one in held.damage if one.kind == "missing_parent")


@pytest.mark.parametrize("nth", range(len(ALL)))
def test_a_line_that_was_begun_and_written_again_is_found_once_and_nothing_is_lost(nth: int) -> None:
    """D04."""
    for cut in range(1, len(ALL[nth]), 7):
        data = file_of(*ALL[:nth], ALL[nth][:cut] + ALL[nth], *ALL[nth + 1 :], head=HEADER_LINE + b"\n")
        held = scan(data)

        assert entries(data, held) == ALL
        assert named(held) == [("doubled_start", ENDS[nth] + 1, cut)]


@pytest.mark.parametrize("nth", range(len(ALL) - 1))
def test_a_line_that_was_cut_with_its_line_feed_leaves_the_next_one_whole(nth: int) -> None:
    for cut in range(1, len(ALL[nth]), 7):
        data = file_of(*ALL[:nth], ALL[nth][:cut] + ALL[nth + 1], *ALL[nth + 2 :], head=HEADER_LINE + b"\n")
        held = scan(data)

        found = entries(data, held)
        may_nest = ALL[nth][:cut].rstrip()[-1:] in b":,["
        assert found in ([*ALL[:nth], *ALL[nth + 1 :]], [*ALL[:nth], *ALL[nth + 2 :]] if may_nest else found[:0])
        assert_all_is_named(data, held)


# by chance

SMALL: Final = [
    line("a"),
    line("b", "a", "message", message={"content": [{"type": "toolCall", "id": "c1"}, {"type": "text", "text": "é}{"}]}),
    line("c", "b", text="\u2028"),
    line("d", "c", data={"old": [{"type": "message", "id": "z", "parentId": "y", "timestamp": "t"}]}),
    *(line("e", "d"), line("f", "c"), line("g", "f")),
]
OLD: Final = [b'{"type":"message","timestamp":"t","n":%d}' % number for number in range(8)]
FILES: Final = {
    "spaced": file_of(*SMALL),
    "compact": file_of(*(one.replace(b'": ', b'":').replace(b', "', b',"') for one in SMALL)),
    "version 1": file_of(*OLD, head=header_of(None) + b"\n"),
    "version 2": file_of(*SMALL[:4], head=header_of(2) + b"\n"),
}


def try_by_chance(data: bytes, seeds: range) -> None:
    whole = data.split(b"\n")[1:-1]
    for seed in seeds:
        damaged = mutated(seed, data)
        held = scanned_or_none(damaged)
        if held is not None:
            assert_all_is_named(damaged, held)
            assert_whole_lines_are_found(damaged, held, whole)


@pytest.mark.parametrize("name", FILES)
def test_a_thousand_files_damaged_by_chance(name: str) -> None:
    try_by_chance(FILES[name], range(1000))


@pytest.mark.full
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("name", FILES)
def test_two_hundred_thousand_files_damaged_by_chance(name: str, part: int) -> None:
    try_by_chance(FILES[name], range(1000 + part * 6250, 1000 + (part + 1) * 6250))


def test_the_same_seed_is_the_same_damage() -> None:
    data = FILES["compact"]
    many = [mutated(seed, data) for seed in range(200)]

    assert many == [mutated(seed, data) for seed in range(200)]
    assert len({*many}) > 150


def test_a_real_session_by_chance() -> None:
    try_by_chance(DATA_OF_ALL, range(300))
