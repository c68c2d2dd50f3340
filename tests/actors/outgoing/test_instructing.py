"""The head of a request stays; what changes later is a notice in its place; the tools are what all changes come to."""

from __future__ import annotations

import msgspec

from sapwood.actors.outgoing.instructing import Instructed, instructed, notice
from sapwood.events.messages import SystemMessage, ToolReference
from tests.build import MS, assistant, system, user
from tests.wires import WEATHER, head


def test_what_stands_at_the_beginning_is_the_head() -> None:
    more = system(rules="<rules>\nMetric.\n</rules>")

    assert instructed((head("Be brief.", WEATHER), more, user())) == Instructed(
        prompt="Be brief.\n\n<rules>\nMetric.\n</rules>", tools=(WEATHER,), messages=(user(),)
    )


def test_a_change_stays_in_its_place_and_the_head_stays_what_it_was() -> None:
    """P9: a changed section used to change the beginning of the request, and cost a whole cache."""
    change = system(preamble="Be long.")
    said = (head(), user(), assistant("x"), change, user("y"))

    assert instructed(said).prompt == "Be brief."
    assert instructed(said).messages == said[1:]


def test_behind_a_summary_the_first_instructions_are_the_head() -> None:
    assert instructed((user("summary"), head(), user())) == Instructed(
        prompt="Be brief.", tools=(), messages=(user("summary"), user())
    )


def test_without_instructions_there_is_no_head() -> None:
    assert instructed((user(),)) == Instructed(prompt="", tools=(), messages=(user(),))
    assert instructed(()).messages == ()


def test_tools_are_those_that_all_changes_come_to() -> None:
    other = msgspec.structs.replace(WEATHER, name="other")
    change = SystemMessage(
        content="", tools_removed=(ToolReference(name="weather"),), tools_added=(other,), timestamp=MS
    )

    assert instructed((head("", WEATHER), user(), change)).tools == (other,)


def test_a_notice_tells_what_now_holds_and_what_no_longer_does() -> None:
    told = notice(
        msgspec.structs.replace(system(rules="<rules>\nMetric.\n</rules>", style=None), content="By the way.")
    )

    assert told == (
        "<system-notice>\nBy the way.\n\nThis part of your instructions, `rules`, now reads:\n\n<rules>\nMetric.\n</rules>\n\n"
        "This part of your instructions, `style`, no longer holds.\n</system-notice>"
    )


def test_a_change_of_tools_alone_needs_no_words() -> None:
    assert notice(SystemMessage(content="", tools_added=(WEATHER,), timestamp=MS)) is None
