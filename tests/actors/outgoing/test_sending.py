"""What does not go out, and why."""

from __future__ import annotations

import pytest

from sapwood.actors.outgoing.sending import marked, sendable, unsent
from sapwood.events.content import ImageContent, ThinkingContent
from sapwood.events.context import Context, ContextItem, Unsent
from sapwood.events.ids import EntryId
from sapwood.events.messages import BashExecutionMessage, Message
from tests.build import MS, assistant, call, result, text, user


def bash(*, excluded: bool) -> BashExecutionMessage:
    return BashExecutionMessage(
        command="ls", output="a", cancelled=False, truncated=False, exclude_from_context=excluded, timestamp=MS
    )


CASES: list[tuple[Message, Unsent | None]] = [
    (user("hi"), None),
    (user(""), "empty"),
    (user("  \n"), "empty"),
    (user((text(""),)), "empty"),
    (user((text("hi"),)), None),
    (user((ImageContent(data="aGk=", mime_type="image/png"),)), None),
    (assistant("said"), None),
    (assistant("half", stop="aborted"), "aborted"),
    (assistant("half", stop="error"), "failed"),
    (assistant("cut", stop="length"), None),
    (assistant(), "empty"),
    (assistant(ThinkingContent(thinking="hm", thinking_signature="s")), "empty"),
    (assistant(call("a")), None),
    (bash(excluded=True), "excluded"),
    (bash(excluded=False), None),
]


@pytest.mark.parametrize(("message", "why"), CASES)
def test_a_message_goes_out_or_says_why_not(message: Message, why: Unsent | None) -> None:
    assert unsent([message]) == [why]


def test_the_results_of_a_failed_answers_calls_stay_behind_with_it() -> None:
    messages: list[Message] = [assistant(call("a"), stop="error"), result("a"), assistant(call("a")), result("a")]

    assert unsent(messages) == ["failed", "result_of_unsent_call", None, None]


def test_thinking_and_blank_text_are_nothing_to_send() -> None:
    assert not sendable(assistant(ThinkingContent(thinking="hm"), " \n").content)
    assert sendable(assistant(" x ").content)


def test_a_context_is_marked_where_it_does_not_go_out() -> None:
    messages: tuple[Message, ...] = (user("hi"), assistant("half", stop="aborted"))
    items = tuple(ContextItem(entry_id=EntryId(str(n)), message=said, tokens=1) for n, said in enumerate(messages))
    context = Context(leaf=None, items=items, absent={}, thinking_level="off", model=None)

    assert [item.unsent for item in marked(context).items] == [None, "aborted"]
