"""What a provider says, as far as it can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.model.assembly import Draft, answer_of
from sapwood.actors.model.checks import ENDS, LAST_INDEX, BadPiece, checked, sound, told
from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.events.codec import decode_entry, encode_entry, encode_event
from sapwood.events.content import TextContent, ToolCall
from sapwood.events.deltas import (
    Delta,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from sapwood.events.errors import shown
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import COUNTS, NO_USAGE, TOO_MUCH, Cost, Usage
from sapwood.events.models import Price
from sapwood.events.odd_json import DEEPEST
from sapwood.events.runtime import MessageUpdate
from tests.build import MODEL, MS, call, message_entry, text, usage
from tests.strategies import of

GOOD: tuple[Delta, ...] = (
    TextStart(content_index=0),
    TextDelta(content_index=LAST_INDEX, delta="a"),
    TextEnd(content_index=0, content=""),
    ThinkingStart(content_index=0),
    ThinkingDelta(content_index=1, delta="h\u00e9"),
    ThinkingEnd(content_index=1, content="h"),
    ToolCallStart(content_index=2, id=ToolCallId("a"), tool_name="read"),
    ToolCallDelta(content_index=2, delta="{"),
    ToolCallEnd(content_index=2, tool_call=call("a", path=["x", {"y": None}])),
)


class Text(str):
    """What some libraries yield as text."""

    __slots__ = ()


class Derived(TextDelta, frozen=True, kw_only=True, tag="text_delta"):
    """A host's own."""


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def odd(piece: Delta, **fields: Any) -> Delta:
    return msgspec.structs.replace(piece, **fields)


def finish(**fields: Any) -> Finish:
    given: dict[str, Any] = {"stop_reason": "stop", **fields}
    return Finish(**given)


EACH = pytest.mark.parametrize("piece", GOOD, ids=[type(piece).__name__ for piece in GOOD])


@EACH
def test_a_good_piece_passes_as_it_is(piece: Delta) -> None:
    assert checked(piece) == piece
    assert told(piece) == piece


@EACH
@pytest.mark.parametrize("at", [-1, None, "0", 0.0, True, [1], LAST_INDEX + 1, 10**5000], ids=type)
def test_a_piece_stands_at_a_whole_number_from_zero(piece: Delta, at: Any) -> None:
    seen = shown(at) if type(at) is int else type(at).__name__
    with pytest.raises(
        BadPiece, match=f"{type(piece).__name__} cannot be kept: content_index: expected .*, got {seen}"
    ):
        checked(odd(piece, content_index=at))


@pytest.mark.parametrize(
    ("piece", "field"),
    [
        (GOOD[1], "delta"),
        (GOOD[2], "content"),
        (GOOD[4], "delta"),
        (GOOD[5], "content"),
        (GOOD[6], "id"),
        (GOOD[6], "tool_name"),
        (GOOD[7], "delta"),
    ],
)
@pytest.mark.parametrize("text", [None, 5, b"a", ["a"]])
def test_what_a_piece_says_is_text(piece: Delta, field: str, text: Any) -> None:
    with pytest.raises(BadPiece, match=f"{field}: expected str, got {type(text).__name__}"):
        checked(odd(piece, **{field: text}))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (None, "Expected `object`"),
        ("read", "Expected `object`"),
        (msgspec.structs.replace(call("a"), id=None), r"Expected `str`, got `null` - at `\$\.id`"),
        (msgspec.structs.replace(call("a"), arguments=[]), r"at `\$\.arguments`"),
        (call("a", n=float("nan")), "nan is no JSON number"),
        (call("a", n=float("-inf")), "-inf is no JSON number"),
        (call("a", n=object()), "unsupported"),
        (call("a", n=nested(DEEPEST)), "nested deeper than 500 levels"),
        (call("a", n=nested(50_000)), "nested deeper than 500 levels"),
    ],
)
def test_a_tool_call_that_cannot_be_written_is_a_bad_piece(bad: Any, why: str) -> None:
    with pytest.raises(BadPiece, match=f"ToolCallEnd cannot be kept: tool_call: .*{why}"):
        checked(ToolCallEnd(content_index=0, tool_call=bad))


def test_a_tool_call_is_copied_so_that_its_provider_cannot_change_it_later() -> None:
    arguments: dict[str, Any] = {"paths": ["a"]}
    piece = checked(
        ToolCallEnd(content_index=0, tool_call=ToolCall(id=ToolCallId("a"), name="read", arguments=arguments))
    )
    arguments["paths"].append(float("nan"))

    assert piece == ToolCallEnd(content_index=0, tool_call=call("a", paths=["a"]))


