"""Events come out of bytes the same, however those are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.model import sse
from sapwood.actors.model.sse import EventReader, EventTooLarge, ServerEvent


def read(*chunks: bytes) -> list[ServerEvent]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


def bare(*data: str) -> list[ServerEvent]:
    return [ServerEvent("", one) for one in data]


CASES: list[tuple[str, bytes, list[ServerEvent]]] = [
    ("one", b"data: a\n\n", bare("a")),
    ("with CRLF", b"data: a\r\n\r\ndata: b\r\n\r\n", bare("a", "b")),
    ("with CR", b"data: a\r\rdata: b\r\r", bare("a", "b")),
    ("with all of them", b"data: a\n\r\ndata: b\r\n\rdata: c\r\n\n", bare("a", "b", "c")),
    ("named", b"event: ping\ndata: {}\n\n", [ServerEvent("ping", "{}")]),
    ("a name for one event alone", b"event: a\ndata: 1\n\ndata: 2\n\n", [ServerEvent("a", "1"), ServerEvent("", "2")]),
    ("several lines", b"data: a\ndata:\ndata: b\n\n", bare("a\n\nb")),
    ("no blank behind the colon", b"data:a\ndata:  b\n\n", bare("a\n b")),
    ("a field without a colon", b"data\n\n", bare("")),
    ("comments", b": keep\n\n:\n\n: alive\ndata: a\n: x\n\n", bare("a")),
    ("no data", b"event: a\nid: 1\nretry: 5\n\n\n\n", []),
    ("unknown fields", b"datum: a\ndata: b\n Data: c\n\n", bare("b")),
    ("a BOM", b"\xef\xbb\xbfdata: a\n\n", bare("a")),
    ("a BOM at the beginning alone", b"data: a\n\n\xef\xbb\xbfdata: b\n\ndata: \xef\xbb\xbf\n\n", bare("a", "\ufeff")),
    (
        "separators that are text",
        "data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n".encode(),
        bare("a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"),
    ),
    ("characters of many bytes", "data: 漢字🌲\n\n".encode(), bare("漢字🌲")),
    ("no UTF-8", b"data: a\xffb\xe6\xbc\n\ndata: \xed\xa0\x80\n\n", bare("a\ufffdb\ufffd", "\ufffd\ufffd\ufffd")),
    ("what has not ended", b"data: a\n\ndata: b\n", bare("a")),
    ("nothing", b"", []),
]


@pytest.mark.parametrize(("stream", "events"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_events_come_out_of_bytes(stream: bytes, events: list[ServerEvent]) -> None:
    assert read(stream) == events


@pytest.mark.parametrize(("stream", "events"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_events_are_the_same_byte_by_byte_and_cut_at_any_place(stream: bytes, events: list[ServerEvent]) -> None:
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == events
    for cut in range(len(stream)):
        assert read(stream[:cut], b"", stream[cut:]) == events


@given(
    st.lists(
        st.sampled_from([b"data: a", b"data:", b"event: b", b": c", b"\n", b"\r", b"\r\n", "é".encode(), b"\xff"])
    ),
    st.data(),
)
def test_any_stream_gives_the_same_events_whatever_the_cuts(pieces: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    chunks = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert read(*chunks) == read(stream)


def test_an_event_is_told_at_the_cr_that_ends_it() -> None:
    """One used to wait for the next byte, which a server may never send."""
    reader = EventReader()

    assert reader.feed(b"data: a\r\n\r") == bare("a")
    assert reader.feed(b"\ndata: b\r\r") == bare("b")


def test_an_event_that_never_ends_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST", 20)
    reader = EventReader()

    assert [len(reader.feed(b"data: a\n\n")) for _ in range(10)] == [1] * 10
    reader.feed(b"data: " + b"a" * 14)
    with pytest.raises(EventTooLarge, match="more than 20 bytes"):
        reader.feed(b"a")


def test_comments_without_end_fill_no_memory_and_are_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST", 20)
    reader = EventReader()

    assert [reader.feed(b": ping\n\n") for _ in range(10)] == [[]] * 10
