"""What the bytes of a lost record still show: its own ids, and never those of a payload."""

from __future__ import annotations

from sapwood.store.shown import shown
from tests.store.stores import line

A, B = line("a"), line("b", "a")


def test_ids_are_shown_by_leading_fields_or_by_two_side_by_side() -> None:
    assert shown(B[:-5]) == ("b", "a")
    assert shown(A[:-5]) == ("a", None)
    assert shown(B[8:]) == ("b", "a")
    assert shown(b'{"parentId":"a","n":-1.5e3,"t":true,"id":"\\u00e9\\\\"') == ("é\\", "a")
    assert shown(b'{"id":"b","data":{"id":"x","parentId":"y"') == (None, None)
    assert shown(b'{"type":"x","data":{"a":[1,"}"]},"id":"b","parentId":null') == ("b", None)
    assert shown(b'{"type":"x","data":{"id":"x","parentId":"y"},"id":"b","parentId":"a"}') == ("b", "a")
    assert shown(b'{"type":"x","data":{"id":"x","parentId":"y"') == (None, None)
    assert shown(b'}],"arguments":{"id":"b","parentId":"a"}') == (None, None)
    assert shown(b'{"id":"b","parentId":"a') == (None, None)
    assert shown(b'{"id":"b","parentId":nul') == (None, None)
    assert shown(b'{"id":7,"parentId":"a"') == (None, None)
    assert shown(b'{"id":"\xff","parentId":"a"') == (None, None)
    assert shown(b"") == (None, None)
