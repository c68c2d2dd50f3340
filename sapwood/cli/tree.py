"""`sapwood tree`: every entry of a session, branch by branch."""

from __future__ import annotations

import click


@click.command("tree")
@click.argument("file", type=click.Path())
@click.option(
    "--last", type=click.IntRange(1), metavar="N", help="Only the last N entries: of a long session, at once."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a drawing.")
def command(file: str, *, last: int | None, as_json: bool) -> None:
    """Draw the tree of the session in FILE, which is only read.

    A line is an entry: its id, its role or kind, and how its text begins. What the model is on stands filled (●); a branch is set in before
    the entry that goes on where it began. [A label] stands behind its entry, and so do the leaf, where the next entry will hang, and the
    position, the last entry that is no bookkeeping.

    \b
    Exit code: 0 drawn, 2 a file that cannot be read or an output that cannot be written, 4 a file that is no session.

    \b
    Example:
      sapwood tree work.jsonl | less

    \b
    The JSON: {"session": {"id", "path", "version", "cwd", "name", "parentSession"}, "leaf", "position", "entries": [...],
    "damage": as `sapwood check` has it}; an entry is
    {"id", "parentId", "kind", "role", "timestamp", "text", "label", "depth", "onPath", "detached", "lostParentId"},
    in the order of drawing, with --last the last ones alone. The id is null if the file is empty. Of a file with no session to
    read, {"path", "status", "error"}, as `sapwood check` has them.
    """
    from sapwood.cli.drawing import draw, to_json
    from sapwood.cli.printing import Printer, session_shown

    printer = Printer()
    with session_shown(file, printer, as_json=as_json) as session:
        if as_json:
            printer.json(to_json(session, last=last))
        else:
            printer.lines(draw(session, last=last))
