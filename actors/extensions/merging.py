"""How the answers of several handlers come to one (H1). No I/O, no clock, no awaits.

1. Policy is two tables: `RULES` says how each question is answered, `FIELDS` how two answers of a kind become one.
2. Handlers are asked one after the other, and None changes nothing.
3. An answer that stops is the answer, and nobody is asked after it.
4. Where a question chains, the next handler sees what the earlier ones made of it.
5. Later fields override earlier ones. What is overridden by who could not see it is in `lost`: nothing is thrown away in silence.
6. A handler that fails changes nothing, unless its question fails closed: then the call is blocked (H2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, assert_never

import attrs
import msgspec

from sapwood.actors.billing import added
from sapwood.events.hooks import (
    AddBeforeStart,
    AfterProviderResponse,
    AgentBeforeSettle,
    AnyQuestion,
    BeforeAgentStart,
    BeforeMessageAppend,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    BeforeTurnEnd,
    Block,
    Boundary,
    Cancel,
    ChangeArguments,
    ChangeHeaders,
    ChangeInput,
    ChangeMessage,
    ChangeMessages,
    ChangePayload,
    ChangeResult,
    ContextQuestion,
    ContextWithSystem,
    Handled,
    InputReceived,
    ProviderStreamEvent,
    ProvideSummary,
    Question,
    SessionBeforeCompact,
    SessionBeforeFork,
    SessionBeforeTree,
    SessionShutdown,
    SessionStart,
    ToolCallQuestion,
    ToolResultQuestion,
    TreeAnswer,
)

AnyAnswer = (
    Cancel
    | ProvideSummary
    | TreeAnswer
    | Block
    | ChangeArguments
    | ChangeResult
    | ChangeMessages
    | ChangeMessage
    | ChangeInput
    | Handled
    | AddBeforeStart
    | Boundary
    | ChangeHeaders
    | ChangePayload
)
FAILED_CLOSED: Final = "the call was not run: the extension"
"""How it begins what the model is told of a call that an extension was to decide on, and failed to (H2)."""
MOST_WORDS: Final = 500
"""Characters of what went wrong that a model reads of a call that a failing handler blocked: its event has all of them."""


@attrs.frozen
class NoAnswer:
    """A handler that gave no answer, and why, in words."""

    why: str


Came = AnyAnswer | NoAnswer | None
"""What came of asking one handler."""


@attrs.frozen(kw_only=True)
class Rule:
    """How one question is answered."""

    changes: type[AnyAnswer] | None = None
    """The answer that may come from several handlers, which `FIELDS` makes one of. With neither this nor the next, it only notifies."""
    stops: type[AnyAnswer] | None = None
    """The answer that is the last word."""
    chains: bool = False
    """Whether the next handler sees the question as the earlier ones changed it."""
    closed: bool = False
    """Whether a handler that fails blocks the call."""

    @property
    def admits(self) -> tuple[type[AnyAnswer], ...]:
        """The kinds of answer that it may get, besides None."""
        return tuple(kind for kind in (self.stops, self.changes) if kind is not None)


NOTIFIES: Final = Rule()

RULES: Final[Mapping[type[Question[Any]], Rule]] = {
    SessionBeforeCompact: Rule(stops=Cancel, changes=ProvideSummary),
    SessionBeforeTree: Rule(stops=Cancel, changes=TreeAnswer),
    SessionBeforeFork: Rule(stops=Cancel),
    SessionStart: NOTIFIES,
    SessionShutdown: NOTIFIES,
    InputReceived: Rule(stops=Handled, changes=ChangeInput, chains=True),
    BeforeAgentStart: Rule(changes=AddBeforeStart),
    ContextQuestion: Rule(changes=ChangeMessages, chains=True),
    ContextWithSystem: Rule(changes=ChangeMessages, chains=True),
    BeforeMessageAppend: Rule(changes=ChangeMessage, chains=True),
    BeforeTurnEnd: Rule(changes=Boundary),
    AgentBeforeSettle: Rule(changes=Boundary),
    BeforeProviderHeaders: Rule(changes=ChangeHeaders, chains=True),
    BeforeProviderRequest: Rule(changes=ChangePayload, chains=True),
    AfterProviderResponse: NOTIFIES,
    ProviderStreamEvent: NOTIFIES,
    ToolCallQuestion: Rule(stops=Block, changes=ChangeArguments, chains=True, closed=True),
    ToolResultQuestion: Rule(changes=ChangeResult, chains=True),
}


@attrs.frozen
class With:
    """The field belongs to another one: whoever gives that one anew takes this one's earlier value away, since it spoke of the old one."""

    head: str


How = Literal["replaces", "overrides", "follows", "adds", "by_name"] | With
"""What a later field does to an earlier one: `replaces` it always, `overrides` it if it is given, comes behind it, is added to it, or
overrides each of its names."""

