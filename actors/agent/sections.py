"""Asks the sections of a system prompt for their texts: foreign code, a host's files.

1. All are asked at once, before the run's first word is recorded and never by the projection; each has as long as a handler (H2).
2. One that raises, gives what is no text or does not come is told, and harms no other one.
3. They are asked inside the run: one that waits for a command of its own session gets `WouldDeadlock`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType

import trio

from sapwood.actors.agent.prepare import SystemPrompt, ordered, project_text, skills_text, tools_text
from sapwood.actors.agent.project_files import LeftOut, find_project_files
from sapwood.actors.environment import Environment
from sapwood.actors.foreign import LEAVE_AFTER, LIMIT, Fault, outcome_of, words_of
from sapwood.actors.kernel import Apart, OperationCrashed
from sapwood.actors.projection.section import Given, Section, SectionContext, Unanswered, accepted
from sapwood.actors.projection.system_prompt import PREAMBLE
from sapwood.events.messages import ToolDefinition
from sapwood.events.runtime import Diagnostic, Event


class Sections:
    """The sections of one session, asked as often as it is prepared."""

    def __init__(
        self,
        prompt: SystemPrompt | None,
        environment: Environment,
        publish: Callable[[Event], int],
        report: Callable[[str, BaseException], None],
        contributed: Mapping[str, Section] = MappingProxyType({}),
    ) -> None:
        """`prompt`: None if the host asks for none. `report` is told of each fault in a section function: whose, and what it raised.

        `contributed`: those of extensions, which take the place of the host's but for the preamble (P6).
        """
        self._prompt = prompt
        self._contributed = contributed
        self._environment = environment
        self._publish = publish
        self._report = report
        self._left_out: tuple[LeftOut, ...] = ()
        """Files that were left out the last time: what is so again is not told again."""

    @property
    def asked_for(self) -> bool:
        """Whether the host or an extension asks for a part of the system prompt; without that there is nothing to ask."""
        return self._prompt is not None or bool(self._contributed)

    @property
    def whole(self) -> bool:
        """Whether what is asked for is all of the prompt: else what the branch has besides stays."""
        return self._prompt is not None

    async def ask(self, context: SectionContext, tools: Sequence[ToolDefinition] = ()) -> dict[str, Given] | None:
        """What each section comes to, in the order in which they are declared; None if no prompt is asked for.

        `tools`: what the model is told that it can call.
        """
        prompt = self._prompt
        if not self.asked_for:
            return None
        asked = {} if prompt is None else ordered(self._defaults(prompt, tools), prompt.sections)
        asked = ordered(asked, self._contributed)
        given: dict[str, Given] = dict.fromkeys(asked)
        async with trio.open_nursery() as nursery:
            for name, section in asked.items():
                if isinstance(section, str):
                    given[name] = accepted(section)
                else:
                    nursery.start_soon(self._ask_one, name, section, context, given)
        for name, answer in given.items():
            if isinstance(answer, Unanswered):
                told = f"the system prompt section {name!r} stays as it is: {answer.why}"
                self._publish(Diagnostic(code="section_failed", message=told, facts={"section": name}))
        return given

    def _defaults(self, prompt: SystemPrompt, tools: Sequence[ToolDefinition]) -> dict[str, Section]:
        sections: dict[str, Section] = {
            PREAMBLE: prompt.preamble,
            "tools": tools_text(tools),
            "skills": skills_text(prompt.skills),
        }
        if prompt.project_context is not False:
            folder = None if prompt.project_context is True else prompt.project_context
            sections["project_context"] = lambda context: self._project_context(context, folder)
        if prompt.cwd:
            sections["cwd"] = lambda context: context.cwd
        return sections

    async def _ask_one(
        self,
        name: str,
        section: Callable[[SectionContext], object],
        context: SectionContext,
        given: dict[str, Given],
    ) -> None:
        given[name] = Unanswered(f"it did not come within {LIMIT:g} s")
        part = Apart(lambda: self._answer(name, section, context), name=f"section {name}", grace=LEAVE_AFTER)
        try:
            with trio.move_on_after(LIMIT):
                given[name] = await part.run()
        except OperationCrashed as crash:  # it left something open that is not its own
            given[name] = Unanswered(words_of(crash.__cause__ or crash))
            self._report(name, crash)

    async def _answer(self, name: str, section: Callable[[SectionContext], object], context: SectionContext) -> Given:
        """The foreign code, and whatever comes of it."""

        async def asked() -> Given:
            answer = section(context)
            return accepted(await answer if inspect.isawaitable(answer) else answer)

        came = await outcome_of(asked, lambda fault: self._report(name, fault))
        return Unanswered(came.words()) if isinstance(came, Fault) else came

    async def _project_context(self, context: SectionContext, named: str | os.PathLike[str] | None) -> str:
        folder = context.cwd if named is None else str(PurePath(context.cwd, named))
        found = await self._environment.run_foreign(lambda: find_project_files(self._environment.disk, folder))
        for left_out in found.left_out:
            if left_out not in self._left_out:
                told = f"{left_out.path} is not in the system prompt: {left_out.why}"
                self._publish(Diagnostic(code="project_file_left_out", message=told, facts={"path": left_out.path}))
        self._left_out = found.left_out
        return project_text(found.files)
