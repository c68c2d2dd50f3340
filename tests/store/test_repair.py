"""What is found in a line that is no entry, what is named, and that it ends soon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.codec import decode_envelope
from sapwood.events.damage import SEVERITY, Damage
from sapwood.events.errors import NotAnEntry
from sapwood.store.repair import BOM, WORK, Flaw, Found, invalid_utf8, pieces_of
from sapwood.store.scan import scan
from sapwood.store.upcast import made_up_ids
from tests.build import HEADER
from tests.store.damaging import assert_all_is_named, entries, named
from tests.store.stores import HEAD, file_of, header_of, line

A, B, C = line("a"), line("b", "a", text="}{"), line("c", "b")
NESTED: Final = line("n", "m")
"""An entry that is the value of a field in another one."""
CALL: Final = b'{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"x"}}'
ANSWER: Final = line("d", "c", "message", message={"content": ["?", 1]}).replace(b'"?"', CALL)
KNOWN: Final = ("a", "b")

Told = list[str | tuple[str, bytes]]
"""The ids that are found, and what is damaged with its bytes."""


def told(line: bytes, *, last: bool = False) -> Told:
    """The pieces of a line that begins at byte 100, when each byte is in one of them."""
    at, pieces = 100, Told()
    for piece in pieces_of(line, 100, decode_envelope, last=last):
        assert piece.offset == at
        at += piece.length
        here = line[piece.offset - 100 : at - 100]
        pieces.append(piece.envelope.id if isinstance(piece, Found) else (piece.kind, here))
    assert at == 100 + len(line)
    return pieces


GLUE: Final = ("lost_newline", b"")


def test_records_without_a_newline_between_them_are_all_found() -> None:
    """D03: the line used to be skipped, and all that hung under it."""
    assert told(A + B) == ["a", GLUE, "b"]
    assert told(A + B + C) == ["a", GLUE, "b", GLUE, "c"]
    assert told(b" " + A + b" \t" + B + b"  ") == ["a", GLUE, "b"]
    assert told(b'{"id":7}' + A + b"{}" + B) == [
        ("bad_envelope", b'{"id":7}'),
        GLUE,
        "a",
        GLUE,
        ("bad_envelope", b"{}"),
        GLUE,
        "b",
    ]
    assert told(b'{"x":1,"type":"x","id":"x"}' * 2) == ["x", GLUE, "x"]


def test_nuls_are_named_and_what_is_between_them_is_found() -> None:
    assert told(b"\0\0\0") == [("nul_run", b"\0\0\0")]
    assert told(b"\0" + A + b"\0\0" + B + b"\0") == [
        ("nul_run", b"\0"),
        "a",
        ("nul_run", b"\0\0"),
        "b",
        ("nul_run", b"\0"),
    ]
    assert told(b" \0 \0 " + A) == [("nul_run", b" \0 \0 "), "a"]
    assert told(B[:40] + b"\0\0" + B[42:]) == [("cut_line", B[:40]), ("nul_run", b"\0\0"), ("garbage", B[42:])]
    assert told(B[:40] + b"\0\0" + C) == [("cut_line", B[:40]), ("nul_run", b"\0\0"), "c"]
    assert told(C[:40] + b"\0\0" + C) == [("doubled_start", C[:40]), ("nul_run", b"\0\0"), "c"]


@pytest.mark.parametrize("cut", range(1, len(C)))
def test_a_record_that_was_begun_and_then_written_whole_is_found_once(cut: int) -> None:
    """D04."""
    assert told(B[:cut] + B) == [("doubled_start", B[:cut]), "b"]
    assert told(A + B[:cut] + B + C) == ["a", ("doubled_start", B[:cut]), "b", GLUE, "c"]
    assert told(C[:cut] + C[: cut // 2] + C) == [("doubled_start", C[:cut] + C[: cut // 2]), "c"]


@pytest.mark.parametrize("cut", range(30, len(ANSWER)))
def test_a_record_behind_another_ones_beginning_is_found_and_no_part_of_that_one(cut: int) -> None:
    assert told(ANSWER[:cut] + C) in (
        [("cut_line", ANSWER[:cut]), "c"],
        [("cut_line", ANSWER[:cut] + C)],  # where it may as well be a value in it
    )


@pytest.mark.parametrize(
    "odd", [bytes([10 ^ 1 << bit]) for bit in range(8)] + [*(b",", b":", b"[", b"]", b"{", b"}")], ids=repr
)
def test_one_odd_byte_between_two_records_is_named(odd: bytes) -> None:
    assert told(A + odd + B) == ["a", ("garbage", odd), "b"] if odd != b"{" else ["a", ("doubled_start", odd), "b"]


def test_what_is_no_record_is_called_by_how_it_looks() -> None:
    assert told(A[:-1]) == [("cut_line", A[:-1])]
    assert told(A[:-1], last=True) == [("torn_tail", A[:-1])]
    assert told(A, last=True) == ["a"]
    assert told(A + B[:9], last=True) == ["a", ("torn_tail", B[:9])]
    assert told(b'{"id":' + A, last=True) == [("cut_line", b'{"id":'), "a"]
    assert told(A[:9] + b"\0\0", last=True) == [("torn_tail", A[:9]), ("nul_run", b"\0\0")]
    assert told(b"[1]") == [("not_an_object", b"[1]")]
    assert told(b"[1") == [("garbage", b"[1")]
    assert told(b"5" + A) == [("garbage", b"5"), "a"]
    assert told(b'{"type":"x"}') == [("bad_envelope", b'{"type":"x"}')]
    assert told(b"{}", last=True) == [("torn_tail", b"{}")]
    assert told(b"{") == [("cut_line", b"{")]
    assert told(b"{a") == [("garbage", b"{a")]
    assert told(BOM + A) == [("bom", BOM), "a"]
    assert told(BOM + b"\0" + A) == [("bom", BOM), ("nul_run", b"\0"), "a"]


INSIDE: Final = (
    CALL,
    NESTED,
    line("n"),
    b'{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}',
)


@pytest.mark.parametrize("inner", INSIDE, ids=range(len(INSIDE)))
@pytest.mark.parametrize("shape", ["[%s]", "%s", "[%s, %s,%s]", '{"a":[1,%s]}', '{"old":%s,"new":%s}'], ids=repr)
def test_what_is_inside_of_a_record_never_is_one(inner: bytes, shape: str) -> None:
    """A tool call has a type and an id. However the record round it is spoilt, none of what is in it becomes an entry."""
    within = shape.encode().replace(b"%s", inner)
    whole = line("d", "c", "message", data="?").replace(b'"?"', within)
    for cut in range(len(whole) - len(within) - 2, len(whole)):
        assert [one for one in told(whole[:cut]) if isinstance(one, str)] == []
        rest = whole[cut:] if whole[cut:].lstrip()[:1] != b"{" else b""
        assert [one for one in told(rest) if isinstance(one, str)] == []
    for at in range(len(whole)):
        found = [one for one in told(whole[:at] + b"\0" + whole[at + 1 :]) if isinstance(one, str)]
        assert found in ([], ["d"])


def test_an_entry_in_a_field_is_one_only_where_no_field_may_be() -> None:
    before = line("d", "c", data="?").split(b'"?"')[0]

    assert told(before + NESTED) == [("cut_line", before + NESTED)]
    assert told(before + b"[1, " + NESTED) == [("cut_line", before + b"[1, " + NESTED)]
    assert told(before + b'"words' + NESTED) == [("cut_line", before + b'"words'), "n"]
    assert told(before + b'"words: ' + NESTED) == [("cut_line", before + b'"words: '), "n"]
    assert told(line("m") + before + NESTED) == ["m", ("cut_line", before + NESTED)]
    assert told(before + line("d", "c", data="")) == [("doubled_start", before), "d"]
    assert told(before + line("e", "d")) == [("cut_line", before + line("e", "d"))]
    assert told(before + b"1, " + NESTED) == [("cut_line", before + b"1, "), "n"]
    assert told(b'{"id": ' + NESTED) == [("cut_line", b'{"id": '), "n"]


@pytest.mark.parametrize("key", ["id", "type", "timestamp", "parentId", "entry"])
@pytest.mark.parametrize("parent", [None, "a"])
def test_what_a_model_writes_into_a_call_is_no_entry_wherever_the_line_is_torn(key: str, parent: str | None) -> None:
    """It used to be one, and took the leaf, if the line was torn right behind it."""
    evil = line("e", parent)
    torn = ANSWER[: ANSWER.index(b'"arguments"')] + b'"arguments":{"%s":' % key.encode() + evil

    assert told(torn, last=True) == [("torn_tail", torn)]
    assert "e" not in told(torn + B)
    headless = torn[torn.index(b"call_1") :]
    assert "e" not in told(b"\0\0\0\0" + headless, last=True)


def test_a_whole_record_is_found_whatever_byte_follows_it() -> None:
    for odd in (b"}", b"]", b",", b"x", b'"', b"\x0b"):
        assert told(C + odd) == ["c", ("garbage", odd)]
        assert told(B[:40] + B + odd) == [("doubled_start", B[:40]), "b", ("garbage", odd)]
    for odd in (b"x", b"\x0b", b"\x0b\x0b"):
        assert told(A + b"\x0b" + B + odd + C) == ["a", ("garbage", b"\x0b"), "b", ("garbage", odd), "c"]


def test_a_record_that_lacks_what_every_record_has_is_found_only_where_one_is_due() -> None:
    bare = b'{"type":"x","id":"x"}'

    assert told(A + bare + b"\0" + bare) == ["a", GLUE, "x", ("nul_run", b"\0"), "x"]
    assert told(A[:20] + bare) == [("cut_line", A[:20] + bare)]
    assert told(bare + b"," + bare) == [("cut_line", bare + b"," + bare)]
    assert told(A + b"," + A) == ["a", ("garbage", b","), "a"]
    assert told(line("x", "nowhere") + b"]}") == ["x", ("garbage", b"]}")]


def test_bytes_of_no_character_are_named_in_the_entry_that_has_them() -> None:
    assert invalid_utf8("é".encode(), 5) is None
    assert invalid_utf8(b"ab\xffcd", 5) == Flaw("invalid_utf8", 7, 1)
    assert invalid_utf8("é".encode() + b"\xff\xfe" + "é".encode() + b"\xc3", 5) == Flaw("invalid_utf8", 7, 5, count=2)
    spoilt = line("b", "a", text="?").replace(b"?", b"\xff\xfe")
    data = file_of(A, spoilt, A, "{}é".encode())
    assert named(scan(data))[0] == ("invalid_utf8", data.index(b"\xff"), 2)
    assert entries(data, scan(data)) == [A, spoilt]


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_no_other_line_break_ends_a_line(odd: str) -> None:
    """D05."""
    whole = line("b", "a", text="one?two").replace(b"?", odd.encode() if ord(odd) > 31 else b"\\u%04x" % ord(odd))
    data = file_of(A, whole, A[:20] + odd.encode() + A[20:], C)
    held = scan(data)

    assert entries(data, held) == [A, whole, C]
    assert [one.line for one in held.damage] == [4]


HOSTILE: Final[dict[str, bytes]] = {
    "starts": b'{"type":' * 120_000,
    "ids": b'{"id":"a","parentId":null,' * 40_000,
    "arrays": b"[" * 300_000,
    "objects": b"{" * 300_000,
    "quotes": b'"' * 1_000_000,
    "escaped quotes": b'"' + b'\\"' * 400_000,
    "starts hidden in texts": b'{"id":\\"' * 100_000,
    "deep, closed wrongly": b'{x{"type":"x","a":' * 1 + b'{"type":"x","a":' * 20_000 + b"1" + b"}" * 19_000 + b"]",
    "records in records": b'{x{"type":"x","id":"b","parentId":"q","timestamp":"t","a":' * 10_000 + b"1" + b"}" * 10_000,
    "blanks": b'{"type"' + b" " * 1_000_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_is_named_and_what_is_round_it_is_found(name: str) -> None:
    data = file_of(A, HOSTILE[name], B)
    held = scan(data)

    assert entries(data, held) == [A, B]
    assert [kind for kind, *_ in named(held)] == ["cut_line" if HOSTILE[name][:2] == b'{"' else "garbage"]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_read_of_a_hostile_line_is_bounded(name: str) -> None:
    read = 0

    def reading(record: bytes) -> NoReturn:
        nonlocal read
        read += len(record)
        raise NotAnEntry("", record)

    assert all(isinstance(one, Flaw) for one in pieces_of(HOSTILE[name], 0, reading, last=False))
    assert read <= WORK * len(HOSTILE[name])


WORDS: Final = (
    A,
    B,
    C,
    CALL,
    A[:40],
    B[20:],
    b"\0",
    b",",
    b"{",
    b'"',
    b"[",
    b"}",
    b'{"type":',
    b'"id":"b","parentId":"a"',
    b" ",
    BOM,
    b"\xff",
)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(WORDS) | st.binary(max_size=4).map(lambda some: some.replace(b"\n", b"")), max_size=8),
    st.booleans(),
)
def test_every_byte_of_any_line_is_in_one_piece(parts: list[bytes], last: bool) -> None:
    whole = b"".join(parts)

    assert told(whole, last=last) == told(whole, last=last)


# the header among others on its line


OLD: Final = [b'{"type":"message","timestamp":"t","n":%d}' % number for number in range(3)]
HEADER_AMONG_OTHERS: Final[dict[bytes, list[str]]] = {
    HEAD.strip() + A + b"\n" + B: ["lost_newline"],
    b"\0\0" + HEAD + A + b"\n" + B: ["nul_run"],
    b"\0\0" + HEAD.strip() + b"\0" + A + B + b"\r\n": ["nul_run", "nul_run", "lost_newline", "crlf"],
    BOM + b"\0" + HEAD.strip() + A + B: ["bom", "nul_run", "lost_newline", "lost_newline"],
    HEAD[:50] + HEAD + A + b"\n" + B: ["doubled_start"],
    HEAD[:50] + HEAD.strip() + A + b"\n" + B: ["doubled_start", "lost_newline"],
    b"{" + HEAD.strip() + b"\r\n" + A + b"\n" + B: ["doubled_start", "crlf"],
    b"x" + HEAD + A + b"\n" + B: ["garbage"],
    A + HEAD.strip() + B: ["lost_newline", "lost_newline"],
    A + HEAD.strip() + header_of(3, "s2") + B: ["lost_newline", "lost_newline", "second_header", "lost_newline"],
    A + b"\n" + B[:30] + HEAD + B: ["cut_line"],
}


@pytest.mark.parametrize(("data", "kinds"), HEADER_AMONG_OTHERS.items(), ids=range(len(HEADER_AMONG_OTHERS)))
def test_the_header_is_found_among_others_on_its_line(data: bytes, kinds: list[str]) -> None:
    scanned = scan(data)

    assert (scanned.header, entries(data, scanned)) == (HEADER, [A, B])
    assert [kind for kind, *_ in named(scanned)] == kinds
    assert_all_is_named(data, scanned)


def test_a_header_of_version_1_is_found_among_its_entries() -> None:
    data = b"\0" + header_of(None) + OLD[0] + OLD[1] + b"\n" + OLD[2] + OLD[0][:9]
    scanned = scan(data)

    assert entries(data, scanned) == OLD
    assert [scanned.tree.id(place) for place in range(3)] == [made_up_ids("old")(place) for place in range(3)]
    assert [kind for kind, *_ in named(scanned)] == ["nul_run", "lost_newline", "lost_newline", "torn_tail"]
    assert_all_is_named(data, scanned)


# how the entries hang (D11)


def hanging(*entries: bytes) -> tuple[Sequence[str], list[tuple[str, str | None, str | None]]]:
    """The ids from the top to the leaf, and what is told."""
    data = file_of(*entries)
    held = scan(data)
    assert_all_is_named(data, held)
    for one in held.damage:
        if one.entry_id in held.tree:
            assert data[one.offset :].startswith(entries[one.line - 2])
    path = [held.tree.id(place) for place in held.tree.path(held.tree.leaf)]
    return path, [(one.kind, one.entry_id, one.parent_id) for one in held.damage]


def test_what_hangs_wrongly_is_told() -> None:
    assert hanging(A, line("b", "b"), C) == (["b", "c"], [("self_parent", "b", "b")])
    assert hanging(line("a", "b"), line("b", "a")) == (["a", "b"], [("cycle", "a", "b")])
    assert hanging(A, line("b", "nowhere"), C) == (["b", "c"], [("missing_parent", "b", "nowhere")])
    assert hanging(B, A, C) == (["a", "b", "c"], [("later_parent", "b", "a")])


def test_more_roots_than_one_are_told_once_at_the_second() -> None:
    held = scan(file_of(A, line("r"), B, line("s")))

    assert tuple(held.damage) == (
        Damage(kind="several_roots", line=3, offset=len(file_of(A)), length=0, entry_id="r", count=3),
    )


def lost(*entries: bytes) -> list[tuple[str, bool]]:
    return [(one.entry_id or "", one.bridged) for one in scan(file_of(*entries)).damage if SEVERITY[one.kind] == "lost"]


def test_a_lost_entry_is_bridged_if_it_shows_what_it_was() -> None:
    d = line("d", "c")

    assert hanging(A, B[:-9], C, d) == (["a", "c", "d"], [("cut_line", "b", "a")])
    assert hanging(A, B[:-9], C[:-9], d) == (["a", "d"], [("cut_line", "b", "a"), ("cut_line", "c", "b")])
    assert hanging(A[:-9], B[:-9], C, d) == (["c", "d"], [("cut_line", "a", None), ("cut_line", "b", "a")])
    assert lost(A[:-9], B[:-9], C) == [("a", True), ("b", True)]
    assert lost(A, b'{"id":"b","parentId":"a"}', C) == [("b", True)]
    assert lost(A, B[10:], C) == [("b", True)]


def test_a_lost_entry_that_is_there_after_all_or_leads_nowhere_is_no_bridge() -> None:
    assert hanging(A, B[:-9], C, B) == (["a", "b"], [("cut_line", "b", "a"), ("later_parent", "c", "b")])
    assert lost(A, B[:-9], C, B) == [("b", False)]
    assert lost(B[:-9], C) == [("b", False), ("c", False)]
    assert lost(B[:-9], line("a", "b")[:-9], C) == [("b", False), ("a", False), ("c", False)]
    assert hanging(line("c", "b"), line("b", "c")[:-9]) == (["c"], [("cycle", "c", "b"), ("cut_line", "b", "c")])