FIELDS: Final[Mapping[type[AnyAnswer], Mapping[str, How]]] = {
    ProvideSummary: {"text": "replaces", "first_kept": With("text"), "usage": "adds", "details": With("text")},
    TreeAnswer: {
        "summary": "overrides",
        "instructions": "overrides",
        "replace_instructions": With("instructions"),
        "label": "overrides",
        "usage": "adds",
        "details": With("summary"),
    },
    ChangeArguments: {"arguments": "replaces"},
    ChangeResult: {"content": "overrides", "details": "overrides", "is_error": "overrides", "usage": "adds"},
    ChangeMessages: {"messages": "replaces"},
    ChangeMessage: {"message": "replaces"},
    ChangeInput: {"text": "replaces", "images": "overrides"},
    AddBeforeStart: {"messages": "follows", "system_prompt": "overrides"},
    Boundary: {"entries": "follows", "go_on": "overrides"},
    ChangeHeaders: {"headers": "by_name"},
    ChangePayload: {"payload": "replaces"},
}


@attrs.frozen
class Lost:
    """What one handler gave and a later one took the place of, unseen."""

    field: str
    whose: str
    by: str


@attrs.frozen
class Asking:
    """A question on its way through its handlers."""

    question: AnyQuestion
    """As the next handler is to see it."""
    answer: AnyAnswer | None = None
    """What the answers come to so far."""
    over: bool = False
    """Whether nobody else is to be asked."""
    lost: tuple[Lost, ...] = ()
    givers: Mapping[str, str] = attrs.field(factory=dict[str, str])
    """Which extension gave each field of the answer last."""


def after(asking: Asking, extension: str, came: Came) -> Asking:
    """The question after one more handler, which is of this extension."""
    rule = RULES[type(asking.question)]
    if asking.over or came is None:
        return asking
    if isinstance(came, NoAnswer):
        return attrs.evolve(asking, answer=_blocked(extension, came), over=True) if rule.closed else asking
    if isinstance(came, Cancel | Handled):
        came = msgspec.structs.replace(came, by=extension)
    earlier, stops = asking.answer, type(came) is rule.stops
    answer = came if earlier is None or stops else joined(earlier, came)
    unseen = () if earlier is None or rule.chains else _gone(earlier, answer)
    return Asking(
        question=shown(asking.question, came),
        answer=answer,
        over=stops,
        lost=(*asking.lost, *(Lost(field, asking.givers[field], extension) for field in unseen)),
        givers={**asking.givers, **dict.fromkeys(_given(came), extension)},
    )


def shown(question: AnyQuestion, answer: AnyAnswer) -> AnyQuestion:
    """The question as an answer changes it: fields of a question that chains are called as those of its answer."""
    if not RULES[type(question)].chains:
        return question
    match question, answer:
        case BeforeProviderHeaders(header_names=shown_names), ChangeHeaders(headers=headers):
            there = _by_name(dict.fromkeys(shown_names, ""), headers)
            changes: dict[str, Any] = {"header_names": tuple(name for name in there if there[name] is not None)}
        case _:
            changes = {field: getattr(answer, field) for field in _given(answer) if hasattr(question, field)}
    return msgspec.structs.replace(question, **changes)


def joined(earlier: AnyAnswer, later: AnyAnswer) -> AnyAnswer:
    """Two answers of one kind as one."""
    fields = {field: _joined(how, field, earlier, later) for field, how in FIELDS[type(later)].items()}
    return msgspec.structs.replace(later, **fields)


def _joined(how: How, field: str, earlier: AnyAnswer, later: AnyAnswer) -> Any:
    old, new = getattr(earlier, field), getattr(later, field)
    match how:
        case "replaces":
            return new
        case "overrides":
            return old if new is None else new
        case With(head=head):
            return old if new is None and getattr(later, head) is None else new
        case "follows":
            return new if old is None else (*old, *(new or ()))
        case "adds":
            return added(old, new)
        case "by_name":
            return _by_name(old, new)
        case _:
            assert_never(how)


def _by_name(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> dict[str, str | None]:
    """Headers of both; their names are the same in capitals and in small letters."""
    names = {name.casefold() for name in new}
    return {name: value for name, value in old.items() if name.casefold() not in names} | {**new}


def _given(answer: AnyAnswer) -> list[str]:
    """The fields that an answer gives; of one that stops there is nothing to tell."""
    fields = FIELDS.get(type(answer), {})
    return [field for field, how in fields.items() if how == "replaces" or getattr(answer, field) is not None]


def _gone(earlier: AnyAnswer, now: AnyAnswer) -> list[str]:
    """The fields that the earlier answer gave and the present one has otherwise."""
    if type(now) is not type(earlier):
        return _given(earlier)
    kept = {field for field, how in FIELDS[type(now)].items() if how in {"follows", "adds", "by_name"}}
    return [field for field in _given(earlier) if field not in kept and getattr(now, field) != getattr(earlier, field)]


def _blocked(extension: str, failed: NoAnswer) -> Block:
    why = failed.why if len(failed.why) <= MOST_WORDS else f"{failed.why[:MOST_WORDS]} …"
    return Block(reason=f"{FAILED_CLOSED} {extension!r}, which decides on it, failed: {why}")
