"""Sections are asked all at once, and one that fails is told and harms no other one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from sapwood import Extension
from sapwood.actors.agent.prepare import PROJECT_INTRO, SystemPrompt
from sapwood.actors.agent.sections import Sections
from sapwood.actors.environment import Environment
from sapwood.actors.foreign import LIMIT
from sapwood.actors.projection.section import Given, SectionContext, Unanswered
from sapwood.events.ids import SessionId
from sapwood.events.messages import ToolDefinition
from sapwood.events.runtime import Diagnostic, Event
from tests.actors.inside import inside
from tests.actors.keeping import cancelled_once
from tests.build import MODEL
from tests.talking import drain, talking


class Asking:
    """Sections, and what they told."""

    def __init__(self, prompt: SystemPrompt, cwd: str = "/home/dev", tools: Sequence[ToolDefinition] = ()) -> None:
        self.told: list[Event] = []
        self.reported: list[tuple[str, BaseException]] = []
        self.context = SectionContext(session_id=SessionId("s1"), cwd=cwd, model=MODEL)
        self.sections = Sections(prompt, Environment.scripted(), self._publish, self._report)
        self._tools = tools

    def _publish(self, event: Event) -> int:
        self.told.append(event)
        return len(self.told)

    def _report(self, section: str, fault: BaseException) -> None:
        self.reported.append((section, fault))

    async def ask(self) -> dict[str, Given]:
        given = await inside(lambda: self.sections.ask(self.context, self._tools))
        assert given is not None
        return given


def words(events: list[Event]) -> list[str]:
    return [f"{event.code}: {event.message}" for event in events if isinstance(event, Diagnostic)]


async def slowly(context: SectionContext) -> str:
    await trio.sleep(20)
    return f"{context.session_id} in {context.cwd} with {context.model.key}"


async def test_texts_and_functions_are_told_in_order_and_asked_at_once(autojump_clock: trio.testing.MockClock) -> None:
    asking = Asking(
        SystemPrompt(
            preamble="You.", sections={"b": slowly, "a": lambda _: "A", "c": slowly, "d": lambda _: None}, cwd=True
        )
    )

    given = await asking.ask()

    said = "s1 in /home/dev with scripted/talker"
    assert list(given.items()) == [
        ("preamble", "You."),
        ("tools", ""),
        ("skills", ""),
        ("cwd", "/home/dev"),
        ("b", said),
        ("a", "A"),
        ("c", said),
        ("d", None),
    ]
    assert trio.current_time() == 20, "one after the other they would take 40"
    assert asking.told == []


def raising(context: SectionContext) -> str:
    raise ValueError("no rules today")


async def raising_late(context: SectionContext) -> str:
    await trio.lowlevel.checkpoint()
    raise ExceptionGroup("g", [KeyError("x")])


async def of_another_loop(context: SectionContext) -> str:
    await trio.lowlevel.checkpoint()
    raise asyncio.CancelledError


async def hanging(context: SectionContext) -> str:
    await trio.sleep(1000)
    return "never"


def number(context: SectionContext) -> Any:
    return 7


async def late_number(context: SectionContext) -> Any:
    await trio.lowlevel.checkpoint()
    return 7


@pytest.mark.parametrize(
    ("function", "why", "reported"),
    [
        (raising, "ValueError: no rules today", True),
        (raising_late, "KeyError: 'x'", True),
        (of_another_loop, "CancelledError: ", True),
        (hanging, "it did not come within 30 s", False),
        (number, "it gave 7, which is neither text nor None", False),
        (late_number, "it gave 7, which is neither text nor None", False),
    ],
)
async def test_a_section_that_fails_is_told_and_the_others_come(
    function: Any, why: str, *, reported: bool, autojump_clock: trio.testing.MockClock
) -> None:
    asking = Asking(SystemPrompt(sections={"house": function, "zoo": "Z"}))

    given = await asking.ask()

    assert (given["house"], given["zoo"]) == (Unanswered(why), "Z")
    [told] = asking.told
    assert told == Diagnostic(
        code="section_failed",
        message=f"the system prompt section 'house' stays as it is: {why}",
        facts={"section": "house"},
    )
    assert [section for section, _ in asking.reported] == ["house"] * reported
    assert trio.current_time() <= LIMIT


async def test_what_ends_more_than_a_section_passes_through() -> None:
    def interrupted(context: SectionContext) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Asking(SystemPrompt(preamble=interrupted)).ask()


async def test_a_host_that_stops_waiting_cancels_what_is_asked(autojump_clock: trio.testing.MockClock) -> None:
    asking = Asking(SystemPrompt(preamble=hanging))

    with trio.move_on_after(1) as scope:
        await asking.ask()

    assert scope.cancelled_caught
    assert asking.told == []


async def test_a_function_may_be_any_callable_that_gives_an_awaitable() -> None:
    class Callable:
        def __call__(self, context: SectionContext) -> Awaitable[str]:
            return slowly_none()

    async def slowly_none() -> str:
        await trio.lowlevel.checkpoint()
        return "yes"

    assert (await Asking(SystemPrompt(preamble=Callable())).ask())["preamble"] == "yes"


async def test_the_files_of_a_project_are_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "sub" / "AGENTS.md"
    file.parent.mkdir()
    file.write_text("Be quick.")
    asking = Asking(SystemPrompt(project_context="sub"), cwd=str(tmp_path))
    wrapped = f'<project_instructions path="{file}">\n%s\n</project_instructions>'

    first = (await asking.ask())["project_context"]
    file.write_text("Be slow.")
    second = (await asking.ask())["project_context"]
    file.unlink()

    assert isinstance(first, str)
    assert isinstance(second, str)
    assert first.startswith(PROJECT_INTRO)
    assert first.endswith(wrapped % "Be quick.")
    assert second == first.replace("quick", "slow")
    assert str(tmp_path) not in str((await asking.ask())["project_context"])


async def test_a_file_that_is_left_out_is_told_once_and_again_when_it_was_well_in_between(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    asking = Asking(SystemPrompt(project_context=True), cwd=str(tmp_path))
    for step in ("folder", "folder", "file", "folder"):
        if step == "folder":
            file.unlink(missing_ok=True) if file.is_file() else None
            file.mkdir(exist_ok=True)
        else:
            file.rmdir()
            file.write_text("fine")
        await asking.ask()

    assert [line for line in words(asking.told) if str(tmp_path) in line] == [
        f"project_file_left_out: {file} is not in the system prompt: Is a directory"
    ] * 2


async def test_tools_that_are_given_are_told_in_a_section_of_theirs() -> None:
    asking = Asking(
        SystemPrompt(sections={"rules": "R"}),
        tools=[ToolDefinition(name="read", description="Show a file", parameters={})],
    )

    given = await asking.ask()

    assert given["tools"] == "- read: Show a file"
    assert list(given) == ["preamble", "tools", "rules", "skills"]


async def test_a_hosts_own_project_context_reads_no_files(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    asking = Asking(SystemPrompt(project_context=True, sections={"project_context": "mine"}), cwd=str(tmp_path))

    assert (await asking.ask())["project_context"] == "mine"
    assert asking.told == []


async def test_a_cancelled_that_a_section_kept_is_its_own_fault() -> None:
    """It used to be told as an IndexError of ours."""
    kept = await cancelled_once()

    def astray(_: SectionContext) -> str:
        raise kept

    asking = Asking(SystemPrompt(sections={"a": astray, "b": "B"}))
    given = await asking.ask()

    assert given["b"] == "B"
    assert words(asking.told) == [
        "section_failed: the system prompt section 'a' stays as it is: " + _words_of(given["a"])
    ]
    assert _words_of(given["a"]).startswith("Cancelled: ")
    assert asking.reported == [("a", kept)]


def _words_of(given: Given) -> str:
    assert isinstance(given, Unanswered)
    return given.why


async def prompted(extension: Extension, prompt: SystemPrompt) -> str | None:
    """The prompt that the branch has behind a turn."""
    async with talking("one", system_prompt=prompt, extensions=[extension]) as session:
        await session.prompt("hi")
        return session.system_prompt


async def test_an_extension_replaces_and_adds_sections_and_leaves_the_preamble() -> None:
    house = Extension("house")
    house.section("rules", "Be kind.")

    @house.section("season")
    async def season(context: SectionContext) -> str:
        await trio.lowlevel.checkpoint()
        return f"Winter in {context.cwd}."

    host = SystemPrompt(preamble="You are a forester.", sections={"rules": "Be brief."})

    assert await prompted(house, host) == (
        "You are a forester.\n\n<rules>\nBe kind.\n</rules>\n\n<season>\nWinter in /home/dev.\n</season>"
    )


async def test_where_the_host_says_nothing_the_rest_of_the_prompt_stays(tmp_path: Path) -> None:
    house = Extension("house")
    house.section("season", "Winter.")
    path = str(tmp_path / "s.jsonl")
    async with talking("one", where=path, system_prompt=SystemPrompt(sections={"old": "Oak."})) as session:
        await session.prompt("hi")
    async with talking("two", where=path, extensions=[house]) as session:
        await session.prompt("hi")

        assert session.system_prompt == "<old>\nOak.\n</old>\n\n<season>\nWinter.\n</season>"


async def test_a_section_of_an_extension_that_fails_is_told_and_harms_nobody() -> None:
    house = Extension("house")

    @house.section("season")
    def season(context: SectionContext) -> str:
        raise ValueError("no season")

    async with talking("one", system_prompt="You are a forester.", extensions=[house]) as session:
        reader = session.events()
        assert not (await session.prompt("hi")).failed
        [told] = [one for one in drain(reader) if isinstance(one, Diagnostic)]
        assert (told.code, told.facts) == ("section_failed", {"section": "season"})
        assert session.system_prompt == "You are a forester."
