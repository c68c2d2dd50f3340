"""What Pi shows is shown, whatever types its line has: each entry is of its kind, and its text is there (S1)."""

from __future__ import annotations

import json
from typing import Any, Final, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.base import Json
from sapwood.events.codec import decode_entry, encode_entry
from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall
from sapwood.events.entries import (
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    Header,
    KnownEntry,
    Label,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
    Unknown,
    UsageEntry,
)
from sapwood.events.lenient import NEUTRAL, bent, time_of, unsigned, version_of
from sapwood.events.messages import (
    AssistantMessage,
    BashExecutionMessage,
    Cost,
    CustomMessage,
    SystemMessage,
    ToolDefinition,
    ToolReference,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tests.strategies import ENTRIES, JSON

AT: Final = "2026-01-01T00:00:00.000Z"
MS: Final = 1_767_225_600_000
USAGE: Final[dict[str, Json]] = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}
COST: Final[dict[str, Json]] = {"input": 1, "output": 0.5, "cacheRead": 0, "cacheWrite": 0, "total": 1.5}
CALL: Final[dict[str, Json]] = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "p"}}
NOTHING: Final[Any] = ...
"""Takes a field away."""


def line_of(kind: str, **fields: Any) -> bytes:
    value = {"type": kind, "id": "a", "parentId": None, "timestamp": AT, **fields}
    return json.dumps({key: item for key, item in value.items() if item is not NOTHING}).encode()


def message(role: str, **fields: Any) -> bytes:
    """A message's line with good fields, but for those that the test says."""
    return line_of("message", message=message_of(role, **fields))


def message_of(role: str, **fields: Any) -> dict[str, Json]:
    value = {"role": role, **GOOD[role], "timestamp": MS, **fields}
    return {key: item for key, item in value.items() if item is not NOTHING}


GOOD: Final[dict[str, dict[str, Json]]] = {
    "system": {"content": "text"},
    "user": {"content": "text"},
    "assistant": {
        "content": [{"type": "text", "text": "text"}],
        "api": "x",
        "provider": "p",
        "model": "m",
        "usage": USAGE,
        "stopReason": "stop",
    },
    "toolResult": {
        "toolCallId": "c",
        "toolName": "read",
        "content": [{"type": "text", "text": "text"}],
        "isError": False,
    },
    "bashExecution": {"command": "ls", "output": "text", "exitCode": 0, "cancelled": False, "truncated": False},
    "custom": {"customType": "x", "content": "text", "display": True},
}
TEXT: Final = TextContent(text="text")

SYSTEM: Final = SystemMessage(content="text", timestamp=MS)
USER: Final = UserMessage(content="text", timestamp=MS)
ANSWER: Final = AssistantMessage(
    content=(TEXT,),
    api="x",
    provider="p",
    model="m",
    usage=Usage(input=1, output=2, cache_read=3, cache_write=4),
    stop_reason="stop",
    timestamp=MS,
)
RESULT: Final = ToolResultMessage(tool_call_id="c", tool_name="read", content=(TEXT,), is_error=False, timestamp=MS)  # type: ignore[arg-type]
BASH: Final = BashExecutionMessage(
    command="ls", output="text", exit_code=0, cancelled=False, truncated=False, timestamp=MS
)
CUSTOM: Final = CustomMessage(custom_type="x", content="text", display=True, timestamp=MS)
OURS: Final = {
    "system": SYSTEM,
    "user": USER,
    "assistant": ANSWER,
    "toolResult": RESULT,
    "bashExecution": BASH,
    "custom": CUSTOM,
}


ZEROS: Final = Usage(input=0, output=0, cache_read=0, cache_write=0)
EMPTY: Final[Any] = {}
NO_ITEMS: Final[Any] = []


def usage(**fields: int) -> Usage:
    return msgspec.structs.replace(ZEROS, **fields)


