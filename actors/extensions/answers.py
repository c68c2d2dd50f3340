"""What a handler may have answered: foreign values, made ours or refused. No I/O, no awaits.

1. None is an answer to every question; a kind that the question does not admit is none.
2. What is taken is a copy that can be written (S12): nothing in it changes behind our back.
3. A message takes the place of one of its own role, and the system's are no answer where they were not shown.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from sapwood.actors.extensions.merging import RULES, AnyAnswer, Came, NoAnswer
from sapwood.events.codec import why_unwritable
from sapwood.events.fitting import fitting
from sapwood.events.hooks import AnyQuestion, BeforeMessageAppend, ChangeMessage, ChangeMessages, ContextQuestion
from sapwood.events.messages import SystemMessage

S = TypeVar("S", bound=msgspec.Struct)


def copied(value: S) -> S:
    """A value that shares nothing with this one that could change: whoever gets it may do with it as they like."""
    return msgspec.convert(msgspec.to_builtins(value), type(value))


def admitted(question: AnyQuestion, answer: object) -> Came:
    """What a handler answered, or why it is no answer. It looks at a foreign object, and so raises whatever that one's code raises."""
    if answer is None:
        return None
    admits = RULES[type(question)].admits
    kind: type[AnyAnswer] | None = next((kind for kind in admits if isinstance(answer, kind)), None)
    if kind is None:
        wanted = " or ".join(one.__name__ for one in admits) or "nothing"
        return NoAnswer(f"it gave {answer!r:.80}, where {wanted} is to be answered, or None")
    try:
        taken = _writable(answer, kind)
    except ValueError as fault:
        return NoAnswer(f"its {kind.__name__} cannot be used: {fault}")
    misfit = _misfit(question, taken)
    return taken if misfit is None else NoAnswer(f"its {kind.__name__} cannot be used: {misfit}")


def _writable(answer: object, kind: type[AnyAnswer]) -> AnyAnswer:
    """A copy that the log could hold, each half of a character replaced. `ValueError` says why there is none."""
    taken: AnyAnswer = fitting(answer, kind)
    why_not = why_unwritable(msgspec.to_builtins(taken))
    if why_not is not None:
        raise ValueError(why_not)
    return taken


def _misfit(question: AnyQuestion, answer: AnyAnswer) -> str | None:
    match question, answer:
        case BeforeMessageAppend(message=shown), ChangeMessage(message=given) if given.role != shown.role:
            return f"a message of the role {given.role} cannot take the place of one of {shown.role}"
        case ContextQuestion(), ChangeMessages(messages=messages) if any(
            isinstance(one, SystemMessage) for one in messages
        ):
            return "the system's messages were not shown and are not to be given: context_with_system is the question for them"
        case _:
            return None
