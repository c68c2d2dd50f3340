"""Patterns of bytes: a text ends at its own quote, a record begins where a key says so."""

from __future__ import annotations

import re

import pytest

from sapwood.store.patterns import BRACKET, FIELD, OBJECT, RECORD, TEXT


@pytest.mark.parametrize("text", [rb'""', rb'"a b"', rb'"\""', rb'"\\"', rb'"}{"'])
def test_a_text_ends_at_its_own_quote(text: bytes) -> None:
    found = re.match(TEXT, text + rb',"more"')

    assert found is not None
    assert found[0] == text


@pytest.mark.parametrize(
    ("bytes_", "begins"),
    [
        (b'{"type":', True),
        (b'{ "id" : ', True),
        (b'{"parentId":', True),
        (b'{"timestamp":', True),
        (b'{"x":', False),
        (b'{"id"', False),
    ],
)
def test_a_record_begins_with_one_of_its_fields(bytes_: bytes, begins: bool) -> None:
    assert (re.match(RECORD, bytes_) is not None) is begins


def test_a_field_is_read_with_its_comma_and_no_nested_one_is() -> None:
    field = FIELD.match(b' "a" : -1.5e3 , "b":2')

    assert field is not None
    assert (field[1], field[2], field.end()) == (b'"a"', b"-1.5e3", 15)
    assert FIELD.match(b'"a":{') is None
    assert OBJECT.match(b" \t{") is not None


def test_brackets_are_found_outside_of_texts_alone() -> None:
    found = [one[0] for one in BRACKET.finditer(b'{"a":"}{","b":[{"id":1}] }')]

    assert [one.strip() for one in found if not one.startswith(b'"')] == [b"{", b"[", b"{", b"}", b"]", b"}"]