MESSAGES: Final[list[tuple[str, dict[str, Any], dict[str, Any]]]] = [
    # times: the message's own, the entry's, or none
    *(
        (role, {"timestamp": said}, {"timestamp": read})
        for role in GOOD
        for said, read in [(1732.0, 1732), ("1732", 1732), (1732.9, 1732), (None, MS), (NOTHING, MS), (EMPTY, MS)]
    ),
    ("user", {"timestamp": 10**30, "content": None}, {"timestamp": 10**30, "content": ()}),
    ("user", {"timestamp": "2026-01-01T00:00:01Z"}, {"timestamp": MS + 1000}),
    ("user", {"timestamp": "2026-01-01"}, {"timestamp": MS}),
    ("user", {"timestamp": "soon"}, {"timestamp": MS}),
    # content
    *((role, {"content": said}, {"content": ()}) for role in ("user", "custom") for said in (None, NOTHING, EMPTY, True)),
    *((role, {"content": said}, {"content": ()}) for role in ("assistant", "toolResult") for said in (None, "", 5, [5])),
    ("system", {"content": None}, {"content": ""}),
    ("system", {"content": NOTHING}, {"content": ""}),
    ("system", {"content": [{"text": "text"}, {"type": "later", "text": "x"}]}, {"content": (TEXT,)}),
    ("user", {"content": 5}, {"content": "5"}),
    ("user", {"content": 5.0}, {"content": "5"}),
    ("user", {"content": ["text", None, 5]}, {"content": (TEXT,)}),
    ("user", {"content": {"type": "text", "text": "text"}}, {"content": (TEXT,)}),
    ("user", {"content": [{"type": "text", "text": "text"}, CALL, {"type": "later"}]}, {"content": (TEXT,)}),
    ("user", {"content": [{"type": "text"}, {"type": "text", "text": 5}, {"type": "text", "text": {}}]},
     {"content": (TextContent(text=""), TextContent(text="5"), TextContent(text=""))}),
    ("user", {"content": [{"type": "image", "data": "AA=="}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]},
     {"content": (ImageContent(data="AA==", mime_type="image/png"),)}),
    ("toolResult", {"content": "text"}, {}),
    ("toolResult", {"content": [{"type": "thinking", "thinking": "t"}, "text"]}, {}),
    ("assistant", {"content": "text"}, {}),
    ("assistant", {"content": [{"type": "text", "text": "text", "textSignature": 5.5}]},
     {"content": (TextContent(text="text", text_signature="5.5"),)}),
    ("assistant", {"content": [{"type": "text", "text": "text", "textSignature": {}}]}, {}),
    ("assistant", {"content": ["text", {"type": "image", "data": "AA==", "mimeType": "image/png"}]}, {}),
    ("assistant", {"content": [{"type": "serverToolUse", "id": 1}, {"text": "text", "type": "text"}, {"text": "x"}]}, {}),
    ("assistant", {"content": [{"type": "thinking", "thinking": None, "redacted": 1}]},
     {"content": (ThinkingContent(thinking="", redacted=True),)}),
    ("assistant", {"content": [CALL | {"arguments": None}, CALL | {"id": None}, {"type": "toolCall", "id": "c"}]},
     {"content": (ToolCall(id="c", name="read", arguments={}),)}),  # type: ignore[arg-type]
    ("assistant", {"content": [CALL | {"arguments": '{"path":'}]},
     {"content": (ToolCall(id="c", name="read", arguments={}, arguments_error='{"path":'),)}),  # type: ignore[arg-type]
    ("assistant", {"content": [CALL | {"arguments": [1]}]},
     {"content": (ToolCall(id="c", name="read", arguments={}, arguments_error="[1]"),)}),  # type: ignore[arg-type]
    ("assistant", {"content": [CALL | {"arguments": {"n": 1.0}, "id": 5}]},
     {"content": (ToolCall(id="5", name="read", arguments={"n": 1.0}),)}),  # type: ignore[arg-type]
    # who answered
    *(("assistant", {name: said}, {name: "unknown"}) for name in ("api", "provider", "model") for said in (None, NOTHING, NO_ITEMS)),
    ("assistant", {"model": 5}, {"model": "5"}),
    # why it ended
    ("assistant", {"stopReason": "end_turn"}, {"raw_stop_reason": "end_turn"}),
    ("assistant", {"stopReason": "later", "rawStopReason": "raw"}, {"raw_stop_reason": "raw"}),
    ("assistant", {"stopReason": "later", "rawStopReason": None}, {"raw_stop_reason": "later"}),
    ("assistant", {"stopReason": None}, {}),
    ("assistant", {"stopReason": NOTHING}, {}),
    ("assistant", {"stopReason": {}}, {}),
    ("assistant", {"stopReason": "later", "content": []}, {"content": (), "stop_reason": "error", "raw_stop_reason": "later"}),
    ("assistant", {"stopReason": "later", "errorMessage": "no"},
     {"stop_reason": "error", "raw_stop_reason": "later", "error_message": "no"}),
    ("assistant", {"stopReason": "length", "content": "text"}, {"stop_reason": "length"}),
    # what it cost
    *(("assistant", {"usage": said}, {"usage": usage()}) for said in (None, NOTHING, EMPTY, "much", NO_ITEMS, {"input": None})),
    ("assistant", {"usage": {"input": "7", "output": 5.0, "cacheRead": "many", "cacheWrite": 1.5}},
     {"usage": usage(input=7, output=5)}),
    ("assistant", {"usage": {"input": 7, "totalTokens": 9.0, "reasoning": "x"}}, {"usage": usage(input=7, total_tokens=9)}),
    ("assistant", {"usage": {**USAGE, "input": 1e30}}, {"usage": usage(output=2, cache_read=3, cache_write=4)}),
    ("assistant", {"usage": {**USAGE, "output": True}}, {"usage": usage(input=1, cache_read=3, cache_write=4)}),
    *(("assistant", {"usage": {**USAGE, "cost": cost}}, {}) for cost in ({"total": 1}, 5, "1", {**COST, "total": None})),
    ("assistant", {"usage": {**USAGE, "output": 2.0, "cost": COST}},
     {"usage": Usage(input=1, output=2, cache_read=3, cache_write=4,
                     cost=Cost(input=1, output=0.5, cache_read=0, cache_write=0, total=1.5))}),
    # the rest
    ("assistant", {"durationMs": "long", "endTurn": "x", "deferred": {"id": 1}, "diagnostics": {"a": 1.0}},
     {"diagnostics": {"a": 1.0}}),
    ("toolResult", {"toolCallId": None, "toolName": NOTHING, "isError": None}, {"tool_call_id": "", "tool_name": "unknown"}),
    ("toolResult", {"isError": 1}, {"is_error": True}),
    ("toolResult", {"isError": 0, "toolCallId": 7}, {"tool_call_id": "7"}),
    ("toolResult", {"usage": {"input": 1}, "useless": "x"}, {"usage": usage(input=1)}),
    ("bashExecution", {"exitCode": "1", "cancelled": None, "truncated": NOTHING}, {"exit_code": 1}),
    ("bashExecution", {"exitCode": ""}, {"exit_code": None}),
    ("bashExecution", {"command": None, "output": NOTHING, "exitCode": 1.5},
     {"command": "", "output": "", "exit_code": None}),
    ("custom", {"customType": None, "display": NOTHING}, {"custom_type": "unknown", "display": False}),
    ("system", {"sections": {"a": "x", "b": None, "c": [], "d": 5}}, {"sections": {"a": "x", "b": None, "d": "5"}}),
    ("system", {"toolsAdded": [{"name": "t"}, {"description": "x"}], "toolsRemoved": [{"name": 5}, "x"]},
     {"tools_added": (ToolDefinition(name="t", description="", parameters={}),), "tools_removed": (ToolReference(name="5"),)}),
    ("system", {"sections": 5, "content": [{"type": "text", "text": "text"}, {"type": "image"}]}, {"content": (TEXT,)}),
]  # fmt: skip


