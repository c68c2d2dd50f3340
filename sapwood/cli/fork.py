"""`sapwood fork`: a session copied to a new one."""

from __future__ import annotations

import click

from sapwood.events.ids import EntryId


@click.command("fork")
@click.argument("session", type=click.Path())
@click.argument("entry", required=False)
@click.option("--whole-tree", is_flag=True, help="All branches, not only the path to one entry.")
@click.option(
    "--to", type=click.Path(), metavar="PATH", help="The new file, or a folder for it; else beside the old one."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a line.")
def command(session: str, entry: str | None, *, whole_tree: bool, to: str | None, as_json: bool) -> None:
    """Copy SESSION, a file or an id, up to ENTRY (its last one if none is named) to a new session; the old one is only read.

    The new session stands at the entry, and can be gone on with from there. It names its parent, and knows what the parent paid for. What
    is printed is its path. It appears whole or not at all, and nothing is written over.

    \b
    Exit code: 0 copied, 2 what cannot be read, written or found, 4 a file that is no session.

    \b
    Example:
      sapwood fork work.jsonl 3c5bcf8d --to experiments/

    \b
    The JSON: {"path", "sessionId", "entries", "parent"}; or, if there is none, {"path", "status", "error"},
    as `sapwood check` has them, with the path that was asked for.
    """
    from sapwood.cli.finding import path_of
    from sapwood.cli.printing import Printer, told_in_json
    from sapwood.cli.session_file import readable
    from sapwood.cli.trouble import Unreadable
    from sapwood.events.errors import Refused
    from sapwood.forking import fork
    from sapwood.words.wording import line

    printer = Printer()
    with told_in_json(session, printer, as_json=as_json):
        path = path_of(session)
        with readable(path):
            try:
                made = fork(path, _entry(path, entry), whole_tree=whole_tree, to=to)
            except Refused as error:
                raise Unreadable(str(error)) from error
    if as_json:
        told = {"path": made.path, "sessionId": made.session_id, "entries": made.entries, "parent": path}
        printer.json(told)
    else:
        printer.lines([line(made.path)])


def _entry(path: str, named: str | None) -> EntryId | None:
    """The entry with this id, or the one whose id begins so, as `sapwood tree` cuts long ones."""
    from sapwood.cli.session_file import session_at

    if named is None:
        return None
    with session_at(path) as session:
        tree = session.tree()
        ids = [tree.id(place) for place in range(len(tree))]
    meant = [one for one in ids if one.startswith(named)] if named not in ids else []
    return meant[0] if len(meant) == 1 else EntryId(named)
