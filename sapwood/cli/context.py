"""What the model would see of a session, as lines. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

import msgspec

from sapwood.cli.damages import damage_in_short, damage_json, version_in_short
from sapwood.cli.drawing import session_json, short_ids
from sapwood.events.base import Json
from sapwood.events.context import Absent, Context, ContextItem, CounterName, Measured, Unsent
from sapwood.events.models import Model
from sapwood.reading import Reading
from sapwood.words.describing import message_in_words
from sapwood.words.wording import Line, Piece, counted, cut, line, visible

REASONS: Final[dict[Unsent, str]] = {
    "aborted": "aborted",
    "failed": "failed",
    "result_of_unsent_call": "result of a call that is not sent",
    "excluded": "kept from the model by hand",
    "empty": "nothing in it",
}
"""Why a message is not sent, for people."""

ABSENT: Final[dict[Absent, str]] = {
    "compacted": "summed up by a compaction",
    "hidden": "hidden by an edit",
    "silent": "not for the model",
    "unreadable": "not to be read by this release",
}
"""Why an entry gives no message, for people."""


COUNTERS: Final[dict[CounterName, str]] = {
    "o200k_base": "o200k_base",
    "cl100k_base": "cl100k_base",
    "heuristic": "the heuristic",
}
"""Who counted, for people."""


def show(session: Reading, *, window: int | None, full: bool, last: int | None = None) -> Iterator[Line]:
    """Each message with its role, tokens and entry, or the `last` ones; then the sums of all."""
    context = session.context()
    short = short_ids(session.tree())
    yield line(Piece(f"{'role':18}{'tokens':>8}  {'entry':8}  text", "dim"))
    told: set[str] = set()
    items = last_of(context.items, last)
    if len(items) < len(context.items):
        yield line(Piece(f"({counted(len(context.items) - len(items), 'message')} before these)", "dim"))
    for item in items:
        if item.entry_id in context.gaps and item.entry_id not in told:
            told.add(item.entry_id)
            lost = cut(context.gaps[item.entry_id], 40)
            yield line(Piece(f"gap: the entry {lost}, which stood here, is lost", "bad"))
        yield line(
            Piece(f"{item.message.role:18}", "dim" if item.unsent else "accent"),
            f"{item.tokens:8,}  ",
            Piece(f"{short(item.entry_id)}  ", "name"),
            Piece(f"not sent ({REASONS[item.unsent]}): " if item.unsent else "", "bad"),
            "" if full else cut(message_in_words(item.message)),
        )
        if full:
            yield from (line("    ", text) for text in visible(message_in_words(item.message)).split("\n"))
    yield line()
    yield from _sums(session, context, window)
    yield from version_in_short(session)
    yield from damage_in_short(session)


def last_of(items: Sequence[ContextItem], last: int | None) -> Sequence[ContextItem]:
    """So many, from the end."""
    return items if last is None else items[max(0, len(items) - last) :]


def to_json(session: Reading, *, window: int | None, last: int | None = None) -> Json:
    """The context as plain values; of its messages, the `last` ones."""
    context = session.context()
    usage, measured = session.context_usage(_model(context, window)), session.measured()
    return {
        "session": session_json(session),
        "leaf": context.leaf,
        "messages": [
            {
                "role": item.message.role,
                "tokens": item.tokens,
                "entryId": item.entry_id,
                "unsent": item.unsent,
                "text": message_in_words(item.message),
                "message": msgspec.to_builtins(item.message),
            }
            for item in last_of(context.items, last)
        ],
        "absent": dict(context.absent),
        "gaps": dict(context.gaps),
        "model": None if context.model is None else {"provider": context.model[0], "id": context.model[1]},
        "thinkingLevel": context.thinking_level,
        "totals": {
            "messages": len(context.items),
            "unsent": len(_unsent(context)),
            "tokens": sum(item.tokens for item in context.items),
            "sentTokens": _sent_tokens(context),
            "counter": context.counter,
        },
        "usage": {
            "tokens": usage.tokens,
            "window": usage.window,
            "percent": usage.percent,
            "text": str(usage),
            "source": measured.source,
            "counter": measured.counter,
        },
        "damage": damage_json(session.damage),
    }


def _sums(session: Reading, context: Context, window: int | None) -> Iterator[Line]:
    reasons = Counter(REASONS[item.unsent] for item in context.items if item.unsent is not None)
    why = ", ".join(f"{number} {reason}" for reason, number in reasons.most_common())
    unsent = f", {len(_unsent(context))} not sent ({why})" if why else ""
    yield line(Piece(f"{counted(len(context.items), 'message')}{unsent}", "bold"))
    absent = Counter(context.absent.values())
    if absent:
        told = ", ".join(f"{number} {ABSENT[reason]}" for reason, number in absent.most_common())
        yield line(f"{counted(len(context.absent), 'entry', 'entries')} of the path without a message: {told}")
    if context.gaps:
        names = ", ".join(f"{cut(lost, 40)} above {cut(below, 40)}" for below, lost in context.gaps.items())
        yield line(Piece(f"{counted(len(context.gaps), 'gap')} in the path: {names} (lost)", "bad"))
    rule = " (four characters a token)" if context.counter == "heuristic" else ""
    yield line(f"{_sent_tokens(context):,} tokens are sent{_counted_by(context.counter)}{rule}")
    if session.counter_trouble is not None:
        yield line(Piece(visible(session.counter_trouble), "bad"))
    model = "none yet" if context.model is None else visible("/".join(context.model))
    yield line(f"model {model}, thinking {visible(context.thinking_level)}")
    usage = session.context_usage(_model(context, window))
    taken = "" if window else " (no --window: taken to be this large)"
    yield line(f"context {usage}{taken}: {_explained(context, session.measured())}")


def _explained(context: Context, measured: Measured) -> str:
    """Where the tokens of the usage come from, for they need not be those that are counted."""
    tokens = counted(measured.tokens, "token")
    match measured.source:
        case "none":
            return "unknown until the model has answered, for no answer has come since the compaction"
        case "reported" if measured.counted:
            reported = f"{measured.tokens - measured.counted:,} that the provider reported with its last answer"
            return f"{tokens}, {reported} and {measured.counted:,} since it{_counted_by(measured.counter)}"
        case "reported":
            return f"{tokens}, as the provider reported with its last answer"
        case "estimated":
            unsent = sum(item.tokens for item in _unsent(context))
            return tokens + _counted_by(measured.counter) + (f", {unsent:,} of them not sent" if unsent else "")
        case _:
            assert_never(measured.source)


def _counted_by(counter: CounterName | None) -> str:
    """What makes of a number an estimate; nothing where there was nothing to count."""
    return "" if counter is None else f", counted by {COUNTERS[counter]}"


def _unsent(context: Context) -> list[ContextItem]:
    return [item for item in context.items if item.unsent is not None]


def _sent_tokens(context: Context) -> int:
    return sum(item.tokens for item in context.items if item.unsent is None)


def _model(context: Context, window: int | None) -> Model:
    provider, model = context.model or ("unknown", "unknown")
    return Model(provider=provider, id=model, context_window=window)
