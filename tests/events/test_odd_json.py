"""What our decoder refuses and JavaScript reads, at any depth and from any depth."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.base import Json
from sapwood.events.odd_json import DEEPEST, SPOILT, is_deep, parts_of, read_odd, read_strictly, strings_in
from tests.strategies import JSON, written

T = TypeVar("T")
DEPTH = 100_000


def at_depth(frames: int, act: Callable[[], T]) -> T:
    return act() if frames == 0 else at_depth(frames - 1, act)


def wrapped(text: bytes, depth: int = 600) -> bytes:
    """The same text so deep that our decoder will not do."""
    return b"[" * depth + text + b"]" * depth


def unwrapped(value: Json, depth: int = 600) -> Json:
    for _ in range(depth):
        (value,) = value
    return value


ODD: list[tuple[bytes, Json]] = [
    (rb'"\ud800"', "\ufffd"),
    (rb'"a\uDC00b"', "a\ufffdb"),
    (rb'"\udc00\ud800"', "\ufffd\ufffd"),
    (rb'"\ud800\ud83d\ude00"', "\ufffd😀"),
    (rb'"\ud83d\u0041"', "\ufffdA"),
    (rb'"\\ud800"', r"\ud800"),
    (rb'"\\\ud800"', "\\\ufffd"),
    (rb'"\\\\ud800"', r"\\ud800"),
    (rb'"\ud83d\\ude00"', "\ufffd\\ude00"),
    (rb'"\ud83d\ude00\ude00\ud83d\ud83d\ude00"', "😀\ufffd\ufffd😀"),
    (rb'"\ud83d\uDE00\n\ud83d\n\uDE00"', "😀\n\ufffd\n\ufffd"),
    (rb'{"\ud800":1}', {"\ufffd": 1}),
    (b'"\xff"', "\ufffd"),
    (b'"\xf0\x9f\x98"', "\ufffd"),
    (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
    (b'{"\xff":["\xfe"]}', {"\ufffd": ["\ufffd"]}),
    (b"1e400", None),
    (b"[-1e999,2]", [None, 2]),
    (b"1" * 5000, None),
    (b"1" * 30, int("1" * 30)),
    (b'{"a":1,"b":2,"a":3}', {"a": 3, "b": 2}),
    (b' {\t"a" : [ ] ,\r"b":{ } , "c":[ {"d":null},true,false,-1.5e2,"x" ]}\n', None),
]
ODD[-1] = (ODD[-1][0], {"a": [], "b": {}, "c": [{"d": None}, True, False, -150.0, "x"]})


@pytest.mark.parametrize(("text", "value"), ODD, ids=lambda one: str(one)[:30])
def test_what_javascript_reads_is_read(text: bytes, value: Json) -> None:
    assert read_odd(text) == value
    assert unwrapped(read_odd(wrapped(text))) == value
    assert at_depth(900, lambda: read_odd(text)) == value


NO_JSON = [
    *(b"", b"  ", b"[1,]", b"[,1]", b"[1 2]", b'{"a"}', b'{"a":}', b'{"a":1,}', b"{,}", b"{1:2}", b'{"a":1:2}', b"[}"),
    *(
        b"]",
        b"}",
        b",",
        b":",
        b'{"a":1]',
        b"[1}",
        b"[1]]",
        b"{}}",
        b"1 2",
        b"1,2",
        b'"a" "b"',
        b"01",
        b"1.",
        b"-",
        b"+1",
    ),
    *(
        b"NaN",
        b"Infinity",
        b"tru",
        b"nul",
        b"True",
        b".5",
        b"0x1",
        b"\0",
        b'"a',
        b"'a'",
        b'"\x01"',
        b'"\\x"',
        b'"\\u12"',
    ),
    *(
        b"\xef\xbb\xbf1",
        b"\xff",
        b"{",
        b"[",
        b'{"a":',
        b'{"a":1',
        b"[1",
        "1\u2028".encode(),
        b"[1\x0b]",
        "\u0661".encode(),
    ),
    *(b"1e999null", b"1e999x", b"01e999", b"1e999-", b"9e999.5", b"1e999..", b"1e999true", b"-1e", b"1e9999.0"),
]


def is_refused(reader: Callable[[bytes], Json], text: bytes) -> bool:
    try:
        reader(text)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("text", NO_JSON)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    for one in (text, wrapped(b'{"a":' + text + b"}")):
        assert is_refused(read_odd, one)
        assert is_refused(read_strictly, one)


@given(data=st.data(), value=JSON)
def test_without_recursion_it_is_read_as_our_decoder_reads_it(data: st.DataObject, value: Json) -> None:
    text = data.draw(written(value))

    expected = json.dumps(msgspec.json.decode(text))
    assert json.dumps(read_odd(text)) == json.dumps(read_strictly(text)) == expected
    assert json.dumps(unwrapped(read_odd(wrapped(text)))) == expected


@pytest.mark.parametrize("text", [rb'"\ud800"', b'"\xff"', b"1e400", b"1" * 5000])
def test_read_strictly_it_is_refused_as_our_decoder_does(text: bytes) -> None:
    assert is_refused(read_strictly, text)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_any_depth_is_read(opening: bytes, closing: bytes) -> None:
    value: Json = read_odd(opening * DEPTH + b"1" + closing * DEPTH)

    for _ in range(DEPTH):
        value = value[0] if opening == b"[" else value["a"]
    assert value == 1
    with pytest.raises(ValueError, match="it ends where"):
        read_odd(opening * DEPTH + b"1" + closing * (DEPTH - 1))


def test_what_was_not_as_it_came_shows() -> None:
    for text, spoilt in [(rb'"a\ud800"', "a\ufffe"), (b'"a\xff"', "a\ufffe"), ('"a\ufffd"'.encode(), "a\ufffd")]:
        assert read_odd(text, SPOILT) == spoilt


@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_is_by_the_line_alone(pair: tuple[bytes, bytes]) -> None:
    opening, closing = pair
    for depth in (1, DEEPEST - 1, DEEPEST, DEEPEST + 1, DEPTH):
        line = opening * depth + b"1" + closing * depth
        assert is_deep(line) == (depth > DEEPEST)
        assert is_deep(b"[1," + line + b"]") == (depth >= DEEPEST)


@pytest.mark.parametrize(
    "line",
    [
        b"[" + b",".join([b"[1]"] * 2000) + b"]",
        b'{"a":"' + b"[" * 2000 + b'"}',
        b'{"a":"\\"' + b"{" * 2000 + b'"}',
        b'{"a":"\\\\","b":"' + b"[" * 2000 + b'"}',
        b'[{"' + b"[" * 2000 + b'":1}]',
    ],
)
def test_many_brackets_are_not_deep(line: bytes) -> None:
    assert json.loads(line)
    assert not is_deep(line)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (b"{}", {}),
        (b' { "a" : 1 , "b" :[ 1, {"c":2} ] } ', {b'"a"': b"1", b'"b"': b'[ 1, {"c":2} ]'}),
        (rb'{"a":"x,}\"y\\","b":"\ud800"}', {b'"a"': rb'"x,}\"y\\"', b'"b"': rb'"\ud800"'}),
        (rb'{"\u0061":1,"a":2}', {b'"a"': b"2"}),
        (rb'{"\ud800":1,"\ud801":2}', {rb'"\ud800"': b"1", rb'"\ud801"': b"2"}),
        (b'{"\xff":1,"\xfe":{"a":{}}}', {b'"\xff"': b"1", b'"\xfe"': b'{"a":{}}'}),
        (b'{"a":' + wrapped(b"1", DEPTH) + b',"b":-1.50}', {b'"a"': wrapped(b"1", DEPTH), b'"b"': b"-1.50"}),
    ],
    ids=lambda one: str(one)[:30],
)
def test_an_object_is_taken_apart_as_it_is_written(line: bytes, parts: dict[bytes, bytes]) -> None:
    assert parts_of(line) == parts


@given(data=st.data(), value=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), JSON))
def test_the_parts_of_an_object_have_its_values(data: st.DataObject, value: dict[str, Json]) -> None:
    parts = parts_of(data.draw(written(value)))

    assert json.dumps({json.loads(key): json.loads(part) for key, part in parts.items()}) == json.dumps(value)


def test_every_text_is_found() -> None:
    assert sorted(strings_in({"a": ["b", {"c": "d"}, 5, None, ("e",)]})) == ["a", "b", "c", "d", "e"]
    assert list(strings_in("x")) == ["x"]


ESCAPES = st.lists(
    st.sampled_from(["\\\\", r"\ud83d", r"\uDE00", r"\u0041", r"\n", "x", "ud800", r"\u005c", "漢"]), max_size=12
).map("".join)


@given(escapes=ESCAPES)
def test_halves_of_characters_are_found_among_all_escapes(escapes: str) -> None:
    told = json.loads(f'"{escapes}"')

    assert read_odd(f'"{escapes}"'.encode()) == told.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize("escape", [r"x\ud83d", r"\udE00", r"\\", r"\\\ud83d", r"\ud83d\ude00"])
def test_many_escapes_cost_what_few_do(escape: str) -> None:
    """A second a megabyte, by one call of Python's for each, and more than once for a line."""
    line = b'"' + escape.encode() * 50_000 + b'"'
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        read_odd(line)
    finally:
        sys.setprofile(None)

    assert calls < 100