@pytest.mark.parametrize(("role", "said", "read"), MESSAGES, ids=lambda one: str(one)[:60])
def test_a_message_is_read_as_far_as_it_can_be(role: str, said: dict[str, Any], read: dict[str, Any]) -> None:
    """Each of these used to be an `Unknown`, which no model sees."""
    line = message(role, **said)

    entry = decode_entry(line)

    assert isinstance(entry, MessageEntry)
    assert entry.message == msgspec.structs.replace(OURS[role], **read)
    assert (entry.id, entry.parent_id, entry.timestamp) == ("a", None, AT)
    assert encode_entry(entry) == line


def node(kind: Any, /, **fields: Any) -> Any:
    return kind(**{"id": "a", "parent_id": None, "timestamp": AT, **fields})


SUMMARY: Final = {"summary": "text", "firstKeptEntryId": "k", "tokensBefore": 7}
KEPT: Final = {"summary": "text", "first_kept_entry_id": "k", "tokens_before": 7}
ENTRY_TABLE: Final[list[tuple[bytes, KnownEntry]]] = [
    *(
        (
            line_of("label", targetId="k", label="x", **{name: said}),
            node(Label, target_id="k", label="x", **{ours: read}),
        )
        for name, ours, said, read in [
            ("parentId", "parent_id", NOTHING, None),
            ("timestamp", "timestamp", NOTHING, ""),
            ("timestamp", "timestamp", None, ""),
            ("timestamp", "timestamp", EMPTY, ""),
            ("timestamp", "timestamp", MS, AT),
            ("timestamp", "timestamp", MS + 7.5, "2026-01-01T00:00:00.007Z"),
        ]
    ),
    (line_of("label", targetId=5, label=7), node(Label, target_id="5", label="7")),
    (line_of("label", targetId="k", label={}), node(Label, target_id="k")),
    (line_of("session_info", name=["x"]), node(SessionInfo)),
    (line_of("session_info", name=5), node(SessionInfo, name="5")),
    (line_of("custom", customType=5, data={"a": 1.0}), node(Custom, custom_type="5", data={"a": 1.0})),
    (line_of("model_change", provider="p", modelId=4), node(ModelChange, provider="p", model_id="4")),
    (line_of("thinking_level_change", thinkingLevel=2), node(ThinkingLevelChange, thinking_level="2")),
    (
        line_of("usage", provider=None, usage={"input": 1.0}),
        node(UsageEntry, kind="unknown", provider="unknown", model="unknown", usage=usage(input=1)),
    ),
    (line_of("compaction", **SUMMARY | {"tokensBefore": 7.0}), node(Compaction, **KEPT)),
    (line_of("compaction", **SUMMARY | {"tokensBefore": None}), node(Compaction, **KEPT | {"tokens_before": 0})),
    (line_of("compaction", **SUMMARY | {"summary": 5}), node(Compaction, **KEPT | {"summary": "5"})),
    (
        line_of("compaction", **SUMMARY | {"firstKeptEntryId": None}),
        node(Compaction, **KEPT | {"first_kept_entry_id": "a"}),
    ),
    (
        line_of("compaction", **SUMMARY | {"firstKeptEntryId": 5}),
        node(Compaction, **KEPT | {"first_kept_entry_id": "a"}),
    ),
    (
        line_of("compaction", **SUMMARY, usage=5, systemMessage={"role": "system"}, fromHook="x", details={"n": 1.0}),
        node(Compaction, **KEPT, system_message=SystemMessage(content="", timestamp=0), details={"n": 1.0}),
    ),
    (line_of("branch_summary", summary="text", fromId=None), node(BranchSummary, summary="text", from_id="root")),
    (
        line_of("custom_message", customType="x", content=None, display=True),
        node(CustomMessageEntry, custom_type="x", content=(), display=True),
    ),
    (
        line_of("custom_message", content="text"),
        node(CustomMessageEntry, custom_type="unknown", content="text", display=False),
    ),
    (
        line_of("context_edit", targetId="k", replacement={"content": ["text", {"type": "later"}]}),
        node(ContextEdit, target_id="k", replacement={"content": (TEXT,)}),
    ),
]


