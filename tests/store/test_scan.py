"""From bytes to a header and an index, whatever the bytes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import pytest

from sapwood.events.codec import decode_envelope
from sapwood.events.damage import Damage
from sapwood.events.errors import NotAnEntry
from sapwood.store import scan as scanning
from sapwood.store.repair import BOM
from sapwood.store.scan import scan, scan_more
from sapwood.store.scanned import Scanned
from sapwood.store.telling import new_damage
from sapwood.store.upcast import made_up_ids
from tests.build import HEADER
from tests.store.damaging import assert_all_is_named, mutated, named, scanned_or_none
from tests.store.damaging import entries as lines
from tests.store.stores import HEAD, file_of, header_of, line

A, B, C = line("a"), line("b", "a"), line("c", "b")
PNG: Final = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01"


def ids(scanned: Scanned) -> list[str]:
    return [scanned.tree.id(index) for index in range(len(scanned.tree))]


def told(data: bytes, scanned: Scanned) -> list[tuple[bytes, str]]:
    return [(data[one.offset : one.offset + one.length], one.kind) for one in scanned.damage]


def test_entries_are_found_with_their_places() -> None:
    data = file_of(A, B, C)
    scanned = scan(data)

    assert scanned.header == HEADER
    assert ids(scanned) == ["a", "b", "c"]
    assert lines(data, scanned) == [A, B, C]
    assert scanned.tree.path(2) == [0, 1, 2]
    assert scanned.damage == ()


def test_lines_that_are_written_later_are_placed_behind() -> None:
    data = file_of(A)
    scanned = scan(data)
    scanned.placed(map(len, [B, C]), len(data))

    assert lines(data + file_of(B, C, head=b""), scanned) == [A, B, C]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b" \t\r\n\n  ",
        BOM,
        b"\0" * 5000,
        PNG,
        b"[]\n",
        b"[" + HEAD.strip() + b"," + A + b"]\n",
        b'null\n5\n"session"\n',
        A + b"\n" + B + b"\n",
        b'{"type":"session","version":3,"id":7,"timestamp":"","cwd":""}\n' + A,
        b'{"type":"session","version":3,"timestamp":"","cwd":""}\n' + A,
        HEAD[:40],
        b'{"type":"custom","id":"a","text":"' + HEAD.strip().replace(b'"', b'\\"') + b'"}\n',
    ],
)
def test_bytes_without_a_header_are_no_session(data: bytes) -> None:
    with pytest.raises(NotAnEntry, match="no line of it is a session header"):
        scan(data)


@pytest.mark.parametrize(
    ("before", "kinds"),
    [
        (b"", []),
        (b"\n", ["blank_line"]),
        (b" \r\n\t\n", ["blank_line"]),
        (BOM, ["bom"]),
        (BOM + b"\n", ["bom", "blank_line"]),
    ],
)
def test_blanks_and_a_byte_order_mark_before_the_header_are_named(before: bytes, kinds: list[str]) -> None:
    data = before + file_of(A, B)
    scanned = scan(data)

    assert lines(data, scanned) == [A, B]
    assert [kind for kind, *_ in named(scanned)] == kinds
    assert sum(one.length for one in scanned.damage) == len(before)


def test_the_header_is_the_first_line_that_is_one_and_nothing_before_it_is_lost() -> None:
    data = b"rubbish\n" + A + b"\n" + b'{"type":"session","id":7}\n' + file_of(B) + header_of(3, "s2") + b"\n" + C
    scanned = scan(data)

    assert scanned.header == HEADER
    assert lines(data, scanned) == [A, B, C]
    assert told(data, scanned) == [
        (b"rubbish", "garbage"),
        (b'{"type":"session","id":7}', "bad_envelope"),
        (header_of(3, "s2"), "second_header"),
    ]


def test_a_header_alone_is_a_session() -> None:
    for data, kinds in ((HEAD, []), (HEAD.strip(), []), (HEAD.strip() + b"\r\n", ["crlf"])):
        scanned = scan(data)
        assert (scanned.header, len(scanned.tree), [one.kind for one in scanned.damage]) == (HEADER, 0, kinds)


def test_carriage_returns_end_lines_and_are_not_part_of_them() -> None:
    data = file_of(A, B).replace(b"\n", b"\r\n") + b"\r\n" + C + b"\r"
    scanned = scan(data)

    assert lines(data, scanned) == [A, B, C]
    assert tuple(scanned.damage) == (
        Damage(kind="crlf", line=1, offset=len(HEAD) - 1, length=0, count=4),
        Damage(kind="blank_line", line=4, offset=len(file_of(A, B)) + 3, length=2),
    )


def test_blank_lines_in_a_row_are_named_once() -> None:
    data = file_of(A, b"", b" ", b"\t\r", B, b"") + b"  "
    scanned = scan(data)

    assert [(one.kind, one.line, one.length, one.count) for one in scanned.damage] == [
        ("blank_line", 3, 6, 3),
        ("blank_line", 7, 3, 2),
    ]


def test_spaces_round_a_line_are_part_of_it() -> None:
    data = file_of(b"  " + A + b" \t", B)

    assert lines(data, scan(data)) == [b"  " + A + b" \t", B]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line(separator: str) -> None:
    odd = f'{{"type":"x","id":"b","text":"one{separator}two"}}'.encode()
    data = file_of(A, odd)

    assert lines(data, scan(data)) == [A, odd]


UNREADABLE: Final[dict[bytes, str]] = {
    b"rubbish": "garbage",
    b'{"type":"custom","id":"b","parentId":"a"': "cut_line",
    b'{"type":"custom","id":7}': "bad_envelope",
    b'{"type":"custom"}': "bad_envelope",
    b'{"type":5,"id":"b"}': "bad_envelope",
    b'{"id":"b"}': "bad_envelope",
    b'{"type":"custom","id":null}': "bad_envelope",
    b'{"type":"custom","id":"b","parentId":5}': "bad_envelope",
    b"5": "not_an_object",
    b"null": "not_an_object",
    b"true": "not_an_object",
    b'"custom"': "not_an_object",
    b"[1,2]": "not_an_object",
    b"{}": "bad_envelope",
    b"\0\0\0\0": "nul_run",
    A: "repeated_entry",
    line("a", "b"): "duplicate_id",
    PNG[:4]: "garbage",
    b'{"type":"x","id":"b","deep":' + b"[" * 100_000 + b"]" * 99_999 + b"}": "cut_line",
    b'{"type":"x","id":"\xff"}': "bad_envelope",
}


@pytest.mark.parametrize("bad", UNREADABLE, ids=lambda bad: bad[:20])
@pytest.mark.parametrize("where", [1, 2])
def test_a_line_that_is_no_entry_is_named_and_reading_goes_on(bad: bytes, where: int) -> None:
    around = [A, B, C]
    around.insert(where, bad)
    data = file_of(*around)
    scanned = scan(data)

    assert lines(data, scanned) == [A, B, C]
    assert told(data, scanned) == [(bad, UNREADABLE[bad])]
    assert [one.line for one in scanned.damage] == [where + 2]


@pytest.mark.parametrize("cut", range(1, len(B)))
def test_a_torn_tail_is_named(cut: int) -> None:
    data = file_of(A) + B[:cut]

    assert lines(data, scan(data)) == [A]
    assert named(scan(data)) == [("torn_tail", len(file_of(A)), cut)]


def test_a_tail_that_lacks_its_line_feed_alone_is_an_entry() -> None:
    data = file_of(A) + B

    assert lines(data, scan(data)) == [A, B]


def test_of_two_entries_with_one_id_the_first_wins_and_the_other_is_named() -> None:
    second, third = line("a", "b", text="second"), line("a", text="third")
    data = file_of(A, second, B, third, C)
    scanned = scan(data)

    assert lines(data, scanned) == [A, B, C]
    assert told(data, scanned) == [(second, "duplicate_id"), (third, "duplicate_id")]
    assert [(one.entry_id, one.parent_id) for one in scanned.damage] == [("a", "b"), ("a", None)]


def test_an_entry_that_is_there_twice_byte_for_byte_is_told_apart_and_nothing_is_lost_by_it() -> None:
    """It used to be called lost."""
    other = line("a", text="other")
    data = file_of(other, A, B, other, B + b"\r", A)
    cut = len(file_of(other, A, B))
    whole, parts = scan(data), scan(data[:cut])
    scan_more(parts, data[cut:], cut, lambda place: lines(data[:cut], parts)[place])

    assert [(one.line, one.kind, one.severity) for one in whole.damage if one.kind != "crlf"] == [
        (3, "duplicate_id", "lost"),
        (5, "repeated_entry", "mended"),
        (6, "repeated_entry", "mended"),
        (7, "duplicate_id", "lost"),
    ]
    assert [one for one in parts.damage if one.kind != "crlf"] == [one for one in whole.damage if one.kind != "crlf"]
    unread = scan(data[:cut])
    assert {one.kind for one in scan_more(unread, data[cut:], cut)} == {"duplicate_id", "crlf"}


def test_what_is_damaged_is_told_in_the_order_of_the_file() -> None:
    data = file_of(A, A, b"rubbish", A, header_of(3), b"more")
    kinds = ["repeated_entry", "garbage", "repeated_entry", "second_header", "garbage"]

    assert [(one.kind, one.line) for one in scan(data).damage] == [*zip(kinds, range(3, 8), strict=True)]


@pytest.mark.parametrize(
    "odd",
    [
        b'{"type":"message","id":"b","text":"\\ud800"}',
        b'{"type":"message","id":"b","text":"\xff\xfe"}',
        b'{"type":"message","id":"b","n":1732.0,"m":1e999,"k":123456789012345678901234567890}',
        b'{"type":"from.tomorrow","id":"b"}',
        b'{"type":"message","id":"b","parentId":null}',
        b'{"type":"message","id":"x","id":"b"}',
        b'\t{ "id" : "b" , "type" : "message" }',
        b'{"type":"message","id":"b","timestamp":1732000000000}',
        b'{"type":"message","id":"b","timestamp":{}}',
        b'{"type":"message","id":"b","deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_a_good_envelope_is_an_entry_whatever_its_payload(odd: bytes) -> None:
    """A line with a lone surrogate used to be called damaged, and one that we had appended was lost at the next opening."""
    data = file_of(A, odd)

    assert ids(scan(data)) == ["a", "b"]
    assert lines(data, scan(data)) == [A, odd]


def at_depth(frames: int, act: Callable[[], Scanned]) -> Scanned:
    return act() if frames == 0 else at_depth(frames - 1, act)


@pytest.mark.parametrize("version", [None, 3])
@pytest.mark.parametrize("depth", [200, 450, 600, 5000])
def test_a_deep_line_is_read_however_deep_the_caller_stands(depth: int, version: int | None) -> None:
    """It used to be an entry for one caller, and unread for another."""
    deep = b'{"type":"x","id":"b","parentId":"a","deep":' + b"[" * depth + b"]" * depth + b"}"
    first = A if version else OLD[0]
    data = file_of(first, deep, C, head=header_of(version) + b"\n")
    near, far = scan(data), at_depth(700, lambda: scan(data))

    assert lines(data, near) == lines(data, far) == [first, deep, C]
    assert (ids(near), near.damage) == (ids(far), far.damage)
    assert near.damage == ()


def test_a_second_header_with_an_odd_payload_is_one_too() -> None:
    data = file_of(A, b'{"type":"session","id":"s2","cwd":"\\ud800"}', B)

    assert lines(data, scan(data)) == [A, B]
    assert [one.kind for one in scan(data).damage] == ["second_header"]


def test_a_line_of_ten_megabytes_is_a_line() -> None:
    long = line("b", "a", text="x" * 10_000_000)

    assert ids(scan(file_of(A, long, C))) == ["a", "b", "c"]


def old_file(*old: bytes, version: int | None = None) -> bytes:
    return file_of(*old, head=header_of(version) + b"\n")


OLD: Final = [b'{"type":"message","timestamp":"t"}', b'{"type":"custom"}', b'{"type":"message"}']


@pytest.mark.parametrize("version", [None, 1, 0, -1])
def test_a_version_1_file_is_one_chain_with_ids_by_place(version: int | None) -> None:
    scanned = scan(old_file(*OLD, version=version))

    assert ids(scanned) == [made_up_ids("old")(place) for place in range(3)]
    assert scanned.tree.path(2) == [0, 1, 2]
    assert [scanned.tree.kind(index) for index in range(3)] == ["message", "custom", "message"]


@pytest.mark.parametrize("said", [b'"versioo":3', b'"version":null', b'"version":-1', b'"version":1'])
def test_entries_that_name_their_parents_are_not_made_a_chain_because_the_header_lost_its_version(said: bytes) -> None:
    """One bad byte in the header used to bring an abandoned branch back, in silence."""
    lost = header_of(3).replace(b'"version": 3', said)
    assert lost != header_of(3)
    bad = [b'{"ty', header_of(3)]
    data = file_of(*bad, A, line("b", "a"), line("c", "a"), head=lost + b"\n")
    held = scan(data)

    assert (ids(held), held.tree.path(2)) == (["a", "b", "c"], [0, 2])
    assert (held.header.version, held.goes_on_beside) == (2, True)
    assert [one.kind for one in held.damage] == ["odd_version", "cut_line", "second_header"]
    assert [one.severity for one in held.damage if one.kind == "odd_version"] == ["mended"]


@pytest.mark.parametrize("entries", [[A, *OLD], [*OLD, A], [OLD[0], A, OLD[1]]])
def test_one_entry_that_names_a_parent_makes_no_later_version(entries: list[bytes]) -> None:
    held = scan(old_file(*entries))

    assert (held.header.version, held.damage) == (1, ())
    assert ids(held) == [made_up_ids("old")(place) for place in range(len(entries))]


def test_what_says_its_version_is_gone_on_with() -> None:
    assert [scan(file_of(A, head=header_of(version) + b"\n")).goes_on_beside for version in (2, 3)] == [False, False]
    assert scan(old_file(*OLD)).goes_on_beside


def test_damage_in_a_version_1_file_takes_no_place() -> None:
    data = old_file(
        b"rubbish", OLD[0], b"", b'{"type":5}', b"7", OLD[1], header_of(3), b'{"no":"type"}', OLD[2], b'{"ty'
    )

    assert lines(data, scan(data)) == OLD
    assert ids(scan(data)) == ids(scan(old_file(*OLD)))
    assert [one.kind for one in scan(data).damage] == [
        *("garbage", "blank_line", "bad_envelope", "not_an_object", "second_header", "bad_envelope", "cut_line")
    ]


def test_ids_that_a_lost_line_of_version_1_shows_are_none_of_its() -> None:
    held = scan(old_file(OLD[0], b'{"type":"message","id":"b","parentId":"a"', OLD[1]))

    assert [(one.kind, one.entry_id, one.bridged) for one in held.damage] == [("cut_line", None, False)]
    assert "b" not in held.tree.ids


def test_two_identical_lines_of_version_1_are_two_entries() -> None:
    assert len(scan(old_file(OLD[0], OLD[0])).tree) == 2


@pytest.mark.parametrize(
    "odd",
    [
        b'{"type":"message","id":"mine","parentId":"yours"}',
        b'{"type":"message","id":5}',
        b'{"type":"message","parentId":[]}',
        b'{"type":"message","text":"\\ud800"}',
        b'{"type":"message","text":"\xff"}',
        b'{"type":"message","\xff":1}',
        b'{"type":"message","timestamp":5}',
        b'{"type":"message","id":5,"\xff":1}',
        b'{"type":"message","parentId":5,"\xff":1}',
        b'{"type":"x","deep":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_an_odd_line_of_version_1_is_an_entry_all_the_same(odd: bytes) -> None:
    data = old_file(OLD[0], odd, OLD[2])

    assert lines(data, scan(data)) == [OLD[0], odd, OLD[2]]
    assert ids(scan(data)) == ids(scan(old_file(*OLD)))


@pytest.mark.parametrize(
    "odd",
    [
        b'{"type":5,"\xff":1}',
        b'{"type":"\\ud800"}',
        b'{"type":"message","timestamp":"t"',
        b'{"type":"x","deep":' + b"[" * 5000 + b"]" * 4999 + b"}",
    ],
)
def test_a_version_1_line_that_will_have_no_envelope_is_no_entry(odd: bytes) -> None:
    data = old_file(OLD[0], odd, OLD[1])

    assert lines(data, scan(data)) == OLD[:2]
    assert [text for text, _ in told(data, scan(data))] == [odd]


def test_a_second_header_of_version_1_may_have_ids_of_its_own() -> None:
    data = old_file(OLD[0], b'{"type":"session","id":"x","parentId":null}', b'{"type":"session"}', OLD[1])

    assert [one.kind for one in scan(data).damage] == ["second_header", "second_header"]
    assert lines(data, scan(data)) == OLD[:2]


@pytest.mark.parametrize("version", [2, 3, 4, 99])
def test_later_versions_have_ids_of_their_own(version: int) -> None:
    scanned = scan(file_of(A, B, head=header_of(version) + b"\n"))

    assert (scanned.header.version, ids(scanned)) == (version, ["a", "b"])


def shape(scanned: Scanned) -> list[tuple[str, int | None, bool]]:
    tree = scanned.tree
    return [(tree.id(place), tree.parent(place), tree.detached(place)) for place in range(len(tree))]


def mixed(version: int | None) -> bytes:
    """A file of whatever may be in one."""
    many = [line(f"{number}", f"{number - 1}") for number in range(9)]
    odd = (
        b"rubbish",
        b"",
        line("0"),
        b"",
        b"\r",
        many[2][:80],
        C,
        b"\0" + many[3] + many[4] + b"\0",
        b'{"type":"x","id":"\xff","t":1}',
    )
    first = [] if version else [OLD[0]]  # so that it is of version 1 wherever it is cut
    data = file_of(
        *first,
        A,
        *many[:2],
        B,
        A,
        *OLD,
        *odd,
        line("x", "8", text="?").replace(b"?", b"\xff"),
        head=header_of(version) + b"\n",
    )
    return data + file_of(*many[5:], head=b"") + b'{"type":"x","id":5}\r\n' + B[:9]


@pytest.mark.parametrize("version", [None, 3])
@pytest.mark.parametrize("block", [1, 40, 150])
def test_how_many_bytes_are_read_at_a_time_makes_no_difference(
    block: int, version: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = mixed(version)
    whole = scan(data)
    monkeypatch.setattr(scanning, "BLOCK", block)
    pieces = scan(data)

    assert_all_is_named(data, whole)
    assert (shape(pieces), lines(data, pieces), pieces.damage) == (shape(whole), lines(data, whole), whole.damage)
    assert len(whole.damage) > 10


@pytest.mark.slow
@pytest.mark.parametrize("block", [60, 700])
def test_windows_make_no_difference_whatever_is_damaged(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random damage of a file with branches: what is taken at once in one window is read line by line in another."""
    shape_of_it = random.Random(7)  # noqa: S311 - it is to be repeated
    whole = file_of(A, *(line(f"{nth:02}", f"{shape_of_it.randrange(nth):02}" if nth else "a") for nth in range(60)))
    for seed in range(300):
        data = mutated(seed, whole)
        at_once = scanned_or_none(data)
        with monkeypatch.context() as patched:
            patched.setattr(scanning, "BLOCK", block)
            parts = scanned_or_none(data)

        assert (at_once is None) == (parts is None)
        if at_once is not None and parts is not None:
            assert_all_is_named(data, parts)
            assert (shape(parts), lines(data, parts), parts.damage) == (
                shape(at_once),
                lines(data, at_once),
                at_once.damage,
            )


