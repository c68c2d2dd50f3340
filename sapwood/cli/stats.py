"""`sapwood stats`: what sessions have cost."""

from __future__ import annotations

import os

import click


@click.command("stats")
@click.argument("sessions", type=click.Path(), nargs=-1, required=True, metavar="SESSION...")
@click.option(
    "--counting", is_flag=True, help="Also how near our own count of tokens comes to what providers reported."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of lines.")
def command(sessions: tuple[str, ...], *, counting: bool, as_json: bool) -> int:
    """Tell how much is in each SESSION, a file or an id, and what it has cost, by model and by purpose. The files are only read.

    Every call that was billed is in the sums once, on whatever branch, and what is summed up stays in them. What a fork has from its
    parent is told apart, and is not in the sum over several sessions: the parent paid for it. A cost that nobody knows is not guessed.
    --counting goes through all that was ever sent, and tells by model what providers reported of requests beside what is counted of them.

    \b
    Exit code: 0 told, 2 a file that cannot be read, 4 a file that is no session; of several files the highest.

    \b
    Example:
      sapwood stats work.jsonl experiments/*.jsonl

    \b
    The JSON: {"sessions": [{"session": as `sapwood show` has it, "entries", "messages", "userMessages", "answers",
    "toolCalls", "toolResults", "compactions", "own", "inherited", "counting"}], "own": the sum of what is own}; own and
    inherited are {"spent", "byModel", "byPurpose"}, with {"calls", "input", "output", "cacheRead", "cacheWrite", "total",
    "cost", "unpriced"} of each; the cost is null if none is known. counting is null without --counting, else {"counter",
    "byModel": {MODEL: {"answers", "reported", "counted", "ratio"}}}. Of a file with no session to read, {"path", "status",
    "error"}, as `sapwood check` has them.
    """
    from sapwood.cli.printing import Printer
    from sapwood.cli.rows import bill_json, bill_lines, session_stats_json, stats_lines
    from sapwood.cli.session_file import session_at
    from sapwood.cli.trouble import Unreadable, complain
    from sapwood.events.stats import NO_BILL, Billed

    printer, reports, code = Printer(), list[object](), 0
    paid = dict[tuple[int, int], Billed]()
    for one in sessions:
        try:
            with session_at(one) as session:
                stats = session.stats(counting=counting)
                paid[_file_of(session.path)] = stats.own
                if as_json:
                    reports.append(session_stats_json(session, stats))
                else:
                    printer.lines(stats_lines(session, stats))
        except Unreadable as trouble:
            code = max(code, trouble.exit_code)
            said = trouble.format_message()
            reports.append({"path": one, "status": trouble.status, "error": said})
            if not as_json:
                complain(said)
    own = sum(paid.values(), NO_BILL)
    if as_json:
        printer.json({"sessions": reports, "own": bill_json(own)})
    elif len(sessions) > 1:
        printer.lines(bill_lines(f"all {len(sessions)} sessions, what they paid for themselves", own))
    return code


def _file_of(path: str) -> tuple[int, int]:
    """Which file it is: one by two names has paid once."""
    status = os.stat(path)  # noqa: PTH116 - paths are plain text
    return status.st_dev, status.st_ino
