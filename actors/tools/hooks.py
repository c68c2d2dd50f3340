"""What extensions say of a call before it runs, and of its result (R1, H2)."""

from __future__ import annotations

from typing import Final, assert_never

import attrs
import msgspec

from sapwood.actors.billing import added
from sapwood.actors.extensions.extension import Registered
from sapwood.actors.kernel import CRASHES, Ref
from sapwood.actors.tools.results import CallOutcome, failed
from sapwood.events.content import ToolCall
from sapwood.events.hooks import Block, ChangeArguments, ToolCallQuestion, ToolResultQuestion

UNGUARDED: Final = "This call did not run: what was to allow it broke. Nothing came of it."


@attrs.frozen(kw_only=True)
class Hooks:
    """Asks whoever guards calls; costs nothing where nobody does."""

    registered: Registered
    extensions: Ref

    async def allow(self, call: ToolCall) -> ToolCall | CallOutcome:
        """The call, with the arguments that it is to run with, or why it is not to run. What breaks has allowed nothing."""
        if not self.registered.has(ToolCallQuestion):
            return call
        asked = ToolCallQuestion(tool_name=call.name, tool_call_id=call.id, arguments=call.arguments)
        try:
            answer = await self.extensions.ask(asked)
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
        """The result as it is to be recorded."""
        if not self.registered.has(ToolResultQuestion):
            return outcome
        asked = ToolResultQuestion(
            tool_name=call.name,
            tool_call_id=call.id,
            content=outcome.content,
            details=outcome.details,
            is_error=outcome.is_error,
        )
        try:
            answer = await self.extensions.ask(asked)
        except CRASHES:
            return outcome
        if answer is None:
            return outcome
        return attrs.evolve(
            outcome,
            content=outcome.content if answer.content is None else answer.content,
            details=outcome.details if answer.details is None else answer.details,
            is_error=outcome.is_error if answer.is_error is None else answer.is_error,
            usage=added(outcome.usage, answer.usage),  # both were paid for (T6)
        )
