"""What comes from outside is the same when it comes off a tape."""

from __future__ import annotations

import msgspec
import pytest

from sapwood import ToolResult
from sapwood.actors.foreign import words_of
from sapwood.actors.kernel.testing import InjectedCrash
from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.actors.tools.results import of_returned
from sapwood.events.base import Json
from sapwood.events.content import ImageContent
from sapwood.events.deltas import TextDelta, TextStart
from sapwood.events.errors import ProviderError
from sapwood.events.hooks import Block, ChangeHeaders
from sapwood.events.messages import Usage
from sapwood.recording.values import (
    answer_in,
    answer_out,
    disk_in,
    disk_out,
    error_in,
    error_out,
    piece_in,
    piece_out,
    result_in,
    result_out,
)
from sapwood.store.disk import Status

BILLED = Usage(input=1, output=2, cache_read=0, cache_write=0)


def through(value: Json) -> Json:
    return msgspec.json.decode(msgspec.json.encode(value))


@pytest.mark.parametrize(
    "piece",
    [
        None,
        TextStart(content_index=0),
        TextDelta(content_index=0, delta="ä"),
        Finish(stop_reason="stop", usage=BILLED),
    ],
)
def test_a_piece_is_the_same(piece: Piece | None) -> None:
    assert piece_in(through(piece_out(piece))) == piece


@pytest.mark.parametrize(
    "value",
    [
        "text",
        None,
        {"any": ["json", 1.5]},
        ["two", ImageContent(data="aGk=", mime_type="image/png")],
        ToolResult(content="x", details={"n": 1}, is_error=True, terminate=True, useless=True),
        object(),
    ],
)
def test_what_a_tool_returned_comes_to_the_same_result(value: object) -> None:
    assert of_returned(result_in(through(result_out(value)))) == of_returned(value)


def test_what_a_handler_answered_is_the_same_and_what_is_no_answer_is_of_its_kind() -> None:
    assert answer_in(through(answer_out(Block(reason="no")))) == Block(reason="no")
    assert answer_in(through(answer_out(None))) is None
    headers = ChangeHeaders(headers={"x-key": "sk-1 of mine", "x-old": None, "x-broken": "sk-1\nsk-2"})
    assert answer_in(through(answer_out(headers))) == ChangeHeaders(
        headers={"x-key": "[key]", "x-old": None, "x-broken": "[key]\n[key]"}
    )
    assert type(answer_in(through(answer_out({1, 2})))).__name__ == "set"


@pytest.mark.parametrize("value", [b"\x00\xff", Status(1, 2, 3), 7, "path", True, None])
def test_what_the_disk_gave_is_the_same(value: object) -> None:
    assert disk_in(through(disk_out(value))) == value


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("slow down", kind="rate_limit", status=429, retry_after_ms=1500),
        OSError(28, "No space left on device"),
        KeyError("n"),
        ValueError(),
        InjectedCrash("agent"),
        ExceptionGroup("several", [ValueError("one")]),
    ],
)
def test_what_was_raised_says_the_same(error: Exception) -> None:
    again = error_in(through(error_out(error)))

    assert words_of(again, ProviderError) == words_of(error, ProviderError)
    if isinstance(error, ProviderError):
        assert isinstance(again, ProviderError)
        assert (again.kind, again.status, again.retry_after_ms) == ("rate_limit", 429, 1500)
