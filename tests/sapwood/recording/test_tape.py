"""The lines of a recording."""

from __future__ import annotations

import pytest

from sapwood.recording.errors import BadRecording
from sapwood.recording.tape import Opening, Thing, is_recording, parse, written

OPENING = Opening(
    sapwood="recording", version=1, header={}, lines=(), where=":memory:", read_only=False, damage=[], opened={}
)
THINGS = [Thing(kind="drawn", key="now", value=1), Thing(kind="event", seq=1, value="{}")]


def data(*things: Thing) -> bytes:
    return written(OPENING) + b"".join(map(written, things))


def test_what_is_written_is_read_again() -> None:
    assert parse("x", data(*THINGS, Thing(kind="end"))) == (OPENING, THINGS, True)
    assert is_recording(data()[:64])
    assert not is_recording(b'{"type":"session"}')


def test_a_recording_without_its_end_is_cut_and_so_is_one_within_a_line() -> None:
    assert parse("x", data(*THINGS)) == (OPENING, THINGS, False)
    assert parse("x", data(*THINGS)[:-3]) == (OPENING, THINGS[:1], False)


def test_a_line_of_no_kind_is_told_with_its_number() -> None:
    with pytest.raises(BadRecording) as caught:
        parse("x", data(*THINGS).replace(b"drawn", b"drown") + b"\n")

    assert (caught.value.path, caught.value.line) == ("x", 2)
