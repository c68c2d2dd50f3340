"""Extensions are made and registered, and what is wrong with one is refused at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from sapwood.actors.extensions.context import ExtensionContext
from sapwood.actors.extensions.extension import (
    ASKED,
    Extension,
    Handler,
    Registered,
    event_of,
)
from sapwood.actors.foreign import LIMIT
from sapwood.actors.projection.section import SectionContext
from sapwood.actors.tools import tool
from sapwood.events.errors import Refused
from sapwood.events.hooks import (
    AnyQuestion,
    Block,
    Question,
    SessionShutdown,
    SessionStart,
    ToolCallQuestion,
)
from sapwood.events.runtime import News, TurnEnd


def allow(question: ToolCallQuestion, context: ExtensionContext) -> None: ...


async def block(question: ToolCallQuestion, context: ExtensionContext) -> Block | None:
    return Block(reason=question.tool_name)


def start(question: SessionStart, context: ExtensionContext) -> None: ...


def shut(question: SessionShutdown, context: ExtensionContext) -> None: ...


def test_handlers_stand_in_the_order_of_registration_and_the_function_stays_what_it_was() -> None:
    guard = Extension("guard")

    assert guard.on(ToolCallQuestion)(block) is block
    guard.on(SessionStart, limit=5)(start)
    guard.on(ToolCallQuestion, limit=None)(allow)

    assert guard.handlers == (
        Handler(extension="guard", question=ToolCallQuestion, limit=30.0, function=block),
        Handler(extension="guard", question=SessionStart, limit=5.0, function=start),
        Handler(extension="guard", question=ToolCallQuestion, limit=None, function=allow),
    )
    assert (guard.name, repr(guard)) == ("guard", "<Extension guard>")
    assert [handler.event for handler in guard.handlers] == ["tool_call", "session_start", "tool_call"]


def test_a_handler_has_half_a_minute_and_a_shutdown_two_seconds_unless_it_says_otherwise() -> None:
    guard = Extension("guard")
    guard.on(SessionShutdown)(shut)
    guard.on(SessionShutdown, limit=60)(shut)
    guard.on(SessionShutdown, limit=None)(shut)
    guard.on(SessionStart)(start)

    assert [handler.limit for handler in guard.handlers] == [2.0, 60.0, None, LIMIT]


@pytest.mark.parametrize("question", get_args(AnyQuestion), ids=event_of)
def test_any_question_can_be_answered_by_any_callable(question: type[Question[Any]]) -> None:
    class Callable:
        def __call__(self, question: Question[Any], context: ExtensionContext) -> Any: ...

    guard, function = Extension("guard"), Callable()
    guard.on(question)(function)

    registered = Registered([guard])
    assert registered.has(question)
    assert [handler.function for handler in registered.of(question)] == [function]
    assert not any(registered.has(other) for other in get_args(AnyQuestion) if other is not question)


def test_handlers_of_several_extensions_are_asked_in_the_hosts_order() -> None:
    first, second = Extension("first"), Extension("second")
    second.on(ToolCallQuestion)(block)
    first.on(ToolCallQuestion)(allow)
    second.on(ToolCallQuestion)(allow)

    told = [(handler.extension, handler.function) for handler in Registered([second, first]).of(ToolCallQuestion)]

    assert told == [("second", block), ("second", allow), ("first", allow)]


def test_what_is_registered_later_is_for_the_next_session() -> None:
    guard = Extension("guard")
    registered = Registered([guard])
    guard.on(ToolCallQuestion)(block)

    assert not registered.has(ToolCallQuestion)
    assert registered.of(ToolCallQuestion) == ()
    assert Registered([guard]).has(ToolCallQuestion)


def test_without_extensions_nobody_is_asked() -> None:
    assert not any(Registered().has(question) for question in get_args(AnyQuestion))


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[1m", "\ud800", b"guard", None, 7])
def test_what_is_no_name_is_refused(name: Any) -> None:
    with pytest.raises(Refused, match="the name of an extension is text of one line, not ") as caught:
        Extension(name)

    assert caught.value.reason == "bad-input"


@pytest.mark.parametrize("name", ["guard", "cheap summaries", "Wächter", "@house/guard-2"])
def test_what_shows_something_is_a_name(name: str) -> None:
    assert Extension(name).name == name


class Derived(SessionStart, frozen=True):
    """A question of the host's own."""


@pytest.mark.parametrize("question", [str, Question, Derived, SessionStart(reason="new"), "tool_call", None, [], allow])
def test_what_is_no_question_is_refused(question: Any) -> None:
    guard = Extension("guard")

    with pytest.raises(
        Refused, match=r"a handler is registered for a question of sapwood\.events\.hooks, or for an event"
    ) as caught:
        guard.on(question)

    assert caught.value.reason == "bad-input"


