"""`sapwood follow`: what comes to a session while somebody else writes it."""

from __future__ import annotations

from typing import Final

import click

LAST: Final = 10
"""Entries that are there: as many lines as `tail` shows."""


@click.command("follow")
@click.argument("file", type=click.Path())
@click.option(
    "--last",
    type=click.IntRange(0),
    default=LAST,
    show_default=True,
    metavar="N",
    help="Show so many of the entries that are there first.",
)
@click.option("--all", "everything", is_flag=True, help="Show all entries that are there first.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line: the events as programs have them.")
def command(file: str, *, last: int, everything: bool, as_json: bool) -> None:
    """Show what comes to the session in FILE, whoever writes it, until Ctrl-C. It is only read.

    A line is an entry: its id, its role or kind, and how its text begins. A line that a writer has not finished is shown when it is.
    What is wrong with the file is told on the standard error.

    \b
    Exit code: 0 nobody reads the output any more, 130 ended with Ctrl-C, 2 a file that cannot be read, or that was deleted, replaced,
    made shorter or changed while it was followed, 4 a file that is no session.

    \b
    Example:
      sapwood follow work.jsonl --last 0

    \b
    The JSON: {"type": "entry_appended", "entryId", "kind", "entry"} for each entry, the entry as it stands in the file, or none
    where this release cannot read it; {"type": "damage_found", "records": [{"kind", "line", "offset", "length", ...}]};
    {"type": "session_file_lost", "path", "what": "deleted", "replaced", "shortened" or "changed"} at the end.
    Of a file with no session to read, {"path", "status", "error"}, as `sapwood check` has them.
    """
    import trio

    from sapwood.cli.following import shown
    from sapwood.cli.printing import Printer

    trio.run(shown, file, None if everything else last, as_json, Printer())