@pytest.mark.parametrize(("line", "expected"), ENTRY_TABLE, ids=lambda one: str(one)[:70])
def test_an_entry_is_read_as_far_as_it_can_be(line: bytes, expected: KnownEntry) -> None:
    entry = decode_entry(line)

    assert not isinstance(entry, Unknown)
    assert msgspec.to_builtins(msgspec.structs.replace(entry, extra=None)) == msgspec.to_builtins(expected)
    assert type(entry) is type(expected)
    assert encode_entry(entry) == line


@pytest.mark.parametrize(
    "line",
    [
        line_of("label", label="x"),
        line_of("label", targetId=None),
        line_of("model_change", provider="p"),
        line_of("compaction", **SUMMARY | {"summary": None}),
        line_of("compaction", **SUMMARY | {"summary": NOTHING}),
        line_of("branch_summary", fromId="k", summary={}),
        line_of("custom", customType=None),
        line_of("context_edit", targetId="k"),
        line_of("context_edit", targetId="k", replacement={}),
        line_of("context_edit", targetId="k", replacement={"content": None}),
        line_of("message", message=None),
        line_of("message", message={"role": "user2", "content": "text"}),
    ],
)
def test_what_would_say_something_else_without_its_payload_is_unknown(line: bytes) -> None:
    assert isinstance(decode_entry(line), Unknown)


def test_the_time_of_a_message_is_none_if_nothing_tells_it() -> None:
    entry = decode_entry(line_of("message", timestamp="soon", message=message_of("user", timestamp=None)))

    assert isinstance(entry, MessageEntry)
    assert entry.message.timestamp == 0


def test_unknown_fields_are_in_extra_all_the_same() -> None:
    entry = decode_entry(line_of("message", zeta=[1], message=message_of("user", timestamp=1.0, mood="calm")))

    assert isinstance(entry, MessageEntry)
    assert entry.extra is not None
    assert entry.extra["zeta"] == [1]
    assert entry.extra["message"] == {"mood": "calm"}


