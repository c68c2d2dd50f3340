"""What came of a prompt: as plain values, and why there is no answer. No I/O."""

from __future__ import annotations

import msgspec

from sapwood.events.base import Json
from sapwood.events.commands import Delivered
from sapwood.events.content import text_of
from sapwood.events.context import ContextUsage
from sapwood.events.stats import Spent
from sapwood.session import Session
from sapwood.words.wording import counted, one_line


def unanswered(outcome: Delivered) -> str | None:
    """Why there is no whole answer, or that it is a short one; None if all is well."""
    answer = outcome.answer
    if not outcome.failed:
        return None if answer is None or answer.stop_reason != "length" else "the answer reached its limit"
    if outcome.error is not None:
        return f"the run broke: {one_line(outcome.error)}"
    if outcome.aborted or answer is None or answer.stop_reason == "aborted":
        return "stopped"
    return f"no answer: {one_line(answer.error_message or 'without a reason')}"


def outcome_json(outcome: Delivered, session: Session) -> Json:
    """The outcome, and what the session has cost until now."""
    answer = outcome.answer
    return {
        "answer": None if answer is None else text_of(answer.content),
        "failed": outcome.failed,
        "aborted": outcome.aborted,
        "stopReason": None if answer is None else answer.stop_reason,
        "error": outcome.error or (None if answer is None else answer.error_message),
        "turns": outcome.turns,
        "entryId": outcome.entry_id,
        "session": session.path,
        "model": session.model.key,
        "usage": spent_json(session.stats().spent),
    }


def spent_json(spent: Spent) -> Json:
    """What some calls were billed with."""
    return {
        "calls": spent.calls,
        "input": spent.input,
        "output": spent.output,
        "cacheRead": spent.cache_read,
        "cacheWrite": spent.cache_write,
        "total": spent.total,
        "cost": msgspec.to_builtins(spent.cost),
        "unpriced": spent.unpriced,
    }


def usage_line(usage: ContextUsage, spent: Spent) -> str:
    """How full the window is, and what was billed."""
    cached = f", {spent.cache_read:,} read from caches" if spent.cache_read else ""
    cost = "cost unknown" if spent.cost is None else f"${spent.cost:.4f}"
    more = f" without {counted(spent.unpriced, 'call')}" if spent.cost is not None and spent.unpriced else ""
    return f"context {usage}; {counted(spent.calls, 'call')}, {spent.input:,} in, {spent.output:,} out{cached}; {cost}{more}"
