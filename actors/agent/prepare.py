"""What the system prompt is to be: what a host asks for, and the sections that come of it. No I/O, no awaits.

1. A section is text, or a function that is asked for it before each turn; no text, and blank text, is no section (P6).
2. The sections that everybody knows stand in `ORDER`, the host's own behind them, in the host's order. One that bears a known name takes
   that one's place.
3. A section whose function failed stays as the branch has it: what failed to speak has taken nothing back.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import attrs

from sapwood.actors.projection.section import Given, Section, Unanswered, check_section
from sapwood.actors.projection.system_prompt import PREAMBLE, check_section_name, delta, section
from sapwood.events.errors import Refused
from sapwood.events.messages import SystemMessage, ToolDefinition

ORDER: Final = (PREAMBLE, "tools", "rules", "project_context", "skills", "cwd")
"""Pi's order: who the model is, what it can do, how it is to do it, where; a change of a later one keeps more of the prefix."""
PROJECT_INTRO: Final = "The people of this project wrote the following for whoever works on it. Go by it."
SKILLS_INTRO: Final = "Instructions for these tasks are at hand. Read those of a task before you begin with it."


@attrs.frozen(kw_only=True)
class SystemPrompt:
    """The system prompt that a host asks for (P6). Nothing is in it that the host did not ask for.

    `Refused` for what is of a wrong type, and for the name of a section that is none.
    """

    preamble: Section = ""
    """Who the model is and what it is for: the one section without a tag."""
    sections: Mapping[str, Section] = attrs.field(factory=dict[str, Section])
    """Further ones, by name, in order; each goes out in a tag of its name. One called `rules`, say, takes the place that those have."""
    skills: Mapping[str, str] = attrs.field(factory=dict[str, str])
    """Name and description of what the model may read up on. The instructions themselves are not in the prompt."""
    project_context: bool | str | os.PathLike[str] = False
    """Whether the project's own files (AGENTS.md, or else CLAUDE.md) are in it: those from the root of the disk down to the session's
    folder, or to this one. They are read again before each turn."""
    cwd: bool = False
    """Whether the session's folder is told."""

    def __attrs_post_init__(self) -> None:
        check_section(PREAMBLE, self.preamble)
        for name, asked in _items("sections", self.sections):
            check_section_name(name)
            check_section(name, asked)
        for name, told in _items("skills", self.skills):
            if not isinstance(told, str):
                raise Refused("bad-input", f"SystemPrompt(skills={{{name!r}: …}}) is a description, not {told!r:.80}")
        if not isinstance(self.project_context, bool | str) and not hasattr(self.project_context, "__fspath__"):
            raise Refused(
                "bad-input", f"SystemPrompt(project_context=…) is a bool or a folder, not {self.project_context!r:.80}"
            )
        if not isinstance(self.cwd, bool):
            raise Refused("bad-input", f"SystemPrompt(cwd=…) is True or False, not {self.cwd!r:.80}")
        # the host's own mappings may change behind our back
        object.__setattr__(self, "sections", MappingProxyType(dict(self.sections)))
        object.__setattr__(self, "skills", MappingProxyType(dict(self.skills)))


STAYS: Final = Unanswered("nobody asks for it")
"""Of a section that is the branch's own."""


@attrs.frozen
class ProjectFile:
    """A file with instructions of the project."""

    path: str
    text: str


def ordered(default: Mapping[str, Section], own: Mapping[str, Section]) -> dict[str, Section]:
    """All sections, in the order in which they are declared: see rule 2."""
    merged = {**default, **own}
    known = {name: merged.pop(name) for name in ORDER if name in merged}
    return known | merged


def wanted(answers: Mapping[str, Given], present: SystemMessage | None) -> dict[str, str]:
    """The sections as they are to be recorded, tags and all; one that failed is as the branch has it."""
    there = {} if present is None else present.sections or {}
    sections: dict[str, str] = {}
    for name, answer in answers.items():
        match answer:
            case Unanswered():
                kept = there.get(name)
                if kept is not None:
                    sections[name] = kept
            case str() if answer.strip():
                sections[name] = section(name, answer)
            case _:
                pass
    return sections


def change(
    answers: Mapping[str, Given] | None,
    present: SystemMessage | None,
    *,
    tools: Sequence[ToolDefinition] | None = (),
    now_ms: int,
    whole: bool = True,
) -> SystemMessage | None:
    """What is to be recorded before the turn, if anything is (P7). None for sections, or tools, that the branch may keep as it has them.

    `whole`: whether the answers are all that there is to be; else sections that they do not name stay as well.
    """
    there = SystemMessage(content="", timestamp=now_ms) if present is None else present
    if answers is not None and not whole:
        answers = {**dict.fromkeys(there.sections or {}, STAYS), **answers}
    if answers is None:
        sections = {name: text for name, text in (there.sections or {}).items() if text is not None}
    else:
        sections = wanted(answers, present)
    return delta(present, sections, (there.tools_added or ()) if tools is None else tools, now_ms=now_ms)


def tools_text(tools: Iterable[ToolDefinition]) -> str:
    """The section about the tools that the model is told of; empty if there are none."""
    return "\n".join(f"- {tool.name}: {tool.description}" for tool in tools)


def skills_text(skills: Mapping[str, str]) -> str:
    """The section about skills, descriptions only; empty if there are none."""
    listed = "\n".join(f"- {name}: {told}" for name, told in skills.items())
    return f"{SKILLS_INTRO}\n\n{listed}" if listed else ""


def project_text(files: Sequence[ProjectFile]) -> str:
    """The section of a project's own files, in this order; empty if there are none."""
    blocks = [
        f'<project_instructions path="{html.escape(file.path)}">\n{file.text}\n</project_instructions>'
        for file in files
        if file.text.strip()
    ]
    return "\n\n".join([PROJECT_INTRO, *blocks]) if blocks else ""


def _items(field: str, given: object) -> list[tuple[str, Any]]:
    if not isinstance(given, Mapping):
        raise Refused("bad-input", f"SystemPrompt({field}=…) is a mapping by names, not {given!r:.80}")
    items: list[tuple[Any, Any]] = [*given.items()]
    for name, _ in items:
        if not isinstance(name, str):
            raise Refused("bad-input", f"SystemPrompt({field}=…) has names that are text, not {name!r:.80}")
    return items
