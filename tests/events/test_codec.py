"""Lines in and out: ours byte for byte, others' value for value, and nothing but `NotAnEntry` for what is no line (S1, S2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood.events.base import Json
from sapwood.events.codec import (
    BadEvent,
    decode_entry,
    decode_envelope,
    decode_event,
    decode_header,
    encode_entry,
    encode_event,
    encode_header,
    why_unwritable,
)
from sapwood.events.entries import Custom, Entry, Header, KnownEntry, MessageEntry, Unknown, kind_of
from sapwood.events.errors import NotAnEntry, Unencodable
from sapwood.events.ids import EntryId, SessionId
from sapwood.events.messages import StoredMessage
from sapwood.events.odd_json import DEEPEST
from sapwood.events.runtime import AgentStart, Diagnostic, EntryAppended, Event, ModelChanged
from tests.build import TIME, assistant, message_entry, user
from tests.strategies import (
    ENTRIES,
    EVENTS,
    HEADERS,
    JSON,
    LINE_BREAKS,
    PER_KIND,
    STORED_MESSAGES,
    TEXTS,
    foreign,
    lines,
    of,
    with_nulls,
    written,
)

T = TypeVar("T")
ENTRY_KINDS = get_args(KnownEntry)
SESSIONS = Path(__file__).parents[1] / "data"
each_kind = pytest.mark.parametrize("kind", ENTRY_KINDS, ids=lambda kind: kind.__name__)


def custom(data: Json = None) -> Custom:
    return Custom(id=EntryId("a"), parent_id=None, timestamp=TIME, custom_type="x", data=data)


def line_of(more: str, kind: str = "custom") -> bytes:
    """A line with a good envelope, and what else the test says."""
    start = f'{{"type":"{kind}","id":"a","parentId":null,"timestamp":"t","customType":"x"'
    return (start + more + "}").encode()


def same_value(one: bytes, other: bytes) -> bool:
    """The same JSON value: the order of keys does not count, and 1 is neither 1.0 nor true."""
    first, second = (json.dumps(json.loads(line.decode()), sort_keys=True) for line in (one, other))
    return first == second


def again(line: bytes) -> bytes:
    return encode_entry(decode_entry(line))


# what we write


@each_kind
@PER_KIND
@given(data=st.data())
def test_a_line_of_ours_comes_back_byte_for_byte(kind: type[KnownEntry], data: st.DataObject) -> None:
    entry: KnownEntry = data.draw(of(kind))

    line = encode_entry(entry)

    assert decode_entry(line) == entry
    assert type(decode_entry(line)) is kind
    assert again(line) == line
    assert json.loads(line)["type"] == kind_of(entry)


@given(header=HEADERS.filter(lambda header: header.version >= 1))
def test_a_header_of_ours_comes_back_byte_for_byte(header: Header) -> None:
    line = encode_header(header)

    assert decode_header(line) == header
    assert encode_header(decode_header(line)) == line


@given(event=EVENTS)
def test_an_event_comes_back_byte_for_byte(event: Event) -> None:
    line = encode_event(event)

    assert decode_event(line) == event
    assert encode_event(decode_event(line)) == line


@given(line=lines(KnownEntry))
def test_an_event_that_shows_an_entry_of_others_comes_back(line: bytes) -> None:
    entry = decode_entry(line)
    assert not isinstance(entry, Unknown)
    event = EntryAppended(entry_id=entry.id, kind=kind_of(entry), entry=entry)

    assert decode_event(encode_event(event)) == event


@given(entry=ENTRIES)
def test_the_envelope_says_what_the_entry_says(entry: KnownEntry) -> None:
    envelope = decode_envelope(encode_entry(entry))

    assert (envelope.type, envelope.id, envelope.parentId, envelope.timestamp) == (
        kind_of(entry),
        entry.id,
        entry.parent_id,
        entry.timestamp,
    )


def test_an_envelope_can_be_read_in_place() -> None:
    assert decode_envelope(memoryview(line_of("") + b"\n")[:-1]).id == "a"


@given(text=st.text(st.sampled_from(LINE_BREAKS + "ab"), min_size=1, max_size=8))
@example(text=LINE_BREAKS)
def test_a_text_with_any_line_break_is_one_line(text: str) -> None:
    entry = message_entry("u1", user(text))

    line = encode_entry(entry)

    assert b"\n" not in line
    assert b"\r" not in line
    assert decode_entry(line) == entry


# what others write


@each_kind
@PER_KIND
@given(data=st.data())
def test_fields_that_we_do_not_know_are_never_lost(kind: type[KnownEntry], data: st.DataObject) -> None:
    line = data.draw(lines(kind))

    entry = decode_entry(line)

    assert type(entry) is kind
    assert not isinstance(entry, Unknown)
    assert entry.extra is not None
    assert same_value(encode_entry(entry), line)
    assert decode_entry(encode_entry(entry)) == entry


@given(line=lines(Header))
def test_fields_of_a_header_that_we_do_not_know_are_never_lost(line: bytes) -> None:
    assert same_value(encode_header(decode_header(line)), line)


@each_kind
@PER_KIND
@given(data=st.data())
def test_a_null_that_is_spelled_out_is_never_lost(kind: type[KnownEntry], data: st.DataObject) -> None:
    # this used to drop every null where we say nothing
    line = data.draw(lines(kind, with_nulls))

    entry = decode_entry(line)

    assert type(entry) is kind
    assert same_value(encode_entry(entry), line)


@pytest.mark.slow
@given(data=st.data(), message=STORED_MESSAGES, timestamp=TEXTS)
def test_fields_that_we_do_not_know_survive_a_change_of_one_that_we_know(
    data: st.DataObject, message: StoredMessage, timestamp: str
) -> None:
    value = data.draw(foreign(message_entry("a1", message)))
    line = data.draw(written(value))

    entry = decode_entry(line)
    changed = msgspec.structs.replace(entry, timestamp=timestamp, parent_id=EntryId("p"))

    expected = {**value, "timestamp": timestamp, "parentId": "p"}
    assert same_value(encode_entry(changed), json.dumps(expected).encode())


def test_a_part_that_is_taken_away_does_not_come_back_as_its_unknown_fields() -> None:
    # this used to write "usage":{"tier":"fast"}, which nobody could read again
    usage = '{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"tier":"fast"}'
    line = line_of(f',"summary":"s","firstKeptEntryId":"a","tokensBefore":1,"usage":{usage}', "compaction")

    entry = decode_entry(line.replace(b'"customType":"x"', b'"zeta":1'))
    taken = encode_entry(msgspec.structs.replace(entry, usage=None))

    assert json.loads(taken)["zeta"] == 1
    assert "usage" not in json.loads(taken)
    assert not isinstance(decode_entry(taken), Unknown)


@pytest.mark.slow
@given(entry=ENTRIES, kind=TEXTS.map("~".__add__), more=JSON, data=st.data())
def test_an_entry_of_a_later_version_is_kept_byte_for_byte(
    entry: KnownEntry, kind: str, more: Json, data: st.DataObject
) -> None:
    value = {**json.loads(encode_entry(entry)), "type": kind, "zeta": more}
    line = data.draw(written(value))

    unknown = decode_entry(line)

    assert isinstance(unknown, Unknown)
    assert (unknown.type, unknown.id, unknown.parent_id, unknown.timestamp) == (
        kind,
        entry.id,
        entry.parent_id,
        entry.timestamp,
    )
    assert encode_entry(unknown) == line


@given(data=st.data())
def test_an_answer_with_a_block_of_a_later_version_keeps_its_other_blocks_and_its_line(data: st.DataObject) -> None:
    """It used to be an `Unknown`: the model lost the whole answer."""
    value = json.loads(encode_entry(message_entry("a1", assistant("x", "y"))))
    expected = decode_entry(json.dumps(value).encode())
    block = {"type": data.draw(st.sampled_from(["serverToolUse", "", "Text"])), "payload": data.draw(JSON)}
    value["message"]["content"].insert(data.draw(st.integers(0, 2)), block)
    line = data.draw(written(value))

    entry = decode_entry(line)

    assert isinstance(entry, MessageEntry)
    assert msgspec.structs.replace(entry, extra=None) == expected
    assert encode_entry(entry) == line


@pytest.mark.parametrize(
    "number",
    [
        "0",
        "-0",
        "-0.0",
        "1.0",
        "1e5",
        "1E+5",
        "1e-400",
        "0.1234567890123456789",
        "9007199254740993",
        "18446744073709551616",
        "-9223372036854775809",
        "1" * 400,
        "1e400",
        "5e-324",
        "1.7976931348623157e308",
    ],
)
@pytest.mark.parametrize("field", ["data", "zeta"])
def test_an_odd_number_keeps_its_value(number: str, field: str) -> None:
    line = line_of(f',"{field}":{number}')

    assert same_value(again(line), line)


@pytest.mark.parametrize(
    "more",
    [
        ',"~extra":{"q":1}',  # this used to come back as "q":1
        ',"~extra":{"q":1},"zeta":2',  # this used to lose ~extra
        ',"~extra":null',  # this used to be lost
        ',"~extra":null,"data":{"a":null}',
        ',"~extra":"text"',
        ',"~extra":{"~extra":{}}',
        ',"~extra":{"id":"b"}',
        ',"\\u007eextra":{"q":1}',
        ',"~\\u0065xtra":null',
        ',"data":{"~extra":{"q":1}}',
        ',"data":"\\"~extra\\":null"',
    ],
)
def test_a_field_that_is_called_as_our_extra_is_a_field_like_any_other(more: str) -> None:
    entry = decode_entry(line_of(more))

    assert isinstance(entry, Custom)
    assert same_value(encode_entry(entry), line_of(more))


@pytest.mark.parametrize("more", ["", ',"~extra":{"q":1}', ',"~extra":null', ',"version":1', ',"cwd":"","version":1'])
def test_a_header_keeps_what_it_spells_out(more: str) -> None:
    line = f'{{"type":"session","id":"s","timestamp":"t"{more}}}'.encode()

    assert same_value(encode_header(decode_header(line)), line)


def test_a_later_version_of_the_header_is_read() -> None:
    line = b'{"type":"session","version":4,"id":"s","timestamp":"t","cwd":"/home/dev","mood":"calm"}'

    header = decode_header(line)

    assert (header.version, header.extra) == (4, {"mood": "calm"})
    assert encode_header(header) == line


@pytest.mark.parametrize(
    "more",
    [
        ',"data":1,"data":2',
        ',"data":1,"data":null',
        ',"data":null,"data":1',
        ',"zeta":1,"zeta":2',
        ',"id":"b"',
        ',"parentId":"b"',
        ',"type":"label","targetId":"q"',
        ',"type":"later"',
        ',"type":"custom","type":"custom"',
    ],
)
def test_of_a_key_that_stands_twice_the_last_one_counts(more: str) -> None:
    assert same_value(again(line_of(more)), line_of(more))


@pytest.mark.parametrize("name", ["pi-all-kinds", "pi-ringing-v3", "v2"])
def test_what_pi_wrote_comes_back_value_for_value(name: str) -> None:
    header, *entries = (SESSIONS / f"{name}.jsonl").read_bytes().splitlines()

    assert same_value(encode_header(decode_header(header)), header)
    assert [line for line in entries if not same_value(again(line), line)] == []


# what is no entry

ENVELOPE = '"type":"custom","id":"a","parentId":null,"timestamp":"t","customType":"x"'
DEPTH = 30_000
NO_ENTRY: dict[str, bytes] = {
    "empty": b"",
    "blank": b"  \t ",
    "NULs": b"\0" * 40,
    "NULs before": b"\0\0" + line_of(""),
    "NULs behind": line_of("") + b"\0\0",
    "byte order mark": b"\xef\xbb\xbf" + line_of(""),
    "UTF-16": line_of("").decode().encode("utf-16"),
    "null": b"null",
    "number": b"5",
    "text": b'"text"',
    "array": b"[" + line_of("") + b"]",
    "empty object": b"{}",
    "no type": b'{"id":"a","parentId":null,"timestamp":"t"}',
    "no id": b'{"type":"custom","parentId":null,"timestamp":"t","customType":"x"}',
    "numeric id": line_of("").replace(b'"id":"a"', b'"id":5'),
    "null id": line_of("").replace(b'"id":"a"', b'"id":null'),
    "array id": line_of("").replace(b'"id":"a"', b'"id":["a"]'),
    "numeric parent": line_of(',"parentId":5'),
    "numeric type": line_of(',"type":5'),
    "cut": line_of(',"data":"abc"')[:-5],
    "cut in an escape": line_of(',"data":"abc\\u00')[:-1],
    "glued": line_of("") * 2,
    "one brace more": line_of("}"),
    "not a number": line_of(',"data":NaN'),
    "infinite": line_of(',"data":-Infinity'),
    "surrogate and not a number": line_of(',"data":"\\ud800","zeta":NaN'),
    "leading zero": line_of(',"data":01'),
    "control character": line_of(',"data":"\x01"'),
    "surrogate in the id": line_of(',"id":"\\ud800"'),
    "invalid UTF-8 in the id": line_of("").replace(b'"a"', b'"\xff"'),
    "single quotes": line_of("").replace(b'"', b"'"),
    "deep and not closed": line_of(f',"data":{"[" * DEPTH}{"]" * (DEPTH - 1)}'),
    "deep and closed otherwise": line_of(f',"data":{"[" * DEPTH}}}{"]" * (DEPTH - 1)}'),
    "deep and cut": line_of(f',"data":{"[" * DEPTH}')[:-1],
    "nothing but brackets": b"[" * DEPTH,
    "nothing but braces": b'{"a":' * DEPTH,
}
STRANGE: dict[str, bytes] = {
    "later kind": line_of("", "later"),
    "later kind with a CR": line_of("", "later") + b"\r",
    "later kind with blanks": b" \t" + line_of("", "later") + b"  ",
    "later kind with a surrogate": line_of(',"data":"\\ud800"', "later"),
    "second header": b'{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}',
    "no payload": line_of("", "message"),
    "payload of another type": line_of(',"message":5', "message"),
    "later role": line_of(',"message":{"role":"critic","content":"x","timestamp":1}', "message"),
    "no role": line_of(',"message":{"content":"x","timestamp":1}', "message"),
    "no target": line_of("", "label"),
    "deep array": line_of(f',"data":{"[" * DEPTH}{"]" * DEPTH}'),
    "deep object": line_of(',"data":' + '{"a":' * DEPTH + "1" + "}" * DEPTH),
    "deep unknown": line_of(f',"zeta":{"[" * DEPTH}{"]" * DEPTH}'),
    "deep and surrogate": line_of(f',"data":"\\ud800","zeta":{"[" * DEPTH}{"]" * DEPTH}'),
}
"""An envelope, and nothing that we have a type for."""
BENT: dict[str, bytes] = {
    "no parent": b'{"type":"custom","id":"a","timestamp":"t","customType":"x"}',
    "no time": b'{"type":"custom","id":"a","parentId":null,"customType":"x"}',
    "object for a time": line_of(',"timestamp":{}'),
    "number for a time": line_of(',"timestamp":1732000000000'),
    "fraction for an integer": line_of(',"message":{"role":"user","content":"x","timestamp":1732.0}', "message"),
    "no content": line_of(',"message":{"role":"user","content":null,"timestamp":1}', "message"),
    "number for a text": line_of("").replace(b'"x"', b"5"),
    "huge float": line_of(',"data":1e400'),
    "huge integer": line_of(f',"data":{"1" * 5000}'),
    "lone surrogate": line_of(',"data":"\\ud800"'),
    "lone low surrogate": line_of(',"data":"a\\uDC00b"'),
    "surrogates the wrong way round": line_of(',"data":"\\udc00\\ud800"'),
    "lone surrogate in a key": line_of(',"\\ud800":1'),
    "lone surrogate in an unknown field": line_of(',"zeta":["\\ud83d"]'),
    "invalid UTF-8": line_of(',"data":"?"').replace(b"?", b"\xff"),
    "cut character": line_of(',"data":"?"').replace(b"?", b"\xf0\x9f\x98"),
    "surrogate as UTF-8": line_of(',"data":"?"').replace(b"?", b"\xed\xa0\x80"),
    "invalid UTF-8 in a key": line_of(',"?":1').replace(b"?", b"\xff"),
    "a foreign field called as ours": line_of(',"~line":"x"'),
    "a foreign field that tells another line": line_of(',"~line":"{}"').replace(
        b"{}", line_of("").replace(b'"', b'\\"')
    ),
}
"""What Pi shows all the same."""


@pytest.mark.parametrize("name", NO_ENTRY)
def test_what_has_no_envelope_is_no_entry(name: str) -> None:
    for read in (decode_entry, decode_envelope):
        with pytest.raises(NotAnEntry) as caught:
            read(NO_ENTRY[name])
        assert caught.value.line == NO_ENTRY[name]
        assert caught.value.why


@pytest.mark.parametrize("name", STRANGE)
def test_a_good_envelope_is_an_entry_whatever_it_holds(name: str) -> None:
    line = STRANGE[name]

    entry = decode_entry(line)

    assert isinstance(entry, Unknown)
    assert (entry.id, entry.parent_id) == ("s" if entry.type == "session" else "a", None)
    assert encode_entry(entry) == line


@pytest.mark.parametrize("name", BENT)
def test_a_payload_that_does_not_fit_is_bent_and_written_as_it_came(name: str) -> None:
    """Such an entry used to be an `Unknown`, and the model lost what Pi shows (S1)."""
    line = BENT[name]

    entry = decode_entry(line)

    assert kind_of(entry) == ("message" if b'"message"' in line else "custom")
    assert not isinstance(entry, Unknown)
    assert (entry.id, entry.parent_id) == ("a", None)
    assert encode_entry(entry) == line
    event = EntryAppended(entry_id=entry.id, kind=kind_of(entry), entry=entry)
    assert decode_event(encode_event(event)) == event


@pytest.mark.parametrize("name", [*BENT, *STRANGE])
def test_what_is_read_is_the_same_however_deep_the_caller_stands(name: str) -> None:
    line = BENT.get(name) or STRANGE[name]

    assert at_depth(700, lambda: decode_entry(line)) == decode_entry(line)
    assert at_depth(700, lambda: decode_envelope(line)) == decode_envelope(line)


def at_depth(frames: int, act: Callable[[], T]) -> T:
    return act() if frames == 0 else at_depth(frames - 1, act)


@pytest.mark.parametrize("more", ["", ',"zeta":1', ',"zeta":"\\ud800"'])
@pytest.mark.parametrize("depth", [100, 400, DEEPEST - 1, DEEPEST, DEEPEST + 1, 900, 5000])
def test_a_deep_line_has_its_type_up_to_a_limit_and_its_envelope_beyond(depth: int, more: str) -> None:
    """What could be read used to depend on how much of the stack was left."""
    line = line_of(f',"data":{"[" * (depth - 1)}{"]" * (depth - 1)}{more}')
    near, far = decode_entry(line), at_depth(700, lambda: decode_entry(line))

    assert isinstance(near, Custom if depth <= DEEPEST else Unknown)
    assert type(near) is type(far)
    assert (near.id, near.timestamp, far.id, far.timestamp) == ("a", "t", "a", "t")
    assert encode_entry(near) == line
    if isinstance(near, Custom) and isinstance(far, Custom):
        assert near.extra == far.extra


def test_what_could_not_be_read_with_its_type_again_is_not_written() -> None:
    assert isinstance(decode_entry(encode_entry(custom(nested(DEEPEST - 1)))), Custom)
    with pytest.raises(Unencodable, match="nested deeper than 500 levels"):
        encode_entry(custom(nested(DEEPEST)))


def test_a_change_is_laid_over_what_the_line_said() -> None:
    line = line_of(',"zeta":[1.50],"message":{"role":"user","content":"x","timestamp":"1732","note":1e400}', "message")
    entry = decode_entry(line)
    assert isinstance(entry, MessageEntry)

    moved = encode_entry(msgspec.structs.replace(entry, parent_id=EntryId("p")))
    said = encode_entry(msgspec.structs.replace(entry, message=user("y")))

    assert json.loads(moved) == {**json.loads(line), "parentId": "p", "message": {**MESSAGE_OF_IT, "note": None}}
    assert json.loads(said)["message"] == {
        **json.loads(encode_entry(message_entry("a", user("y"))))["message"],
        "note": None,
    }
    assert decode_entry(moved).parent_id == "p"


MESSAGE_OF_IT = {"role": "user", "content": "x", "timestamp": "1732"}


def test_a_change_that_json_cannot_carry_is_refused_there_too() -> None:
    entry = decode_entry(BENT["no content"])

    with pytest.raises(Unencodable):
        encode_entry(msgspec.structs.replace(entry, message=user("\ud800")))


@pytest.mark.parametrize("said", ["no JSON", "\u1234", "{}", 5])
def test_an_extra_of_that_name_that_no_reading_gave_is_a_field(said: Json) -> None:
    entry = msgspec.structs.replace(custom(), extra={"~line": said})

    assert json.loads(encode_entry(entry))["~line"] == said


NO_HEADER = {**NO_ENTRY, **STRANGE, **BENT}
del NO_HEADER["second header"]


@pytest.mark.parametrize("line", NO_HEADER.values(), ids=NO_HEADER)
def test_a_bad_header_is_no_header(line: bytes) -> None:
    with pytest.raises(NotAnEntry, match="no session header: ") as caught:
        decode_header(line)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"s","timestamp":"t"}',  # this used to be taken for a header
        b'{"type":"custom","id":"s","timestamp":"t"}',
        b'{"type":"label","id":"s","parentId":null,"timestamp":"t","targetId":"a"}',
        b'{"type":"session","id":5,"timestamp":"t"}',
        b'{"type":"session","id":null,"timestamp":"t"}',
        b'{"type":"session","timestamp":"t"}',
        b'{"type":["session"],"id":"s"}',
    ],
)
def test_a_header_says_that_it_is_one_and_has_an_id(line: bytes) -> None:
    with pytest.raises(NotAnEntry, match="no session header: "):
        decode_header(line)


ODD_HEADERS: list[tuple[str, Header]] = [
    ("", Header(id=SessionId("s"), timestamp="")),
    (',"timestamp":1767225600000', Header(id=SessionId("s"), timestamp=TIME)),
    (',"timestamp":null', Header(id=SessionId("s"), timestamp="")),
    (',"timestamp":"t","cwd":null', Header(id=SessionId("s"), timestamp="t")),
    (',"timestamp":"t","cwd":["/"]', Header(id=SessionId("s"), timestamp="t")),
    (',"timestamp":"t","cwd":"/\\ud800"', Header(id=SessionId("s"), timestamp="t", cwd="/\ufffd")),
    (',"timestamp":"t","parentSession":{}', Header(id=SessionId("s"), timestamp="t")),
    (f',"timestamp":"t","deep":{"[" * 5000}{"]" * 5000}', Header(id=SessionId("s"), timestamp="t")),
    *(
        (f',"timestamp":"t","version":{said}', Header(id=SessionId("s"), timestamp="t", version=version))
        for said, version in [
            *[("3.0", 3), ('"3"', 3), ("4.0", 4), ('"4"', 4), ("2.0", 2), ('"2"', 2), ("2.5", 2)],
            # no number: Pi's comparisons are all false then, and it migrates nothing
            *[("{}", 3), ('"three"', 3), ("[3]", 3)],
            *[("true", 1), ("false", 1), ("null", 1), ('""', 1), ("0", 1), ("-1", 1), ("-7.5", 1), ('"1"', 1)],
        ]
    ),
]


@pytest.mark.parametrize(("more", "expected"), ODD_HEADERS)
def test_a_header_is_read_as_far_as_it_can_be(more: str, expected: Header) -> None:
    """Pi opens all of these; they used to be no session."""
    line = f'{{"type":"session","id":"s"{more}}}'.encode()

    header = decode_header(line)

    assert msgspec.structs.replace(header, extra=None) == expected
    assert encode_header(header) == line
    assert at_depth(700, lambda: decode_header(line)).version == expected.version


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (b'{"type":"agent_settled","aborted":1}', r"\$\.aborted"),
        (b'{"type":"turn_start","turnIndex":0,"mood":1}', "unknown field `mood`"),
        (b'{"type":"turn_start"}', "required field `turnIndex`"),
        (b'{"type":"later"}', r"'later' - at `\$\.type`"),
        (b'{"type":"model_changed","provider":"\xff","modelId":"x"}', "UTF-8"),
        (b'{"type":"model_changed","provider":"\\ud800","modelId":"x"}', "surrogate"),
        (b"{}", "required field `type`"),
        (b"", "truncated"),
        (b"\0", "malformed"),
        (b"[" * DEPTH, "Expected `object`"),
        (b'{"type":"tool_execution_update","partialResult":' + b"[" * DEPTH, "recursion"),
    ],
)
def test_a_line_that_is_no_event_says_where(line: bytes, place: str) -> None:
    with pytest.raises(BadEvent, match=place):
        decode_event(line)


def nothing_is_lost(line: bytes) -> None:
    """The one promise for any bytes at all."""
    try:
        entry = decode_entry(line)
    except NotAnEntry:
        return
    written_again = encode_entry(entry)
    if isinstance(entry, Unknown) or "~line" in (entry.extra or {}):
        assert written_again == line
    else:
        assert same_value(written_again, line)


@given(line=st.binary(max_size=60))
def test_any_bytes_are_an_entry_or_none(line: bytes) -> None:
    nothing_is_lost(line)


@given(value=JSON)
def test_any_json_is_an_entry_or_none(value: Json) -> None:
    nothing_is_lost(json.dumps(value).encode())


SPLICES = [
    *(bytes([byte]) for byte in b'\0\xff"\\{}[],:-' + b"\n"),
    *(b"", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud800", b"\\u007e"),
    *(b"null", b"1e999", b"NaN", b'"id":5,', b'"~extra":{},', b'"type":"label",'),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A line of anybody's with a few bytes cut out, doubled or put in."""
    line = draw(lines(KnownEntry) | ENTRIES.map(encode_entry))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(line)))
        end = draw(st.integers(start, min(len(line), start + 12)))
        line = line[:start] + draw(st.sampled_from(SPLICES)) + line[draw(st.sampled_from([start, end])) :]
    return line