def of_lines(damage: Sequence[Damage]) -> list[Damage]:
    """What is wrong with lines, whenever it is told; of what stands for all, each."""
    return [one for one in damage if one.length and one.kind != "blank_line"]


@pytest.mark.parametrize("version", [None, 3])
def test_a_file_that_is_read_in_two_parts_is_as_if_it_was_read_at_once(version: int | None) -> None:
    data = mixed(version)
    whole = scan(data)
    cuts = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    for cut in cuts:
        parts = scan(data[:cut])
        before = lines(data[:cut], parts)
        damage = parts.damage
        assert scan_more(parts, data[cut:], cut, before.__getitem__) == new_damage(damage, parts.damage)

        assert (shape(parts), lines(data, parts), parts.lines) == (shape(whole), lines(data, whole), whole.lines)
        unbridged = [msgspec.structs.replace(one, bridged=False) for one in of_lines(parts.damage)]
        assert unbridged == [msgspec.structs.replace(one, bridged=False) for one in of_lines(whole.damage)]
        assert {one for one in parts.damage if one.kind == "missing_parent"} >= {
            one for one in whole.damage if one.kind == "missing_parent"
        }


def test_what_was_added_line_by_line_has_the_numbers_of_its_lines() -> None:
    data = file_of(A, b"one", B, b"", b"two", C[:20], C)
    held = scan(HEAD)
    at = len(HEAD)
    for each in data[len(HEAD) :].splitlines(keepends=True):
        scan_more(held, each, at)
        at += len(each)

    assert [(one.kind, one.line, one.offset) for one in held.damage] == [
        *((one.kind, one.line, one.offset) for one in scan(data).damage),
    ]


