"""What a handler may have answered: foreign values, made ours or refused. No I/O, no awaits.

1. None is an answer to every question; a kind that the question does not admit is none.
2. What is taken is a copy that can be written (S12): nothing in it changes behind our back.
3. A message takes the place of one of its own role, and the system's are no answer where they were not shown.
4. What was billed, how an answer ended and which call a result is of are facts: no answer changes them.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from sapwood.actors.extensions.merging import RULES, AnyAnswer, Came, NoAnswer
from sapwood.actors.session_log.capping import MOST_BYTES, too_long
from sapwood.actors.session_log.hygiene import uncontrolled
from sapwood.events.codec import why_unwritable
from sapwood.events.fitting import fitting
from sapwood.events.hooks import (
    AnyQuestion,
    BeforeMessageAppend,
    ChangeHeaders,
    ChangeInput,
    ChangeMessage,
    ChangeMessages,
    ContextQuestion,
    InputReceived,
)
from sapwood.events.messages import AssistantMessage, Message, SystemMessage, ToolResultMessage

HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of HTTP."""
HEADER_VALUE: Final = re.compile(r"[\t -~]*")
"""What every server reads alike."""

FRAMING: Final = frozenset({"content-length", "transfer-encoding"})
"""Headers that say where a body ends: another value of theirs is a lie, and a server that believes it waits, or reads the next request."""


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
        case BeforeMessageAppend(message=shown), ChangeMessage(message=given):
            return _other_fact(shown, given)
        case ContextQuestion(), ChangeMessages(messages=messages) if any(
            isinstance(one, SystemMessage) for one in messages
        ):
            return "the system's messages were not shown and are not to be given: context_with_system is the question for them"
        case InputReceived(images=shown_images), ChangeInput(text=text, images=images):
            return _no_input(text, bool(shown_images if images is None else images))
        case _, ChangeHeaders(headers=headers):
            return _no_header(headers)
        case _:
            return None


def _other_fact(shown: Message, given: Message) -> str | None:
    """What a message says otherwise than the one whose place it is to take, and may not."""
    facts: tuple[str, ...]
    match shown, given:
        case AssistantMessage(), AssistantMessage():
            facts = ("usage", "stop_reason", "provider", "model", "api", "error_message")
        case ToolResultMessage(), ToolResultMessage():
            facts = ("tool_call_id", "tool_name", "usage")
        case _ if given.role != shown.role:
            return f"a message of the role {given.role} cannot take the place of one of {shown.role}"
        case _:
            return None
    other = next((field for field in facts if getattr(shown, field) != getattr(given, field)), None)
    return None if other is None else f"its {other} is another one, and that is a fact: keep it as it was shown"


def _no_input(text: str, has_images: bool) -> str | None:
    size = too_long(text)
    if size is not None:
        return f"an input has at most {MOST_BYTES:,} bytes, and this one has {size:,}"
    return None if has_images or uncontrolled(text).strip() else "there is neither text nor an image in it"


def _no_header(headers: dict[str, str | None]) -> str | None:
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            return f"{name!r:.80} is no name of a header"
        if name.lower() in FRAMING:
            return f"the header {name} says where the body ends, and follows from the body"
        if value is not None and not HEADER_VALUE.fullmatch(value):
            return f"the value of the header {name} has a character that headers cannot have"
    return None
