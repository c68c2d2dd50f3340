"""What a run asks extensions, and what it makes of their answers (H, M9).

1. Of a run that was stopped nobody is asked, and a stop ends the asking: the run goes on as if nobody had answered (R4).
2. What they write is appended as what the run itself writes; what cannot be is told, and left out.
3. A request that is not what the log says is told of, and so is its answer (P9, T3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from sapwood.actors.agent.one_run import Run
from sapwood.actors.agent.rewriting import entry_of, forced, heard, targets, with_system
from sapwood.actors.agent.steps import AtBoundary, Crossed
from sapwood.actors.asking import Questions
from sapwood.actors.kernel import Ref, insist
from sapwood.actors.projection.section import Given
from sapwood.actors.session_log.capping import too_large
from sapwood.actors.session_log.run_log import Pen
from sapwood.events.commands import Input
from sapwood.events.errors import Refused, Unencodable, no_entry
from sapwood.events.hooks import (
    BeforeAgentStart,
    BeforeMessageAppend,
    ContextQuestion,
    ContextWithSystem,
    Draft,
    DraftState,
    InputReceived,
    Question,
)
from sapwood.events.messages import AssistantMessage, Message, SystemMessage, UserMessage
from sapwood.events.requests import Select
from sapwood.events.runtime import Diagnostic, Event

A = TypeVar("A")
S = TypeVar("S", bound=SystemMessage | UserMessage | AssistantMessage)


class RunHooks:
    """For the agent."""

    def __init__(self, questions: Questions, projection: Ref, pen: Pen, publish: Callable[[Event], int]) -> None:
        self._questions = questions
        self._projection = projection
        self._pen = pen
        self._publish = publish

    @property
    def hears_input(self) -> bool:
        """Whether anybody is to be asked about what is said."""
        return self._questions.has(InputReceived)

    async def heard(self, said: Input, run: Run | None = None) -> Input:
        """What was said as extensions have it. `Refused("handled", …)` where one of them has done what was asked."""
        question = InputReceived(text=said.text, images=said.images, source=said.source)
        return heard(said, await (self._questions.ask(question) if run is None else self._ask(question, run)))

    async def starting(self, said: Input | None, sections: Mapping[str, Given] | None, run: Run) -> None:
        """Once a run: what is added behind what was said, and the prompt that goes out in the place of the composed one."""
        if run.asked or said is None:
            return
        run.asked = True
        texts = {name: text for name, text in (sections or {}).items() if isinstance(text, str)}
        answer = await self._ask(BeforeAgentStart(prompt=said.text, images=said.images, sections=texts), run)
        if answer is not None:
            run.forced, run.notes = answer.system_prompt, answer.messages

    async def keep_notes(self, run: Run) -> None:
        """Append what was to be added behind what was said."""
        notes, run.notes = run.notes, ()
        for note in notes:
            await self._append(note, run)

    async def kept(self, message: S, run: Run) -> S:
        """A message as it is to be recorded. The prompt's own are no message that anybody says."""
        if isinstance(message, SystemMessage):
            return message
        answer = await self._ask(BeforeMessageAppend(message=message), run)
        return answer.message if answer is not None and isinstance(answer.message, type(message)) else message

    async def sent(self, messages: tuple[Message, ...], run: Run) -> tuple[Message, ...]:
        """The messages of a request, the same object if they are those of the log."""
        changed: list[str] = []
        if self._questions.has(ContextQuestion):
            bare = tuple(one for one in messages if not isinstance(one, SystemMessage))
            answer = await self._ask(ContextQuestion(messages=bare), run)
            if answer is not None and answer.messages != bare:
                changed.append("context")
                messages = with_system(messages, answer.messages)
        answer = await self._ask(ContextWithSystem(messages=messages), run)
        if answer is not None and answer.messages != messages:
            changed.append("context_with_system")
            messages = answer.messages
        if run.forced is not None:
            changed.append("before_agent_start")
            messages = forced(messages, run.forced, self._pen.environment.now_ms())
        if changed:
            told = f"this request is not what the log says: extensions changed it ({', '.join(changed)})"
            self._publish(Diagnostic(code="request_changed", message=told, facts={"events": changed}))
        return messages

    async def cross(self, asked: AtBoundary, run: Run) -> Crossed:
        """Ask at a boundary, and append what is wanted there."""
        answer = await self._ask(asked.question, run)
        if answer is None:
            return Crossed(asked)
        for draft in answer.entries or ():
            await self._append(draft, run)
        if answer.go_on and asked.goes_on is False and not await self._something_new():
            told = "an extension has the run go on, and there is nothing new to answer: it does not"
            self._publish(Diagnostic(code="nothing_to_go_on_with", message=told))
            return Crossed(asked)
        return Crossed(asked, answer.go_on)

    async def _something_new(self) -> bool:
        """Whether another request would end with anything but the model's own answer."""
        selection = await insist(self._projection, Select())
        said = [one for one in selection.messages if not isinstance(one, SystemMessage)]
        return bool(said) and not isinstance(said[-1], AssistantMessage)

    async def _append(self, draft: Draft, run: Run) -> None:
        target = targets(draft)
        try:
            if target is not None and target not in self._pen.view.tree:
                raise no_entry(target)
            if isinstance(draft, DraftState) and (too_much := too_large(draft.data)) is not None:
                raise Refused("bad-input", too_much)  # noqa: TRY301 - it ends as the log's own refusals do
            await run.log.add(lambda entry_id, timestamp: entry_of(draft, entry_id, timestamp))
        except (Refused, Unencodable) as why:
            kind = {name: value for name, value in msgspec.structs.asdict(draft).items() if name != "data"}
            told = f"what an extension wanted appended cannot be: {why}"
            self._publish(Diagnostic(code="draft_refused", message=told, facts={"draft": type(draft).__name__, **kind}))

    async def _ask(self, question: Question[A], run: Run) -> A | None:
        if run.stopped or not self._questions.has(type(question)):
            return None
        with run.idle():
            return await self._questions.ask(question)
        return None
