"""`sapwood show`: what the model would see of a session."""

from __future__ import annotations

from typing import get_args

import click

from sapwood.events.context import DEFAULT_COUNTER, CounterName
from sapwood.events.messages import TOO_MUCH


@click.command("show")
@click.argument("file", type=click.Path())
@click.option("--full", is_flag=True, help="Whole texts, not only how they begin.")
@click.option(
    "--window", type=click.IntRange(1, TOO_MUCH - 1), metavar="N", help="The model's context window, in tokens."
)
@click.option(
    "--counter",
    type=click.Choice(get_args(CounterName)),
    default=DEFAULT_COUNTER,
    show_default=True,
    help="What counts tokens: as OpenAI's models do (cl100k_base where tiktoken has it already), or Pi's rule of thumb.",
)
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N messages; the sums are of all.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of lines.")
def command(
    file: str, *, full: bool, window: int | None, counter: CounterName, last: int | None, as_json: bool
) -> None:
    """Show what the model would see next of the session in FILE, which is only read.

    A line is a message: its role, its tokens, the entry that it comes from, and how it begins. A message that
    would not be sent says why. Below stand the sums, the model and thinking level that the branch is on, and how full the window is: by
    what the provider reported with its last answer and a count of what came since, or by a count alone; ? if nobody can know yet.

    \b
    Exit code: 0 shown, 2 a file that cannot be read or an output that cannot be written, 4 a file that is no session.

    \b
    Example:
      sapwood show work.jsonl --window 200000

    \b
    The JSON: {"session": {"id", "path", "version", "cwd", "name", "parentSession"}, "leaf", "messages": [...],
    "absent": {entry: reason}, "gaps": {entry: the lost parent}, "model": {"provider", "id"} or null, "thinkingLevel",
    "totals": {"messages", "unsent", "tokens", "sentTokens", "counter"},
    "usage": {"tokens", "window", "percent", "text", "source", "counter"}, "damage": as `sapwood check` has it};
    a message is {"role", "tokens", "entryId", "unsent", "text", "message"}, with --last the last ones alone.
    The id is null if the file is empty. Of a file with no session to read, {"path", "status", "error"},
    as `sapwood check` has them.
    """
    from sapwood.cli.context import show, to_json
    from sapwood.cli.printing import Printer, session_shown

    printer = Printer()
    with session_shown(file, printer, as_json=as_json, counter=counter) as session:
        if as_json:
            printer.json(to_json(session, window=window, last=last))
        else:
            printer.lines(show(session, window=window, full=full, last=last))