def test_lines_of_ours_are_counted_and_a_torn_one_before_them() -> None:
    data = file_of(A) + B[:20]
    held = scan(data)
    start = len(data) + 1
    held.placed([len(C)], start)
    held.tree.extend([decode_envelope(C)])
    [damage] = scan_more(held, b"rubbish\n", start + len(C) + 1)

    assert (damage.line, damage.offset) == (5, start + len(C) + 1)


@pytest.mark.parametrize("more", [B[20:] + b"\nrubbish\n" + C + b"\n", C + b"\n\0\n", b"\0\n" + C + b"\nrubbish\n"])
@pytest.mark.parametrize("half", [B[:20], B, B[:-1]])
def test_a_line_that_is_gone_on_with_is_counted_once_and_an_entry_of_it_is_not_told_as_another(
    half: bytes, more: bytes
) -> None:
    begun = file_of(A) + half
    held, whole = scan(begun), scan(begun + more)
    came = scan_more(held, (half + more), len(begun) - len(half), lambda place: lines(begun, held)[place])

    assert shape(held) == shape(whole)
    assert held.lines == whole.lines
    assert came == whole.damage
    assert of_lines(held.damage) == of_lines(whole.damage), "what was wrong with half of it is told no more"


def test_the_first_lines_of_a_new_session_come_behind_its_header() -> None:
    held = Scanned(HEADER)
    held.placed([len(A)], len(HEAD))
    held.tree.extend([decode_envelope(A)])

    assert (held.lines, list(held.offsets)) == (2, [len(HEAD)])


def test_what_is_added_hangs_where_it_says_and_old_faults_are_not_told_again() -> None:
    data = file_of(A, line("r"), line("d", "c"))
    held = scan(data)
    more = file_of(line("e", "c"), line("s"), B, C, head=b"")

    assert [(one.kind, one.entry_id) for one in held.damage] == [("several_roots", "r"), ("missing_parent", "d")]
    assert [(one.kind, one.line, one.entry_id) for one in scan_more(held, more, len(data))] == [
        ("later_parent", 5, "e")
    ]
    assert shape(held) == shape(scan(data + more))


@pytest.mark.slow
def test_a_file_that_holds_everything_twice_takes_no_time() -> None:
    """Duplicates used to be taken out of the whole column one by one."""
    once = [line(f"{number:08x}") for number in range(100_000)]
    data = file_of(*once, *once)
    started = time.process_time()
    scanned = scan(data)

    assert len(scanned.tree) == len(scanned.damage) - 1 == 100_000
    assert time.process_time() - started < 5
