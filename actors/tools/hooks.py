"""What extensions say of a call before it runs, and of its result (R1, H2)."""

from __future__ import annotations

from typing import Final, assert_never

import attrs
import msgspec

from sapwood.actors.asking import Questions
from sapwood.actors.billing import added
from sapwood.actors.kernel import CRASHES
from sapwood.actors.session_log.hygiene import clean_result
from sapwood.actors.tools.results import CallOutcome, failed
from sapwood.events.content import ToolCall
from sapwood.events.hooks import BeforeMessageAppend, Block, ChangeArguments, ToolCallQuestion, ToolResultQuestion
from sapwood.events.messages import ToolResultMessage

UNGUARDED: Final = "This call did not run: what was to allow it broke. Nothing came of it."


@attrs.frozen(kw_only=True)
class Hooks:
    """Asks whoever guards calls; costs nothing where nobody does."""

    questions: Questions

    async def allow(self, call: ToolCall) -> ToolCall | CallOutcome:
        """The call, with the arguments that it is to run with, or why it is not to run. What breaks has allowed nothing."""
        if not self.questions.has(ToolCallQuestion):
            return call
        asked = ToolCallQuestion(tool_name=call.name, tool_call_id=call.id, arguments=call.arguments)
        try:
            answer = await self.questions.extensions.ask(asked)
        except CRASHES:
            return failed(UNGUARDED)
        match answer:
            case Block(reason=reason, terminate=terminate):
                return attrs.evolve(failed(reason), terminate=terminate)
            case ChangeArguments(arguments=arguments):
                return msgspec.structs.replace(call, arguments=arguments)
            case None:
                return call
            case _:
                assert_never(answer)

    async def changed(self, call: ToolCall, outcome: CallOutcome) -> CallOutcome:
        """The result as it is to be recorded. Who is asked is shown what would be: a result may be of any size."""
        if not self.questions.has(ToolResultQuestion):
            return outcome
        content, details = clean_result(outcome.content, outcome.details)
        asked = ToolResultQuestion(
            tool_name=call.name,
            tool_call_id=call.id,
            content=content,
            details=details,
            is_error=outcome.is_error,
        )
        answer = await self.questions.ask(asked)
        if answer is None:
            return outcome
        return attrs.evolve(
            outcome,
            content=outcome.content if answer.content is None else answer.content,
            details=outcome.details if answer.details is None else answer.details,
            is_error=outcome.is_error if answer.is_error is None else answer.is_error,
            usage=added(outcome.usage, answer.usage),  # both were paid for (T6)
        )

    async def kept(self, message: ToolResultMessage) -> ToolResultMessage:
        """The result's message as it is to be recorded."""
        answer = await self.questions.ask(BeforeMessageAppend(message=message))
        kept = message if answer is None else answer.message
        return kept if isinstance(kept, ToolResultMessage) else message
