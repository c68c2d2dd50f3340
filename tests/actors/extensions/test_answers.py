"""What a handler gave is taken as a copy that can be written, or refused in words."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.extensions.answers import admitted
from sapwood.actors.extensions.merging import RULES, NoAnswer
from sapwood.events.base import is_array, is_object
from sapwood.events.hooks import (
    AnyQuestion,
    BeforeMessageAppend,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    Block,
    Cancel,
    ChangeArguments,
    ChangeHeaders,
    ChangeInput,
    ChangeMessage,
    ChangeMessages,
    ChangePayload,
    ChangeResult,
    ContextQuestion,
    ContextWithSystem,
    InputReceived,
    Question,
    SessionBeforeFork,
    SessionStart,
    ToolCallQuestion,
    ToolResultQuestion,
)
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import Message
from tests.build import assistant, result, system, text, user
from tests.strategies import JSON, PER_KIND, of

CALL = ToolCallQuestion(tool_name="rm", tool_call_id=ToolCallId("c1"), arguments={"path": ["a"]})
RESULT = ToolResultQuestion(tool_name="rm", tool_call_id=ToolCallId("c1"), content=(text("gone"),), is_error=False)


def mutable(value: object) -> list[int]:
    """Which lists and dicts are in a value, by identity."""
    if isinstance(value, msgspec.Struct):
        return [one for field in value.__struct_fields__ for one in mutable(getattr(value, field))]
    if is_object(value):
        return [id(value), *(one for item in value.values() for one in mutable(item))]
    if is_array(value):
        return [*([id(value)] if isinstance(value, list) else []), *(one for item in value for one in mutable(item))]
    return []


ADMITTED = [(question, kind) for question, rule in RULES.items() for kind in rule.admits]


MARKS = re.compile(r"[^0-9A-Za-z-]")
ANSWERS_FACTS = ("usage", "stop_reason", "provider", "model", "api", "error_message")
RESULTS_FACTS = ("tool_call_id", "tool_name", "usage")


def fits(question: AnyQuestion, answer: object) -> bool:
    match question, answer:
        case BeforeMessageAppend(message=shown_), ChangeMessage(message=given_):
            facts = {"assistant": ANSWERS_FACTS, "toolResult": RESULTS_FACTS}.get(shown_.role, ())
            return shown_.role == given_.role and all(getattr(shown_, f) == getattr(given_, f) for f in facts)
        case InputReceived(images=images), ChangeInput():
            kept = images if answer.images is None else answer.images
            return bool(kept) or any(one.isprintable() and not one.isspace() for one in answer.text)
        case BeforeProviderHeaders(), ChangeHeaders(headers=headers):
            values = [value for value in headers.values() if value is not None]
            return all(name.isascii() and name and name.replace("-", "x").isalnum() for name in headers) and all(
                value.isascii() and value.isprintable() for value in values
            )
        case ContextQuestion(), ChangeMessages(messages=messages):
            return all(message.role != "system" for message in messages)
        case _:
            return True


@pytest.mark.parametrize(("question", "kind"), ADMITTED, ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_an_answer_that_is_admitted_is_taken_as_a_copy(
    question: type[Question[Any]], kind: type[Any], data: st.DataObject
) -> None:
    asked, answer = data.draw(of(question)), data.draw(of(kind))

    taken = admitted(asked, answer)

    if isinstance(answer, ChangeHeaders) and any(MARKS.search(name) for name in answer.headers):
        return  # marks that a name of a header may have, and that nobody gives it
    if fits(asked, answer):
        assert (type(taken), taken) == (kind, answer)
        assert set(mutable(taken)) & set(mutable(answer)) == set()
    else:
        assert isinstance(taken, NoAnswer)


@PER_KIND
@given(question=of(AnyQuestion), answer=JSON | of(Message) | of(AnyQuestion))
def test_what_is_no_answer_is_refused_whatever_it_is(question: AnyQuestion, answer: object) -> None:
    assert isinstance(admitted(question, answer), NoAnswer) is (answer is not None)


@pytest.mark.parametrize(
    ("question", "answer", "why"),
    [
        (CALL, 7, "it gave 7, where Block or ChangeArguments is to be answered, or None"),
        (CALL, Cancel(), "it gave Cancel(reason='', by=''), where Block or ChangeArguments is to be answered, or None"),
        (
            CALL,
            Block,
            "it gave <class 'sapwood.events.hooks.Block'>, where Block or ChangeArguments is to be answered, or None",
        ),
        (
            SessionBeforeFork(entry_id=None, whole_tree=True),
            False,
            "it gave False, where Cancel is to be answered, or None",
        ),
        (SessionStart(reason="new"), "x" * 100, f"it gave '{'x' * 79}, where nothing is to be answered, or None"),
    ],
)
def test_another_kind_of_answer_is_refused(question: AnyQuestion, answer: object, why: str) -> None:
    assert admitted(question, answer) == NoAnswer(why)


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


ROUND: dict[str, Any] = {}
ROUND["a"] = ROUND


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (5, "Expected `object`, got `int` - at `$.arguments`"),
        ({1: 2}, "Expected `str`, got `int` - at `key` in `$.arguments`"),
        ({"a": object()}, "Encoding objects of type object is unsupported"),
        ({"a": float("nan")}, "nan is no JSON number"),
        (deep(600), "it is nested deeper than 500 levels"),
        (deep(3000), "it is nested deeper than 500 levels"),
        (ROUND, "it is nested deeper than 500 levels"),
    ],
    ids=["no object", "no name", "no value", "no number", "deep", "deeper", "round"],
)
def test_an_answer_that_cannot_be_kept_is_refused(arguments: Any, why: str) -> None:
    answer = ChangeArguments(arguments=arguments)

    assert admitted(CALL, answer) == NoAnswer(f"its ChangeArguments cannot be used: {why}")


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (ChangeArguments(arguments={"a\ud800": ["\udc00", "😀"]}), ChangeArguments(arguments={"a�": ["�", "😀"]})),
        (ChangeArguments(arguments={"a": {2}}), ChangeArguments(arguments={"a": [2]})),
    ],
)
def test_what_can_be_mended_is(given: ChangeArguments, taken: ChangeArguments) -> None:
    assert admitted(CALL, given) == taken


def test_a_list_in_the_place_of_a_tuple_is_as_good() -> None:
    content: Any = [text("x")]

    assert admitted(RESULT, ChangeResult(content=content)) == ChangeResult(content=(text("x"),))


class Firm(Block, frozen=True):
    """A block of the host's own."""


