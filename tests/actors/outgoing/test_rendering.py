"""Our kinds of message in words that any model can read."""

from __future__ import annotations

from typing import Any

from sapwood.actors.outgoing.rendering import BRANCH_INTRO, COMPACTION_INTRO, NO_OUTPUT, OutgoingMessage, render
from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall
from sapwood.events.ids import EntryId
from sapwood.events.messages import (
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    ToolResultMessage,
    UserMessage,
)
from tests.build import MS, assistant, call, result, system, text, user

SIGNED_CALL: dict[str, Any] = {"id": "a", "name": "read", "arguments": {}, "thought_signature": "s3"}
SIGNED = ThinkingContent(thinking="hm", thinking_signature="s1")


def out(message: Message, *, provider: str = "scripted", model: str = "talker") -> OutgoingMessage:
    return render(message, provider=provider, model=model)


def content(message: Message) -> object:
    rendered = out(message)
    assert isinstance(rendered, UserMessage)
    return rendered.content


def bash(output: str, **more: object) -> BashExecutionMessage:
    said = {"command": "make", "output": output, "cancelled": False, "truncated": False, "timestamp": MS, **more}
    return BashExecutionMessage(**said)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - a test's shorthand


def test_what_is_in_order_goes_as_it_is() -> None:
    for message in (user("hi"), assistant("hello"), result("a"), system(rules="x")):
        assert out(message) == message


def test_summaries_become_a_users_words_with_the_summary_on_lines_of_its_own() -> None:
    compaction = CompactionSummaryMessage(summary="## Goal", tokens_before=9, timestamp=MS)
    branch = BranchSummaryMessage(summary="## Goal", from_id=EntryId("x"), timestamp=MS)

    assert content(compaction) == f"{COMPACTION_INTRO}\n\n<summary>\n## Goal\n</summary>"
    assert content(branch) == f"{BRANCH_INTRO}\n\n<summary>\n## Goal\n</summary>"


def test_an_extensions_message_becomes_a_users_without_its_empty_blocks() -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    message = CustomMessage(custom_type="note", content=(text(" "), image), display=True, timestamp=MS)

    assert content(message) == (image,)


def test_a_command_is_told_with_its_output() -> None:
    assert content(bash("ok")) == "I ran `make`:\n\n```\nok\n```"
    assert content(bash("")) == f"I ran `make`:\n\n{NO_OUTPUT}"


def test_a_command_that_went_wrong_says_how() -> None:
    assert "exit code 2" in str(content(bash("ok", exit_code=2)))
    assert "I stopped it" in str(content(bash("ok", cancelled=True, exit_code=2)))
    assert "in full.log" in str(content(bash("ok", truncated=True, full_output_path="full.log")))
    assert "exit code" not in str(content(bash("ok", exit_code=0)))
    assert "full.log" not in str(content(bash("ok", full_output_path="full.log")))


def test_signed_thinking_goes_whole_to_the_model_that_thought_it_and_to_no_other() -> None:
    message = assistant(SIGNED, "so")

    assert out(message) is message
    for other in (out(message, model="else"), out(message, provider="else")):
        assert not isinstance(other, ToolResultMessage)
        assert other.content == (TextContent(text="so"),)


def test_what_a_text_and_a_call_are_signed_with_goes_to_no_other_model() -> None:
    """Another model's signature used to be sent with its calls, and is refused there."""
    signed = assistant(TextContent(text="so", text_signature="s2"), ToolCall(**SIGNED_CALL))

    assert out(signed) is signed
    for other in (out(signed, model="else"), out(signed, provider="else")):
        assert other.content == (TextContent(text="so"), call("a"))


def test_unsigned_thinking_and_empty_text_are_never_sent() -> None:
    rendered = out(assistant(ThinkingContent(thinking="half"), " ", "so"))

    assert rendered.content == (TextContent(text="so"),)


def test_a_result_without_text_says_that_there_was_none() -> None:
    assert out(result("a", " ")).content == (text(NO_OUTPUT),)