@pytest.mark.slow
@given(line=damaged())
def test_a_damaged_line_is_an_entry_or_none(line: bytes) -> None:
    nothing_is_lost(line)


@pytest.mark.full
@settings(max_examples=1_000)
@given(line=damaged())
def test_thousands_of_damaged_lines_are_entries_or_none(line: bytes) -> None:
    nothing_is_lost(line)


# what cannot be written


class Opaque:
    """Nothing that JSON has a form for."""


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


UNWRITABLE: dict[str, Any] = {
    "lone surrogate": "\ud800",
    "half of a pair": "😀".encode("utf-16-le", "surrogatepass")[:2].decode("utf-16-le", "surrogatepass"),
    "lone surrogate in a key": {"\ud800": 1},
    "lone surrogate in a list": [["a\udfff"]],
    "not a number": float("nan"),
    "infinite": [1.5, {"a": float("-inf")}],
    "a thing": Opaque(),
    "a thing for a key": {Opaque(): 1},
    "too deep": nested(DEPTH),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_json_cannot_carry_is_refused(name: str) -> None:
    # a NaN used to be written as null, and a thing and a depth used to raise errors of others
    with pytest.raises(Unencodable) as caught:
        encode_entry(custom(UNWRITABLE[name]))

    assert caught.value.what == "custom"
    assert str(caught.value).startswith("custom cannot be written as JSON: ")


@pytest.mark.parametrize("name", UNWRITABLE)
def test_it_is_refused_in_a_field_that_we_do_not_know_too(name: str) -> None:
    with pytest.raises(Unencodable):
        encode_entry(msgspec.structs.replace(custom(), extra={"zeta": UNWRITABLE[name]}))


@pytest.mark.parametrize("name", UNWRITABLE)
def test_an_event_of_it_is_refused_too(name: str) -> None:
    with pytest.raises(Unencodable) as caught:
        encode_event(Diagnostic(code="c", message="m", facts={"fact": UNWRITABLE[name]}))

    assert caught.value.what == "diagnostic"


@given(before=TEXTS, after=TEXTS, surrogate=st.integers(0xD800, 0xDFFF).map(chr))
def test_a_lone_surrogate_in_any_text_is_refused(before: str, after: str, surrogate: str) -> None:
    text = before + surrogate + after

    for struct in (message_entry("u1", user(text)), message_entry("a1", assistant(text)), custom({"a": [text]})):
        with pytest.raises(Unencodable):
            encode_entry(struct)
    with pytest.raises(Unencodable):
        encode_header(Header(id=SessionId("s"), timestamp=TIME, cwd=text))
    with pytest.raises(Unencodable):
        encode_event(ModelChanged(provider=text, model_id="x"))


def test_a_refusal_to_write_names_its_cause() -> None:
    with pytest.raises(Unencodable) as caught:
        encode_entry(message_entry("u1", user("\ud800")))

    assert caught.value.what == "message"
    assert isinstance(caught.value.__cause__, UnicodeEncodeError)


def arrays(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (user("hi"), None),
        ({"a": [1]}, None),
        (None, None),
        (arrays(DEEPEST - 1), None),
        (arrays(DEEPEST), "it is nested deeper than 500 levels"),
        (user("\ud800"), "surrogates not allowed"),
        ({"a": [float("inf")]}, "inf is no JSON number"),
        (object(), "unsupported"),
    ],
    ids=["message", "object", "null", "deep", "deeper", "half", "endless", "no value"],
)
def test_whether_something_can_be_kept_is_told_by_why_it_cannot(said: Json, why: str | None) -> None:
    told = why_unwritable(said)

    assert (told is None) == (why is None)
    assert why is None or why in (told or "")


