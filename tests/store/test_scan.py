"""From bytes to a header and an index, whatever the bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.errors import NotAnEntry
from sapwood.store import scan as scanning
from sapwood.store.scan import BOM, Scanned, Unread, scan
from sapwood.store.upcast import made_up_ids
from tests.build import HEADER
from tests.store.stores import HEAD, file_of, header_of, line

A, B, C = line("a"), line("b", "a"), line("c", "b")
PNG: Final = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01"


def ids(scanned: Scanned) -> list[str]:
    return [scanned.tree.id(index) for index in range(len(scanned.tree))]


def lines(data: bytes, scanned: Scanned) -> list[bytes]:
    return [data[at : at + length] for at, length in zip(scanned.offsets, scanned.lengths, strict=True)]


def passed_over(data: bytes, scanned: Scanned) -> list[tuple[bytes, str]]:
    return [(data[one.offset : one.offset + one.length], one.why) for one in scanned.unread]


def test_entries_are_found_with_their_places() -> None:
    data = file_of(A, B, C)
    scanned = scan(data)

    assert scanned.header == HEADER
    assert ids(scanned) == ["a", "b", "c"]
    assert lines(data, scanned) == [A, B, C]
    assert scanned.tree.path(2) == [0, 1, 2]
    assert scanned.unread == ()


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


@pytest.mark.parametrize("before", [b"", b"\n", b" \r\n\t\n", BOM])
def test_blanks_and_a_byte_order_mark_before_the_header_are_passed_over(before: bytes) -> None:
    data = before + file_of(A, B)

    assert ids(scan(data)) == ["a", "b"]
    assert lines(data, scan(data)) == [A, B]
    assert scan(data).unread == ()


def test_the_header_is_the_first_line_that_is_one_and_nothing_before_it_is_lost() -> None:
    data = b"rubbish\n" + A + b"\n" + b'{"type":"session","id":7}\n' + file_of(B) + header_of(3, "s2") + b"\n" + C
    scanned = scan(data)

    assert scanned.header == HEADER
    assert lines(data, scanned) == [A, B, C]
    assert passed_over(data, scanned) == [
        (b"rubbish", "not an entry"),
        (b'{"type":"session","id":7}', "not an entry"),
        (header_of(3, "s2"), "second header"),
    ]


def test_a_header_alone_is_a_session() -> None:
    for data in (HEAD, HEAD.strip(), HEAD.strip() + b"\r\n"):
        assert (scan(data).header, len(scan(data).tree), scan(data).unread) == (HEADER, 0, ())


def test_carriage_returns_end_lines_and_are_not_part_of_them() -> None:
    data = file_of(A, B).replace(b"\n", b"\r\n") + b"\r\n" + C + b"\r"
    scanned = scan(data)

    assert lines(data, scanned) == [A, B, C]
    assert scanned.unread == ()


def test_spaces_round_a_line_are_part_of_it() -> None:
    data = file_of(b"  " + A + b" \t", B)

    assert lines(data, scan(data)) == [b"  " + A + b" \t", B]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line(separator: str) -> None:
    odd = f'{{"type":"x","id":"b","text":"one{separator}two"}}'.encode()
    data = file_of(A, odd)

    assert lines(data, scan(data)) == [A, odd]


UNREADABLE: Final = [
    b"rubbish",
    b'{"type":"custom","id":"b","parentId":"a"',
    b'{"type":"custom","id":7}',
    b'{"type":"custom"}',
    b'{"type":5,"id":"b"}',
    b'{"id":"b"}',
    b'{"type":"custom","id":null}',
    b'{"type":"custom","id":"b","parentId":5}',
    b"5",
    b"null",
    b"true",
    b'"custom"',
    b"[1,2]",
    b"{}",
    b"\0\0\0\0",
    b"\0\0" + B,
    B + B,
    BOM + B,
    PNG[:4],
    b'{"type":"x","id":"b","deep":' + b"[" * 100_000 + b"]" * 99_999 + b"}",
    b'{"type":"x","id":"\xff"}',
]


@pytest.mark.parametrize("bad", UNREADABLE, ids=lambda bad: bad[:20])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_a_line_that_is_no_entry_is_named_and_reading_goes_on(bad: bytes, where: int) -> None:
    around = [A, C]
    around.insert(where, bad)
    data = file_of(*around)
    scanned = scan(data)

    assert lines(data, scanned) == [A, C]
    assert passed_over(data, scanned) == [(bad, "not an entry")]


@pytest.mark.parametrize("cut", range(1, len(B)))
def test_a_torn_tail_is_named(cut: int) -> None:
    data = file_of(A) + B[:cut]

    assert lines(data, scan(data)) == [A]
    assert scan(data).unread == (Unread(len(file_of(A)), cut, "not an entry"),)


def test_a_tail_that_lacks_its_line_feed_alone_is_an_entry() -> None:
    data = file_of(A) + B

    assert lines(data, scan(data)) == [A, B]


def test_of_two_entries_with_one_id_the_first_wins_and_the_other_is_named() -> None:
    second, third = line("a", "b", text="second"), line("a", text="third")
    data = file_of(A, second, B, third, C)
    scanned = scan(data)

    assert lines(data, scanned) == [A, B, C]
    assert passed_over(data, scanned) == [(second, "duplicate id"), (third, "duplicate id")]


def test_what_is_passed_over_is_told_in_the_order_of_the_file() -> None:
    data = file_of(A, A, b"rubbish", A, header_of(3), b"more")

    assert [one.why for one in scan(data).unread] == [
        *("duplicate id", "not an entry", "duplicate id", "second header", "not an entry")
    ]


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
    data = file_of(A, deep, C, head=header_of(version) + b"\n")
    near, far = scan(data), at_depth(700, lambda: scan(data))

    assert lines(data, near) == lines(data, far) == [A, deep, C]
    assert (ids(near), near.unread) == (ids(far), far.unread)
    assert near.unread == ()


def test_a_second_header_with_an_odd_payload_is_one_too() -> None:
    data = file_of(A, b'{"type":"session","id":"s2","cwd":"\\ud800"}', B)

    assert lines(data, scan(data)) == [A, B]
    assert [one.why for one in scan(data).unread] == ["second header"]


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


def test_damage_in_a_version_1_file_takes_no_place() -> None:
    data = old_file(
        b"rubbish", OLD[0], b"", b'{"type":5}', b"7", OLD[1], header_of(3), b'{"no":"type"}', OLD[2], b'{"ty'
    )

    assert lines(data, scan(data)) == OLD
    assert ids(scan(data)) == ids(scan(old_file(*OLD)))
    assert [one.why for one in scan(data).unread] == [
        *("not an entry", "not an entry", "not an entry", "second header", "not an entry", "not an entry")
    ]


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
    assert passed_over(data, scan(data)) == [(odd, "not an entry")]


def test_a_second_header_of_version_1_may_have_ids_of_its_own() -> None:
    data = old_file(OLD[0], b'{"type":"session","id":"x","parentId":null}', b'{"type":"session"}', OLD[1])

    assert [one.why for one in scan(data).unread] == ["second header", "second header"]
    assert lines(data, scan(data)) == OLD[:2]


@pytest.mark.parametrize("version", [2, 3, 4, 99])
def test_later_versions_have_ids_of_their_own(version: int) -> None:
    scanned = scan(file_of(A, B, head=header_of(version) + b"\n"))

    assert (scanned.header.version, ids(scanned)) == (version, ["a", "b"])


PIECES: Final = st.one_of(
    st.sampled_from([A, B, C, line("a", "c"), HEAD.strip(), header_of(1), *UNREADABLE[:16], b"", b"\r", b"  "]),
    st.binary(max_size=30),
)


@pytest.mark.slow
@given(
    pieces=st.lists(PIECES, max_size=8), ends=st.sampled_from([b"\n", b"\r\n"]), version=st.sampled_from([None, 2, 3])
)
def test_every_byte_is_part_of_an_entry_or_named_or_blank(
    pieces: list[bytes], ends: bytes, version: int | None
) -> None:
    data = header_of(version) + ends + ends.join(pieces)
    scanned = scan(data)
    taken = [*zip(scanned.offsets, scanned.lengths, strict=True), *((one.offset, one.length) for one in scanned.unread)]
    rest = bytearray(data)
    rest[: len(header_of(version))] = b" " * len(header_of(version))
    for at, length in taken:
        assert length > 0
        assert b"\n" not in data[at : at + length]
        rest[at : at + length] = b"\x01" * length
    assert rest.replace(b"\x01", b"").strip() == b""
    assert len(scanned.offsets) == len(scanned.tree)
    assert list(scanned.offsets) == sorted(scanned.offsets)
    assert rest.count(b"\x01") == sum(length for _, length in taken)


@pytest.mark.slow
@given(
    st.lists(
        st.binary(max_size=20) | st.sampled_from([b'"session"', b"{", b"}", b":", b",", b'"type"', b"\n"]), max_size=12
    )
)
def test_whatever_the_bytes_there_is_a_session_or_none(pieces: list[bytes]) -> None:
    with suppress(NotAnEntry):
        scan(b"".join(pieces))


@pytest.mark.parametrize("version", [None, 3])
@pytest.mark.parametrize("block", [1, 40, 150])
def test_how_many_bytes_are_read_at_a_time_makes_no_difference(
    block: int, version: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [line(f"{number}", f"{number - 1}") for number in range(9)]
    data = file_of(A, *many[:3], B, A, *OLD, b"rubbish", line("0"), C, *many[2:], head=header_of(version) + b"\n")
    data += b'{"type":"x","id":5}\r\n' + B[:9]
    whole = scan(data)
    monkeypatch.setattr(scanning, "BLOCK", block)
    pieces = scan(data)

    assert (ids(pieces), lines(data, pieces), pieces.unread) == (ids(whole), lines(data, whole), whole.unread)
    assert [pieces.tree.parent(index) for index in range(len(pieces.tree))] == [
        whole.tree.parent(index) for index in range(len(whole.tree))
    ]


@pytest.mark.slow
def test_a_file_that_holds_everything_twice_takes_no_time() -> None:
    """Duplicates used to be taken out of the whole column one by one."""
    once = [line(f"{number:08x}") for number in range(100_000)]
    data = file_of(*once, *once)
    started = time.process_time()
    scanned = scan(data)

    assert len(scanned.tree) == len(scanned.unread) == 100_000
    assert time.process_time() - started < 5
