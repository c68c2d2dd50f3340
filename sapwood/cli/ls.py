"""`sapwood ls`: which sessions there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from sapwood.events.catalog import ListedSession, ScannedSession, UnlistedFile

SORTS: Final = ("activity", "created", "size", "name")


@click.command("ls")
@click.argument("folders", nargs=-1, type=click.Path(), metavar="[FOLDER]...")
@click.option("--pi", "in_pi", is_flag=True, help="Look into Pi's own folder, which is only read.")
@click.option("--here", is_flag=True, help="Only the sessions of the present folder.")
@click.option("--search", metavar="TEXT", help="Only those in which this is said, small letters or great.")
@click.option(
    "--sort", type=click.Choice(SORTS), default="activity", show_default=True, help="The latest or the largest first."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="No more than so many.")
@click.option("--scan", is_flag=True, help="Read each file whole: counts, cost and damage too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of rows.")
def command(  # noqa: PLR0917 - click gives them by their names
    folders: tuple[str, ...],
    in_pi: bool,
    here: bool,
    search: str | None,
    sort: str,
    limit: int | None,
    scan: bool,
    as_json: bool,
) -> int:
    """List the sessions in each FOLDER and in the folders in it, which are only read; without one, those of this system's user.

    A row is a session: when something was last said in it, its size, * if somebody is writing it, how its id begins, its name or
    what was said first, and its working folder. Of each file the beginning and the end are read, so that a row comes at once; what these
    do not tell is left out. Other commands take an id, or its beginning, as well as a path.

    \b
    Exit code: 0 listed, 2 a folder that cannot be looked into or an output that cannot be written.

    \b
    Example:
      sapwood ls --pi --search "ring gauge" --limit 5

    \b
    The JSON: {"sessions": [{"path", "id", "version", "cwd", "parentSession", "created", "modified", "lastActivity",
    "size", "name", "firstMessage", "open", "stats", "damage"}], "unlisted": [{"path", "why"}]}; stats and damage are
    null without --scan, else as `sapwood stats` and `sapwood check` have them. Times are ISO 8601 in UTC, sizes bytes.
    """
    from sapwood.cli.printing import Printer
    from sapwood.cli.rows import heading, listed_json, session_row
    from sapwood.cli.trouble import CANNOT, complain
    from sapwood.words.wording import named

    printer, unlisted, rows, begun = Printer(), list["UnlistedFile"](), list[object](), False
    for listed in _chosen(_named(folders, in_pi=in_pi), unlisted, here=here, search=search, sort=sort, limit=limit):
        scanned = _scanned(listed, unlisted) if scan else None
        if as_json:
            rows.append(listed_json(listed, scanned))
            continue
        if not begun:
            printer.lines([heading()])
        begun = True
        printer.lines(session_row(listed, scanned))
        printer.flush()
    if as_json:
        printer.json({"sessions": rows, "unlisted": [{"path": one.path, "why": one.why} for one in unlisted]})
    for one in unlisted:
        if not as_json:
            complain(f"{named(one.path)} is not listed: {one.why}")
    missed = {one.path for one in unlisted}
    return CANNOT if missed & set(_named(folders, in_pi=in_pi)) else 0


def _named(folders: tuple[str, ...], *, in_pi: bool) -> tuple[str, ...]:
    from sapwood.places import pi_sessions_folder

    return (*folders, pi_sessions_folder()) if in_pi else folders


def _chosen(
    folders: tuple[str, ...],
    unlisted: list[UnlistedFile],
    *,
    here: bool,
    search: str | None,
    sort: str,
    limit: int | None,
) -> Iterator[ListedSession]:
    """In the order that was asked for; in that of activity each comes as soon as it is found."""
    from sapwood.actors.environment import Environment
    from sapwood.cli.trouble import Trouble
    from sapwood.events.catalog import UnlistedFile
    from sapwood.events.errors import Refused
    from sapwood.listing import listing, looked_for

    try:
        want = looked_for(folders, os.getcwd() if here else None, search)  # noqa: PTH109 - it is text
    except Refused as error:
        raise Trouble(str(error)) from error

    def found() -> Iterator[ListedSession]:
        for one in listing(want, Environment()):
            if isinstance(one, UnlistedFile):
                unlisted.append(one)
            elif one is not None:
                yield one

    keys: dict[str, Callable[[ListedSession], str | int]] = {
        "created": lambda one: one.created,
        "size": lambda one: one.size,
        "name": lambda one: one.name or one.first_message or "",
    }
    key = keys.get(sort)
    several = found() if key is None else iter(sorted(found(), key=key, reverse=sort != "name"))
    for nth, one in enumerate(several, 1):
        yield one
        if nth == limit:
            return


def _scanned(listed: ListedSession, unlisted: list[UnlistedFile]) -> ScannedSession | None:
    from sapwood.actors.environment import Environment
    from sapwood.events.catalog import UnlistedFile
    from sapwood.events.errors import StoreError
    from sapwood.listing import scanned

    try:
        return scanned(listed.path, Environment())
    except StoreError as error:  # it was a session a moment ago
        unlisted.append(UnlistedFile(path=listed.path, why=str(error)))
        return None