@pytest.mark.parametrize("data", [None, [None, {"a": None}], "null", {"null": 0.5}])
def test_a_null_that_is_one_is_written(data: Json) -> None:
    assert decode_entry(encode_entry(custom(data))) == custom(data)


def test_an_entry_that_is_not_asked_what_it_holds_is_written_as_it_came() -> None:
    odd = Unknown(type="x", id=EntryId("a"), parent_id=None, timestamp="t", line=b"\xff\0 not even JSON")

    assert encode_entry(odd) == odd.line


def test_an_event_is_small() -> None:
    assert encode_event(AgentStart()) == b'{"type":"agent_start"}'


def test_a_known_message_is_decoded_as_one() -> None:
    entry: Entry = decode_entry(encode_entry(message_entry("u1", user("hi"), "p")))

    assert entry == MessageEntry(id=EntryId("u1"), parent_id=EntryId("p"), timestamp=TIME, message=user("hi"))


def test_ids_that_are_deep_are_no_ids() -> None:
    """Comparing them used to run out of stack, and the whole file could not be opened."""
    for name in ("id", "type", "parentId"):
        deep = b'{"type":"custom","id":"a","%s":' % name.encode() + b"[" * DEPTH + b"]" * DEPTH + b"}"
        with pytest.raises(NotAnEntry):
            decode_envelope(deep)
