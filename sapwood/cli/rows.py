"""Sessions and bills in rows, and as plain values. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from sapwood.cli.context import COUNTERS
from sapwood.cli.drawing import session_json
from sapwood.cli.outcome import spent_json
from sapwood.events.base import Json
from sapwood.events.catalog import ListedSession, ScannedSession
from sapwood.events.stats import Billed, CounterCheck, SessionStats, Spent
from sapwood.reading import Reading
from sapwood.words.wording import Line, Piece, counted, cut, line, named, visible

ID: Final = 13
"""Characters of an id in a row: the time in a UUIDv7, to the millisecond."""
TEXT: Final = 60
"""Characters of a name or a first message in a row: the folder behind it still fits."""
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


def size_in_words(size: int) -> str:
    """`512 B`, `1.2 MB`."""
    amount, unit = float(size), 0
    while amount >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit and amount < 99.95 else f"{amount:.0f} {_UNITS[unit]}"


def heading() -> Line:
    """What stands above the rows of sessions."""
    return line(Piece(f"{'last activity':16}  {'size':>8}    {'id':{ID}}  name, or what was said first", "dim"))


def session_row(one: ListedSession, scan: ScannedSession | None = None) -> Iterator[Line]:
    """A session in a line; with a look through its whole file, in two."""
    when = (one.last_activity or one.modified)[:16].replace("T", " ")
    name = one.name if scan is None else scan.name
    said = Piece(cut(name, TEXT), "bold") if name else Piece(cut(one.first_message or "", TEXT))
    folder = f"  {named(one.cwd)}" if one.cwd else ""
    mark = Piece("*" if one.open else " ", "accent")
    id_ = Piece(f"{visible(one.id[:ID]):{ID}}", "name")
    yield line(f"{when:16}  {size_in_words(one.size):>8}  ", mark, " ", id_, "  ", said, Piece(folder, "dim"))
    if scan is not None:
        damage = len([record for record in scan.damage if not record.is_note])
        damaged = f"; damaged in {counted(damage, 'place')}" if damage else ""
        yield line(f"{'':32}{in_short(scan.stats)}; own: {spent_in_words(scan.stats.own.spent)}{damaged}")


def listed_json(one: ListedSession, scan: ScannedSession | None = None) -> Json:
    """With every key, whatever is not known being null."""
    return {
        "path": one.path,
        "id": one.id,
        "version": one.version,
        "cwd": one.cwd,
        "parentSession": one.parent_session,
        "created": one.created,
        "modified": one.modified,
        "lastActivity": one.last_activity,
        "size": one.size,
        "name": one.name if scan is None else scan.name,
        "firstMessage": one.first_message,
        "open": one.open,
        "stats": None if scan is None else stats_json(scan.stats),
        "damage": None if scan is None else msgspec.to_builtins(scan.damage),
    }


def in_short(stats: SessionStats) -> str:
    """How much is in a session."""
    parts = (
        counted(stats.entries, "entry", "entries"),
        counted(stats.user_messages, "prompt"),
        counted(stats.answers, "answer"),
        counted(stats.tool_calls, "tool call"),
        counted(stats.compactions, "compaction"),
    )
    return ", ".join(parts)


def spent_in_words(spent: Spent) -> str:
    """Calls, tokens and cost in a few words."""
    return f"{counted(spent.calls, 'call')}, {counted(spent.total, 'token')}, {_cost(spent)}"


def stats_lines(session: Reading, stats: SessionStats) -> Iterator[Line]:
    """What a session paid for, and what its parent did."""
    name = f"{cut(session.name)}: " if session.name else ""
    yield line(f"{name}{in_short(stats)}, {named(session.path)}")
    yield from bill_lines("own" if stats.inherited.spent.calls else "", stats.own)
    if stats.inherited.spent.calls:
        yield from bill_lines("inherited, paid for in the session that this one is a fork of", stats.inherited)
    if stats.counting is not None:
        yield from counting_lines(stats.counting)


def bill_lines(title: str, bill: Billed) -> Iterator[Line]:
    """A bill: the sum, then by model and by purpose."""
    if title:
        yield line("  ", Piece(title, "bold"))
    yield line(Piece(f"  {'':30}{'calls':>7}{'in':>13}{'out':>12}{'cached':>13}{'written':>12}  cost", "dim"))
    yield _spent_line("all", bill.spent)
    for by, some in (("model", bill.by_model), ("purpose", bill.by_purpose)):
        for key, spent in sorted(some.items()):
            yield _spent_line(f"{by} {cut(key, 40)}", spent)


def counting_lines(counting: CounterCheck) -> Iterator[Line]:
    """What providers reported of requests, beside what was counted, by model."""
    if counting.counter is None:
        yield line("  no answer tells what its request had, so there is nothing to compare counts with")
        return
    title = f"counted by {COUNTERS[counting.counter]}"
    yield line(Piece(f"  {title:30}{'answers':>7}{'reported':>13}{'counted':>12}  reported to counted", "dim"))
    for model, one in sorted(counting.by_model.items()):
        of = f"{f'model {cut(model, 40)}':30}{one.answers:>7,}{one.reported:>13,}{one.counted:>12,}"
        yield line(f"  {of}  {one.ratio:.2f}")


def stats_json(stats: SessionStats) -> Json:
    """How much is in a session, and its bills."""
    return {
        "entries": stats.entries,
        "messages": stats.messages,
        "userMessages": stats.user_messages,
        "answers": stats.answers,
        "toolCalls": stats.tool_calls,
        "toolResults": stats.tool_results,
        "compactions": stats.compactions,
        "own": bill_json(stats.own),
        "inherited": bill_json(stats.inherited),
        "counting": None if stats.counting is None else _counting_json(stats.counting),
    }


def session_stats_json(session: Reading, stats: SessionStats) -> Json:
    """The same with whose they are."""
    return {"session": session_json(session), **stats_json(stats)}


def bill_json(bill: Billed) -> Json:
    """A bill with every key."""
    return {
        "spent": spent_json(bill.spent),
        "byModel": {key: spent_json(spent) for key, spent in sorted(bill.by_model.items())},
        "byPurpose": {key: spent_json(spent) for key, spent in sorted(bill.by_purpose.items())},
    }


def _counting_json(counting: CounterCheck) -> Json:
    compared = {
        model: {"answers": one.answers, "reported": one.reported, "counted": one.counted, "ratio": one.ratio}
        for model, one in sorted(counting.by_model.items())
    }
    return {"counter": counting.counter, "byModel": compared}


def _spent_line(what: str, spent: Spent) -> Line:
    cached = f"{spent.cache_read:>13,}{spent.cache_write:>12,}"
    return line(f"  {what:30}{spent.calls:>7,}{spent.input:>13,}{spent.output:>12,}{cached}  {_cost(spent)}")


def _cost(spent: Spent) -> str:
    if spent.cost is None:
        return "cost unknown" if spent.unpriced else "nothing"
    return f"${spent.cost:,.4f}" + (f" without {counted(spent.unpriced, 'call')}" if spent.unpriced else "")