class Wide(Block, frozen=True):
    """It says more than anybody reads."""

    more: int = 7


def test_what_is_derived_from_an_answer_is_that_answer() -> None:
    assert type(admitted(CALL, Firm(reason="no"))) is Block
    assert admitted(CALL, Wide(more=8)) == NoAnswer("its Block cannot be used: Object contains unknown field `more`")


@pytest.mark.parametrize(
    ("shown", "given", "why"),
    [
        (user(), user("x"), None),
        (assistant("a"), assistant("b"), None),
        (user(), assistant("x"), "a message of the role assistant cannot take the place of one of user"),
        (result("c1"), user("x"), "a message of the role user cannot take the place of one of toolResult"),
    ],
)
def test_a_message_takes_the_place_of_one_of_its_role(shown: Message, given: Message, why: str | None) -> None:
    told = admitted(BeforeMessageAppend(message=shown), ChangeMessage(message=given))

    assert told == (
        ChangeMessage(message=given) if why is None else NoAnswer(f"its ChangeMessage cannot be used: {why}")
    )


def test_the_systems_messages_are_given_only_where_they_were_shown() -> None:
    messages = ChangeMessages(messages=(user(), system(rules="x")))

    assert admitted(ContextWithSystem(messages=()), messages) == messages
    assert admitted(ContextQuestion(messages=()), messages) == NoAnswer(
        "its ChangeMessages cannot be used: the system's messages were not shown and are not to be given: "
        "context_with_system is the question for them"
    )


def test_none_and_a_bare_null_are_told_apart() -> None:
    question = BeforeProviderRequest(payload={})

    assert admitted(question, None) is None
    assert admitted(question, ChangePayload(payload=None)) == ChangePayload(payload=None)