SIGNED: Final = [
    {"type": "thinking", "thinking": "a?", "thinkingSignature": "s"},
    {"type": "thinking", "thinking": "b", "thinkingSignature": "s"},
    {"type": "text", "text": "c?", "textSignature": "s"},
    {"type": "toolCall", "id": "1", "name": "n", "arguments": {"deep": [{"?": 1}]}, "thoughtSignature": "s"},
    {"type": "toolCall", "id": "2", "name": "n", "arguments": {"deep": [{"d": "\ufffd"}]}, "thoughtSignature": "s"},
]


@pytest.mark.parametrize("spoilt", [b"\\ud800", b"\xff"])
def test_a_signed_block_that_is_not_as_it_came_has_no_signature(spoilt: bytes) -> None:
    line = message("assistant", content=SIGNED).replace(b"?", spoilt)

    entry = decode_entry(line)

    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, AssistantMessage)
    signatures = [
        getattr(block, name)
        for block, name in zip(
            entry.message.content,
            ["thinking_signature", "thinking_signature", "text_signature", "thought_signature", "thought_signature"],
            strict=True,
        )
    ]
    assert signatures == [None, "s", None, None, "s"]
    assert isinstance(entry.message.content[0], ThinkingContent)
    assert entry.message.content[0].thinking == "a\ufffd"
    assert encode_entry(entry) == line


def test_an_entry_without_blocks_has_nothing_signed() -> None:
    for value in (5, None, {}, {"message": 5}, {"message": {"content": "x"}}, {"content": [5]}):
        assert unsigned(value, value) == value


@pytest.mark.parametrize("odd", [b"\\ud800", b"\xff"])
def test_a_text_that_cannot_be_written_is_read_with_a_replacement(odd: bytes) -> None:
    for role, ours in OURS.items():
        line = message(role).replace(b'text"', b"te" + odd + b'xt"')
        line = line.replace(b'"te' + odd + b'xt":', b'"text":').replace(
            b'"type": "te' + odd + b'xt"', b'"type": "text"'
        )
        entry = decode_entry(line)
        assert isinstance(entry, MessageEntry), role
        assert "te\ufffdxt" in json.dumps(msgspec.to_builtins(entry.message), ensure_ascii=False)
        assert type(entry.message) is type(ours)
        assert encode_entry(entry) == line


@pytest.mark.parametrize(
    ("said", "time"),
    [
        *[("soon", "soon"), (0, "1970-01-01T00:00:00.000Z"), (MS + 1, "2026-01-01T00:00:00.001Z")],
        *[(None, ""), (True, ""), ([], ""), (1e300, ""), (-1, "1969-12-31T23:59:59.999Z")],
    ],
)
def test_a_time_is_a_text(said: Json, time: str) -> None:
    assert time_of(said) == time


@pytest.mark.parametrize(
    ("said", "version"), [(10**400, 3), ("1" * 5000, 3), (1e300, int(1e300)), ("1_0", 3), ("inf", 3)]
)
def test_a_version_that_is_no_number_is_the_present_one(said: Json, version: int) -> None:
    assert version_of(said) == version


@given(entry=ENTRIES)
def test_what_fits_stays_as_it_is(entry: KnownEntry) -> None:
    value = json.loads(msgspec.json.encode(entry))
    if isinstance(entry, MessageEntry | UsageEntry | Compaction | BranchSummary):
        return  # numbers beyond 64 bits and fractions are looked at below
    assert msgspec.convert(bent(value, KnownEntry), KnownEntry) == msgspec.convert(value, KnownEntry)


@given(value=JSON, kind=st.sampled_from([KnownEntry, Header, Usage, tuple[Usage, ...], str | None, int | float]))
def test_whatever_the_value_it_is_bent_or_left(value: Json, kind: Any) -> None:
    bent(value, kind)


def test_what_stands_for_a_field_is_of_its_type() -> None:
    for struct, fields in NEUTRAL.items():
        value = bent({struct.__struct_config__.tag_field or "_": struct.__struct_config__.tag}, struct)
        known = {field.encode_name: field for field in msgspec.structs.fields(struct)}
        assert set(fields) <= set(known), struct
        assert all(known[name].required for name in fields), struct
        assert value is not None


def test_every_role_and_kind_has_a_row() -> None:
    kinds = {json.loads(line)["type"] for line, _ in ENTRY_TABLE} | {"message"}
    assert kinds == {kind.__struct_config__.tag for kind in get_args(KnownEntry)}
    assert {role for role, _, _ in MESSAGES} == set(GOOD)
