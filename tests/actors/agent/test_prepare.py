"""What a host asks for, and the sections that come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.actors.agent.prepare import (
    PROJECT_INTRO,
    SKILLS_INTRO,
    ProjectFile,
    SystemPrompt,
    change,
    ordered,
    project_text,
    skills_text,
    tools_text,
    wanted,
)
from sapwood.actors.projection.section import Unanswered
from sapwood.actors.session_log.capping import MOST_BYTES
from sapwood.events.errors import Refused
from sapwood.events.messages import SystemMessage, ToolDefinition, ToolReference
from tests.build import MS, system

READ = ToolDefinition(name="read", description="Show a file", parameters={"type": "object"})


def test_known_sections_stand_in_their_order_and_a_hosts_own_behind_them_in_its_own() -> None:
    default = {"cwd": "here", "skills": "s", "project_context": "p", "preamble": "you", "tools": "t"}

    merged = ordered(default, {"zoo": "z", "rules": "r", "cwd": "elsewhere", "ants": "a"})

    assert list(merged.items()) == [
        ("preamble", "you"),
        ("tools", "t"),
        ("rules", "r"),
        ("project_context", "p"),
        ("skills", "s"),
        ("cwd", "elsewhere"),
        ("zoo", "z"),
        ("ants", "a"),
    ]


def test_a_section_with_nothing_in_it_is_not_there() -> None:
    assert wanted({"preamble": "", "a": " \n", "b": None, "c": "C"}, None) == {"c": "<c>\nC\n</c>"}


def test_a_section_that_failed_stays_as_the_branch_has_it() -> None:
    present = system(preamble="You.", a="<a>\nold\n</a>", b=None)

    assert wanted({"preamble": Unanswered("x"), "a": Unanswered("x"), "b": Unanswered("x")}, present) == {
        "preamble": "You.",
        "a": "<a>\nold\n</a>",
    }
    assert change({"preamble": Unanswered("x"), "a": "new"}, present, now_ms=MS) == system(a="<a>\nnew\n</a>")


def test_what_a_turn_changes_is_said_with_the_tools_that_it_declares() -> None:
    first = change({"preamble": "You."}, None, tools=[READ], now_ms=MS)

    assert first == SystemMessage(content="", sections={"preamble": "You."}, tools_added=(READ,), timestamp=MS)
    assert change({"preamble": "You."}, first, tools=[READ], now_ms=MS) is None
    assert change({}, first, now_ms=MS) == SystemMessage(
        content="", sections={"preamble": None}, tools_removed=(ToolReference(name="read"),), timestamp=MS
    )


def test_tools_and_skills_are_told_by_name_and_description() -> None:
    assert tools_text([READ]) == "- read: Show a file"
    assert tools_text([]) == ""
    assert skills_text({"ring": "How to ring a wren"}) == f"{SKILLS_INTRO}\n\n- ring: How to ring a wren"
    assert skills_text({}) == ""


def test_each_project_file_is_told_with_its_path() -> None:
    files = [
        ProjectFile("/a/AGENTS.md", "Be quick."),
        ProjectFile("/a/empty/AGENTS.md", " "),
        ProjectFile('/a/"b"', "Be kind."),
    ]

    assert project_text(files) == (
        f"{PROJECT_INTRO}\n\n"
        '<project_instructions path="/a/AGENTS.md">\nBe quick.\n</project_instructions>\n\n'
        '<project_instructions path="/a/&quot;b&quot;">\nBe kind.\n</project_instructions>'
    )
    assert project_text([]) == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"preamble": 5}, "the system prompt section 'preamble' is text or a function, not 5"),
        ({"sections": {"a": None}}, "the system prompt section 'a' is text or a function, not None"),
        ({"sections": ["a"]}, "SystemPrompt(sections=…) is a mapping by names, not ['a']"),
        ({"sections": {1: "a"}}, "SystemPrompt(sections=…) has names that are text, not 1"),
        ({"sections": {"preamble": "a"}}, "Invalid system prompt section name: preamble"),
        ({"sections": {"Big": "a"}}, "Invalid system prompt section name: Big"),
        (
            {"sections": {"a": "x" * (MOST_BYTES + 1)}},
            "the system prompt section 'a' cannot be kept: a section has at most",
        ),
        ({"skills": {"a": 1}}, "SystemPrompt(skills={'a': …}) is a description, not 1"),
        ({"skills": "a"}, "SystemPrompt(skills=…) is a mapping by names, not 'a'"),
        ({"cwd": "/home/dev"}, "SystemPrompt(cwd=…) is True or False, not '/home/dev'"),
        ({"project_context": 1}, "SystemPrompt(project_context=…) is a bool or a folder, not 1"),
    ],
)
def test_what_is_no_prompt_is_refused_when_it_is_made(given: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused) as caught:
        SystemPrompt(**given)

    assert str(caught.value).startswith(words)
    assert caught.value.reason == "bad-input"


def test_a_prompt_does_not_change_with_the_mapping_that_it_was_made_from() -> None:
    sections = {"a": "A"}
    prompt = SystemPrompt(sections=sections, project_context=Path("docs"))
    sections["B"] = "not a name"

    assert dict(prompt.sections) == {"a": "A"}