@pytest.mark.parametrize("limit", [0, -1, True, float("inf"), float("nan"), "30"])
def test_what_is_no_limit_is_refused(limit: Any) -> None:
    with pytest.raises(Refused, match="the limit of a handler is a number of seconds above zero, or None") as caught:
        Extension("guard").on(SessionStart, limit=limit)

    assert caught.value.reason == "bad-input"


@pytest.mark.parametrize("handler", [None, "block", 7, Block()])
def test_what_is_no_function_is_refused_and_not_registered(handler: Any) -> None:
    guard = Extension("guard")

    with pytest.raises(Refused, match=r"a handler is a function \(question, context\), not ") as caught:
        guard.on(ToolCallQuestion)(handler)

    assert caught.value.reason == "bad-input"
    assert guard.handlers == ()


@pytest.mark.parametrize("extensions", [None, "guard", b"guard", {"guard": Extension("guard")}, Extension("guard"), 7])
def test_what_is_no_list_of_extensions_is_refused(extensions: Any) -> None:
    with pytest.raises(Refused, match="extensions is a list of extensions, not ") as caught:
        Registered(extensions)

    assert caught.value.reason == "bad-input"


@pytest.mark.parametrize("extension", [None, "guard", Extension])
def test_what_is_no_extension_is_refused(extension: Any) -> None:
    with pytest.raises(Refused, match=r"an extension is a sapwood\.Extension\(name\), not ") as caught:
        Registered([Extension("guard"), extension])

    assert caught.value.reason == "bad-input"


def test_two_extensions_of_one_name_are_refused() -> None:
    with pytest.raises(Refused, match="two extensions are called 'guard'") as caught:
        Registered([Extension("guard"), Extension("other"), Extension("guard")])

    assert caught.value.reason == "bad-input"


def test_whatever_is_asked_is_asked_somewhere() -> None:
    """Each question is made in some source, for its handlers."""
    rooms = [Path(__file__).parents[3] / "actors", Path(__file__).parents[3] / "sapwood"]
    sources = [path.read_text(encoding="utf-8") for room in rooms for path in room.rglob("*.py")]
    made = {name for source in sources for name in re.findall(r"\b(\w+)\(", source)}

    assert {one.__name__ for one in ASKED} <= made


def test_an_event_may_be_told_in_order_of_registration_and_news_is_every_one() -> None:
    guard, other = Extension("guard"), Extension("other")
    guard.on(TurnEnd)(lambda event, context: None)
    other.on(News)(lambda event, context: None)
    registered = Registered([guard, other])

    assert [handler.event for handler in registered.of(TurnEnd)] == ["turn_end"]
    assert [handler.event for handler in registered.of(News)] == ["*"]
    assert registered.events == (TurnEnd, News)
    assert not any(handler.asked for one in (TurnEnd, News) for handler in registered.of(one))


def test_of_two_sections_of_one_name_the_last_one_stands() -> None:
    guard, other = Extension("guard"), Extension("other")
    guard.section("rules", "Be brief.")
    guard.section("house", "Oak.")

    @other.section("rules")
    def rules(context: SectionContext) -> str:
        return "Be kind."

    assert Registered([guard, other]).sections == {"rules": rules, "house": "Oak."}
    assert Registered([other, guard]).sections["rules"] == "Be brief."


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("preamble", "x", "Invalid system prompt section name: preamble"),
        ("Rules", "x", "Invalid system prompt section name: Rules"),
        ("rules", 7, "is text or a function, not 7"),
        ("rules", "x" * 2_000_000, "cannot be kept"),
    ],
)
def test_what_is_no_section_is_refused_and_not_registered(name: str, text: Any, why: str) -> None:
    guard = Extension("guard")

    with pytest.raises(Refused, match=why):
        guard.section(name, text)

    assert guard.sections == {}


def test_tools_of_extensions_come_behind_the_hosts_and_a_name_is_given_once() -> None:
    guard, other = Extension("guard"), Extension("other")

    @guard.tool
    def look() -> str:
        return "trees"

    @other.tool
    @tool(name="look")
    def peek() -> str:
        return "leaves"

    assert Registered([]).tools(None) is None, "nothing is said of tools"
    assert [*(Registered([guard]).tools(None) or {})] == ["look"]
    assert [*(Registered([guard]).tools({"read": tool(name="read")(look)}) or {})] == ["read", "look"]
    with pytest.raises(Refused, match="extension 'other' brings a tool 'look', and there is one already"):
        Registered([guard, other]).tools(None)