def test_half_a_character_is_replaced_in_a_tool_call_however_deep_it_is() -> None:
    def deep(key: str, texts: Any) -> ToolCall:
        arguments: dict[str, Any] = {key: [{"x": texts}], "n": nested(400)}
        return ToolCall(id=ToolCallId("a"), name="read", arguments=arguments)

    piece = checked(ToolCallEnd(content_index=0, tool_call=deep("k\ud800", ("\ud83d\ude00", "\udc00"))))

    assert piece == ToolCallEnd(content_index=0, tool_call=deep("k\ufffd", ["😀", "\ufffd"]))


def test_a_call_of_the_deepest_nesting_that_an_entry_may_have_is_kept() -> None:
    depth = next(n for n in range(DEEPEST, 0, -1) if _fits(n))
    assert DEEPEST - depth < 8  # the entry, its message, the content, the call, its arguments

    _, fault = sound(finish(content=(call("a", n=nested(depth)),)), {})
    assert fault is None
    _, fault = sound(finish(content=(call("a", n=nested(depth + 1)),)), {})
    assert fault is not None


def _fits(levels: int) -> bool:
    try:
        checked(ToolCallEnd(content_index=0, tool_call=call("a", n=nested(levels))))
    except BadPiece:
        return False
    return True


@pytest.mark.parametrize("thing", [None, "text", 5, {"type": "text_delta"}, text("a"), TextDelta])
def test_what_is_no_piece_is_named(thing: object) -> None:
    with pytest.raises(BadPiece, match=f"the provider's {type(thing).__name__} cannot be kept: a provider yields"):
        checked(thing)


def test_what_a_host_derives_from_a_piece_is_checked_as_that_piece() -> None:
    assert checked(Derived(content_index=0, delta="a")) == Derived(content_index=0, delta="a")
    with pytest.raises(BadPiece, match="delta: expected str"):
        checked(Derived(content_index=0, delta=None))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("said", "heard"), [("a\ud800", "a\ufffd"), ("\ud83d\ude00", "😀"), ("漢", "漢"), (Text("a"), "a"), ("", "")]
)
def test_what_is_told_of_a_piece_can_be_written(said: str, heard: str) -> None:
    piece = told(TextDelta(content_index=0, delta=said))

    assert piece == TextDelta(content_index=0, delta=heard)
    assert encode_event(MessageUpdate(call_id="c1", assistant_message_event=piece))


def test_a_good_end_passes_as_it_is_with_its_usage_made_whole() -> None:
    end = finish(
        content=(text("a"), call("b")),
        usage=usage(7),
        response_model="m",
        response_id="r",
        duration_ms=1.5,
        error_message="e",
    )
    kept, fault = sound(end, {})

    assert fault is None
    assert msgspec.structs.replace(kept, usage=end.usage) == end
    assert kept.usage == msgspec.structs.replace(usage(7), cost=NO_USAGE.cost)
    assert sound(finish(), {}) == (Finish(stop_reason="stop"), None)


def test_usage_gets_the_sum_that_was_not_told_and_keeps_the_one_that_was() -> None:
    counts = Usage(input=1, output=20, cache_read=300, cache_write=4_000)

    assert sound(finish(usage=counts), {})[0].usage.total_tokens == 4_321
    assert sound(finish(usage=msgspec.structs.replace(counts, total_tokens=7)), {})[0].usage.total_tokens == 7


@pytest.mark.parametrize("reason", ENDS)
def test_an_answer_ends_with_each_of_its_reasons_but_pending(reason: Any) -> None:
    assert sound(finish(stop_reason=reason), {})[0].stop_reason == reason


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("pending", "pending is no end"),
        ("end_turn", "Invalid enum value 'end_turn'"),
        (None, "got `null`"),
        (["stop"], "got `array`"),
        ("\ud800", "Invalid enum value '\ufffd'"),
    ],
)
def test_another_reason_is_a_failed_answer_that_lists_them(reason: Any, why: str) -> None:
    kept, fault = sound(finish(stop_reason=reason, usage=usage(3)), {})

    assert (kept.stop_reason, kept.usage.total_tokens) == ("error", 3)
    assert kept.error_message == str(fault)
    assert why in str(fault)
    assert "(an answer ends with stop, length, toolUse, error, aborted, deferred)" in str(fault)


