"""Old lines raised: the same bytes each time, and nothing changed that need not be."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.base import Json
from sapwood.events.codec import decode_entry, decode_envelope
from sapwood.events.entries import Compaction, CustomMessageEntry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import CustomMessage
from sapwood.store.upcast import from_version_1, from_version_2, made_up_ids, with_parent
from tests.strategies import JSON, TEXTS

ID, PARENT = EntryId("00000002"), EntryId("00000001")


def raised(line: bytes, parent: EntryId | None = PARENT) -> bytes:
    """A version 1 line raised, in a file of nine entries."""
    return from_version_1(line, ID, parent, lambda place: EntryId(f"line{place}") if 0 < place < 10 else None)


def compaction(**fields: Json) -> bytes:
    return json.dumps({"type": "compaction", "timestamp": "t", "summary": "s", "tokensBefore": 7, **fields}).encode()


def test_made_up_ids_are_the_same_at_every_reading_and_differ_by_session() -> None:
    ids, again, others = made_up_ids("s1"), made_up_ids("s1"), made_up_ids("s2")

    assert (
        [ids(place) for place in range(3)]
        == [again(place) for place in range(3)]
        == ["93d74768", "320ec119", "d0463aca"]
    )
    assert ids(0) != others(0)
    assert made_up_ids("")(0) != made_up_ids("é")(0)


def test_made_up_ids_are_eight_hex_characters_and_no_two_alike() -> None:
    ids = made_up_ids("s1")
    made = {ids(place) for place in range(100_000)}

    assert len(made) == 100_000
    assert all(len(one) == 8 and set(one) <= set("0123456789abcdef") for one in made)


def test_a_line_gets_its_ids_behind_its_type_and_keeps_the_bytes_of_the_rest() -> None:
    assert raised(b'{"zeta":[1.50, 1e2,"\\u00e9"], "type":"from.before","n":123456789012345678901234567890}') == (
        b'{"type":"from.before","id":"00000002","parentId":"00000001",'
        b'"zeta":[1.50, 1e2,"\\u00e9"],"n":123456789012345678901234567890}'
    )


def test_the_first_line_has_no_parent() -> None:
    assert raised(b'{"type":"x"}', None) == b'{"type":"x","id":"00000002","parentId":null}'


@pytest.mark.parametrize("own", [b'"id":"mine","parentId":"yours"', b'"id":5', b'"parentId":[]', b'"id":null'])
def test_ids_of_its_own_are_not_its_ids(own: bytes) -> None:
    envelope = decode_envelope(raised(b'{"type":"x",' + own + b"}"))

    assert (envelope.id, envelope.parentId) == (ID, PARENT)


@pytest.mark.parametrize(
    "odd",
    [
        b'{"type":"x","text":"\\ud800"}',
        b'{"type":"x","\xff":1}',
        b'{"type":"x","deep":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"type":"x","\\ud800":1,"\\ud801":[1.50, 2]}',
    ],
)
def test_a_line_that_our_decoder_refuses_is_raised_and_keeps_the_bytes_of_the_rest(odd: bytes) -> None:
    assert raised(odd) == odd.replace(b'"x",', b'"x","id":"00000002","parentId":"00000001",', 1)


def test_ids_of_its_own_go_from_such_a_line_too() -> None:
    line = raised(b' {"zeta" : 1, "text":"\\ud800","id":"mine", "type":"x"} \t\r')

    assert line == b'{"type":"x","id":"00000002","parentId":"00000001","zeta":1,"text":"\\ud800"}'


@pytest.mark.parametrize(
    "line", [b'{"type":"x"', b'{"type":"x","id":"mine"', b"[]", b"5", b"", b'{"type":"x"}}', b"\0"]
)
def test_what_is_no_object_is_not_raised(line: bytes) -> None:
    """A line that lacked its last brace used to get one, and was an entry."""
    assert raised(line) == line


def at_depth(frames: int, act: Callable[[], bytes]) -> bytes:
    return act() if frames == 0 else at_depth(frames - 1, act)


def test_a_line_is_raised_to_the_same_bytes_however_deep_the_caller_stands() -> None:
    line = b'{ "deep" : ' + b"[" * 450 + b"]" * 450 + b', "type":"x", "n":1e2}'

    assert at_depth(700, lambda: raised(line)) == raised(line)
    assert raised(line).startswith(b'{"type":"x","id":"00000002"')


@pytest.mark.parametrize(
    ("index", "kept"),
    [
        (1, "line1"),
        (9, "line9"),
        (7.0, "line7"),
        (0, ID),
        (10, ID),
        (-1, ID),
        (7.5, ID),
        ("7", ID),
        (None, ID),
        (1e300, ID),
    ],
)
def test_the_first_kept_entry_goes_by_its_id_and_by_its_own_if_nothing_is_kept(index: Json, kept: str) -> None:
    line = raised(compaction(firstKeptEntryIndex=index))

    assert decode_entry(line) == Compaction(
        id=ID, parent_id=PARENT, timestamp="t", summary="s", tokens_before=7, first_kept_entry_id=EntryId(kept)
    )
    assert json.loads(line)["firstKeptEntryId"] == kept
    assert b"firstKeptEntryIndex" not in line


@pytest.mark.parametrize("odd", [b'"\\ud800"', b'"\xff"', b"[" * 5000 + b"]" * 5000])
def test_the_first_kept_entry_goes_by_its_id_in_a_line_that_our_decoder_refuses(odd: bytes) -> None:
    """Such a line used to keep its index, and the compaction was lost."""
    line = raised(
        b'{"type":"compaction","timestamp":"t","summary":"s","tokensBefore":7,"firstKeptEntryIndex":3,"z":' + odd + b"}"
    )

    assert line == (
        b'{"type":"compaction","id":"00000002","parentId":"00000001","timestamp":"t","summary":"s","tokensBefore":7,"z":'
        + odd
        + b',"firstKeptEntryId":"line3"}'
    )


def test_a_number_that_is_none_keeps_nothing() -> None:
    assert json.loads(raised(b'{"type":"compaction","firstKeptEntryIndex":1e999}'))["firstKeptEntryId"] == ID


def test_only_a_compaction_has_a_first_kept_entry() -> None:
    line = raised(b'{"type":"custom","firstKeptEntryIndex":3}')

    assert json.loads(line)["firstKeptEntryIndex"] == 3
    assert b"firstKeptEntryId" not in line


def test_a_compaction_without_an_index_is_left_without() -> None:
    assert json.loads(raised(compaction(firstKeptEntryId="f"))).get("firstKeptEntryId") == "f"


HOOK = (
    b'{"type":"message","id":"a","parentId":null,"timestamp":"t","message":'
    b'{"content":"see hookMessage","role":"hookMessage","customType":"net.map","display":true,"timestamp":1.0e3}}'
)


def test_a_hook_message_is_a_custom_message_and_the_rest_keeps_its_bytes() -> None:
    assert from_version_2(HOOK) == HOOK.replace(b'"role":"hookMessage"', b'"role":"custom"')


def test_a_hook_message_reads_as_a_custom_message() -> None:
    entry = decode_entry(from_version_2(HOOK.replace(b"1.0e3", b"1000")))

    assert isinstance(entry, MessageEntry)
    assert entry.message == CustomMessage(
        custom_type="net.map", content="see hookMessage", display=True, timestamp=1000
    )
    assert not isinstance(entry, CustomMessageEntry)


def test_a_hook_message_of_version_1_is_one_too() -> None:
    old = HOOK.replace(b'"id":"a","parentId":null,', b"")

    assert raised(old) == from_version_2(old).replace(
        b'"message",', b'"message","id":"00000002","parentId":"00000001",'
    )


@pytest.mark.parametrize("odd", [b'"\\ud800"', b'"\xff"', b"[" * 5000 + b"]" * 5000])
def test_a_hook_message_that_our_decoder_refuses_is_a_custom_message_too(odd: bytes) -> None:
    """It used to stay as it was, and nobody knows such a role."""
    line = b'{"type":"message","id":"a","message":{"role":"hookMessage","content":' + odd + b"}}"

    assert from_version_2(line) == line.replace(b"hookMessage", b"custom")


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"message","id":"a", "message":{"role":"user","content":"what is a hookMessage?"}}',
        b'{"type":"custom","id":"a", "data":{"role":"hookMessage"}}',
        b'{"type":"message","id":"a", "message":"hookMessage"}',
        b'{"type":"message","id":"a", "message":{"role":5,"content":"hookMessage"}}',
        b'{"type":"message","id":"a", "message":{"content":"hookMessage"}}',
        b'{"type":"message","id":"a", "message":{"role":"\\ud800","content":"hookMessage"}}',
        b'{"type":"message","id":"a", "message":{"role":"hookMessage"}',
        b'{"type":"message","id":"a", "hookMessage":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"type":"message","id":"a", "message":{"role":"user"}}',
    ],
)
def test_whatever_is_no_hook_message_stays_as_it_is(line: bytes) -> None:
    """A text that spoke of hookMessage used to be written anew, with other spaces and other numbers."""
    assert from_version_2(line) == line


@pytest.mark.parametrize(
    "rest",
    [
        b'"timestamp":"t","n":1e2',
        b'"firstKeptEntryId":"k","firstKeptEntryIndex":3',
        b'"message":{"role":"hookMessage"}',
        b'"text":"\\ud800"',
    ],
)
def test_a_line_under_another_parent_keeps_all_else_that_it_says(rest: bytes) -> None:
    """One that was no version 1 line used to be raised as one, and a compaction kept another entry."""
    line = b'{"type":"compaction", "id":"00000002","parentId":"lost",' + rest + b"}"

    assert with_parent(line, ID, PARENT) == line.replace(b'"lost"', b'"00000001"').replace(b", ", b",")
    assert with_parent(line, ID, None) == line.replace(b'"lost"', b"null").replace(b", ", b",")
    assert with_parent(b"[1]", ID, PARENT) == b"[1]"


@pytest.mark.slow
@given(kind=TEXTS, fields=st.dictionaries(TEXTS, JSON, max_size=4), ascii_only=st.booleans())
def test_any_object_with_a_type_is_raised_to_one_with_an_envelope(
    kind: str, fields: dict[str, Json], ascii_only: bool
) -> None:
    line = json.dumps({**fields, "type": kind, "timestamp": "t"}, ensure_ascii=ascii_only).encode()
    envelope = decode_envelope(raised(line))

    assert (envelope.type, envelope.id, envelope.parentId) == (kind, ID, PARENT)
    assert b"\n" not in raised(line)
    again = json.loads(raised(line))
    for name in {*fields} - {"id", "parentId", "type", "timestamp", "message", "firstKeptEntryIndex"}:
        assert again[name] == fields[name]
