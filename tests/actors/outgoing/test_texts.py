"""Which texts of a message are changed, and which of it are none."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from sapwood.actors.outgoing.texts import Hiding, has_images, hidden, is_signed, with_texts
from sapwood.actors.outgoing.veil import NOTHING, Veil
from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from tests.build import assistant

OAK = "oak"
CALL = ToolCall(id=ToolCallId("oak"), name="oak", arguments={"oak": ["oak", 1]}, arguments_error="oak")
IMAGE = ImageContent(data="oak", mime_type="oak")
MESSAGES: tuple[tuple[Message, int], ...] = (
    (UserMessage(content=OAK, timestamp=1), 1),
    (UserMessage(content=(TextContent(text=OAK), IMAGE, TextContent(text=OAK)), timestamp=1), 2),
    (CustomMessage(custom_type=OAK, content=OAK, display=True, details={"a": OAK}, timestamp=1), 1),
    (assistant(OAK, ThinkingContent(thinking=OAK), CALL, error=OAK, stop="error"), 5),
    (
        ToolResultMessage(
            tool_call_id=ToolCallId(OAK),
            tool_name=OAK,
            content=(TextContent(text=OAK), IMAGE),
            details=OAK,
            is_error=False,
            timestamp=1,
        ),
        1,
    ),
    (
        SystemMessage(
            content=(TextContent(text=OAK),),
            sections={"oak": OAK, "gone": None},
            tools_added=(ToolDefinition(name=OAK, description=OAK, parameters={"oak": OAK}),),
            timestamp=1,
        ),
        5,
    ),
    (SystemMessage(content=OAK, timestamp=1), 1),
    (
        BashExecutionMessage(
            command=OAK, output=OAK, full_output_path=OAK, cancelled=False, truncated=False, timestamp=1
        ),
        3,
    ),
    (BranchSummaryMessage(summary=OAK, from_id=EntryId(OAK), timestamp=1), 1),
    (CompactionSummaryMessage(summary=OAK, tokens_before=1, timestamp=1), 1),
)


def test_every_kind_of_message_is_looked_at() -> None:
    assert {type(message) for message, _ in MESSAGES} == set(get_args(Message))


@pytest.mark.parametrize(("message", "texts"), MESSAGES, ids=lambda value: getattr(value, "role", ""))
def test_each_text_is_changed_once_and_ids_names_and_images_are_not(message: Message, texts: int) -> None:
    seen: list[str] = []

    def change(text: str) -> str:
        seen.append(text)
        return "yew"

    changed = msgspec.json.encode(with_texts(message, change))

    assert seen == [OAK] * texts
    assert changed.count(b"yew") == texts
    assert changed.replace(b"yew", b"oak") == msgspec.json.encode(message)


@pytest.mark.parametrize("message", [message for message, _ in MESSAGES], ids=lambda value: value.role)
def test_what_does_not_change_is_the_same_object(message: Message) -> None:
    assert with_texts(message, str) is message


@pytest.mark.parametrize(
    ("block", "signed"),
    [
        (ThinkingContent(thinking=OAK, thinking_signature="s"), True),
        (ThinkingContent(thinking=OAK, redacted=True), True),
        (ThinkingContent(thinking=OAK, redacted=False), False),
        (ThinkingContent(thinking=OAK), False),
    ],
)
def test_signed_thinking_goes_as_it_is_or_not_at_all(block: ThinkingContent, *, signed: bool) -> None:
    answer = assistant(block, "said")

    changed = with_texts(answer, lambda text: text.replace(OAK, "yew"))

    assert is_signed(block) == signed
    assert isinstance(changed, AssistantMessage)
    told = (TextContent(text="said"),)
    assert changed.content == (told if signed else (ThinkingContent(thinking="yew", redacted=block.redacted), *told))
    assert with_texts(answer, lambda text: text.replace("x", "y")) is answer


def test_what_is_hidden_once_is_hidden_again_at_no_cost_until_more_is_secret() -> None:
    seen: list[str] = []

    class Watched(Veil):
        def hide(self, text: str) -> str:
            seen.append(text)
            return super().hide(text)

    def said(*texts: str) -> list[Message]:
        return [UserMessage(content=text, timestamp=1) for text in texts]

    hiding, veil, first, last = Hiding(), Watched({"yew": OAK}), said(OAK, "b"), said("c")
    assert hiding.hidden(first, NOTHING) is first
    for messages, looked_at in (
        (first, [OAK, "b"]),
        ([*first, *last], ["c"]),
        ([first[0], *last], ["c"]),
        (said(OAK), [OAK]),
    ):
        seen.clear()
        assert hiding.hidden(messages, veil) == hidden(messages, Veil({"yew": OAK}))
        assert seen == looked_at

    more = Watched({"yew": OAK, "elm": "c"})
    assert hiding.hidden(last, more) == said("elm")


def test_without_a_secret_the_messages_are_the_same() -> None:
    messages = [message for message, _ in MESSAGES]

    assert hidden(messages, NOTHING) is messages
    assert hidden(messages[:1], Veil({"yew": OAK})) == [UserMessage(content="yew", timestamp=1)]


def test_an_image_is_seen_wherever_it_stands() -> None:
    assert [has_images([message]) for message, _ in MESSAGES].count(True) == 2
    assert has_images([message for message, _ in MESSAGES])
    assert not has_images([])