NAN = float("nan")
BAD: Mapping[str, list[Any]] = {
    "usage": [
        None,
        {"input": 1},
        msgspec.structs.replace(NO_USAGE, input=NAN),
        msgspec.structs.replace(NO_USAGE, output=None),
        *(msgspec.structs.replace(NO_USAGE, **{field: -1}) for field in COUNTS),
        msgspec.structs.replace(NO_USAGE, input=TOO_MUCH),
        msgspec.structs.replace(NO_USAGE, reasoning=10**5000),
        msgspec.structs.replace(NO_USAGE, cost=Cost(input=NAN, output=0, cache_read=0, cache_write=0, total=0)),
    ],
    "error_message": [5],
    "response_model": [5],
    "response_id": [["r"]],
    "duration_ms": [NAN, float("inf"), "5", True],
    "content": ["text", 5, {"type": "text", "text": "a"}],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
def test_a_bad_field_of_an_end_is_named_and_left_out_and_the_others_are_kept(field: str, value: Any) -> None:
    """One of them used to crash the call, some to keep the answer out of the log, the others to lose the text."""
    fields: dict[str, Any] = {"usage": usage(7), "response_model": "m", "response_id": "r", "duration_ms": 3}
    kept, fault = sound(finish(**fields | {field: value}), {})

    assert fault is not None
    assert [words.split(":")[0] for words in fault.faults] == [field]
    assert (kept.stop_reason, kept.error_message) == ("error", str(fault))
    for name in fields.keys() - {field, "usage"}:
        assert getattr(kept, name) == fields[name]
    assert kept.usage.total_tokens == (0 if field == "usage" else 7)


def test_more_tokens_than_there_can_be_are_a_bad_usage_that_names_its_field() -> None:
    _, fault = sound(finish(usage=msgspec.structs.replace(NO_USAGE, output=10**400)), {})

    assert fault is not None
    assert fault.faults[0].startswith(f"usage: output: expected tokens from 0 to {TOO_MUCH - 1}, got 10000")
    assert sound(finish(usage=Usage.of(input=TOO_MUCH - 1, output=TOO_MUCH - 1)), {})[1] is None


def test_what_a_provider_says_of_its_failure_stands_before_what_is_wrong_with_it() -> None:
    kept, _ = sound(finish(stop_reason="error", error_message="overloaded", duration_ms=NAN), {})

    assert (kept.error_message or "").startswith("overloaded; the provider's Finish cannot be kept: duration_ms: nan")


def test_for_a_block_that_cannot_be_kept_stands_what_streamed_at_its_place() -> None:
    content: Any = [
        text("whole"),
        TextContent(text=None),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        call("a", n=NAN),
    ]
    kept, fault = sound(finish(content=content), {0: text("who"), 1: text("hm")})

    assert kept.content == (text("whole"), text("hm"))
    assert fault is not None
    assert [words.split(":")[0] for words in fault.faults] == ["content[1]", "content[2]"]


LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=4),
    st.binary(max_size=2),
    st.builds(object),
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LEAVES, inner, max_size=3),
    max_leaves=6,
)


def either(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return good | ANYTHING


INDEX = either(st.integers(0, 2))
CALLS = st.builds(
    ToolCall,
    id=either(st.text(max_size=3)),
    name=either(st.text(max_size=3)),
    arguments=st.dictionaries(st.text(max_size=2), ANYTHING, max_size=2),
)
TOKENS = either(st.sampled_from([0, 7, -1, TOO_MUCH, 10**400]))
USAGES = st.builds(
    Usage, input=TOKENS, output=TOKENS, cache_read=TOKENS, cache_write=TOKENS, total_tokens=either(st.none())
)
WILD: st.SearchStrategy[Piece] = st.one_of(
    st.builds(TextDelta, content_index=INDEX, delta=either(st.text(max_size=3))),
    st.builds(TextEnd, content_index=INDEX, content=either(st.text(max_size=3))),
    st.builds(ThinkingDelta, content_index=INDEX, delta=either(st.text(max_size=3))),
    st.builds(ToolCallStart, content_index=INDEX, id=either(st.just("a")), tool_name=either(st.just("a"))),
    st.builds(ToolCallEnd, content_index=INDEX, tool_call=either(CALLS)),
    st.builds(
        Finish,
        stop_reason=either(st.sampled_from(ENDS)),
        content=either(st.none() | st.lists(either(CALLS), max_size=2)),
        usage=either(USAGES),
        error_message=either(st.none()),
        duration_ms=either(st.none()),
    ),
)


@pytest.mark.slow
@given(pieces=st.lists(WILD, max_size=6), price=of(Price | None))
def test_whatever_a_provider_says_its_answer_and_all_that_is_told_can_be_written_and_read_back(
    pieces: list[Piece], price: Price | None
) -> None:
    draft = Draft()
    for piece in pieces:
        heard = draft.add(piece)
        if heard is None:
            break
        assert encode_event(MessageUpdate(call_id="c1", assistant_message_event=heard))
    model = msgspec.structs.replace(MODEL, price=price)
    answer = answer_of(draft, model, started_ms=MS, stopped=False, error=None)

    entry = message_entry("e1", answer)
    assert decode_entry(encode_entry(entry)) == entry
    assert answer.stop_reason in ENDS
