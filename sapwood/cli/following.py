"""What `sapwood follow` shows, event by event."""

from __future__ import annotations

import click

from sapwood.cli.finding import path_of
from sapwood.cli.news import news_line
from sapwood.cli.printing import Printer, told_in_json
from sapwood.cli.progress import said_if_slow
from sapwood.cli.session_file import readable
from sapwood.cli.trouble import CANNOT, complain
from sapwood.events.codec import encode_event
from sapwood.events.entries import Entry
from sapwood.events.runtime import EntryAppended
from sapwood.following import FollowEvent, Following, follow
from sapwood.words.describing import entry_in_words, kind_in_words
from sapwood.words.wording import Line, Piece, cut, line, named


async def shown(path: str, last: int | None, as_json: bool, printer: Printer) -> None:
    """Show what comes to the session at a path, or with an id, until nobody reads it or the file is lost: then the exit code says so."""
    with told_in_json(path, printer, as_json=as_json), readable(path := path_of(path)):
        with said_if_slow(f"reading {named(path)}"):
            opened = follow(path, last=last)
        async with opened as following:
            async for event in following:
                _show(event, following, printer, as_json=as_json)
                if printer.gone:
                    return
    raise click.exceptions.Exit(CANNOT)


def entry_line(entry: Entry) -> Line:
    """An entry in a line: its id, its role or kind, and how its text begins."""
    return line(
        Piece(f"{cut(entry.id, 40)}  ", "name"),
        Piece(f"{kind_in_words(entry):12} ", "accent"),
        cut(entry_in_words(entry)) or Piece("(nothing)", "dim"),
    )


def _show(event: FollowEvent, following: Following, printer: Printer, *, as_json: bool) -> None:
    if as_json:
        printer.text(encode_event(event).decode("utf-8", "replace"), at_once=True)
    elif isinstance(event, EntryAppended):
        entry = event.entry or following.entry(event.entry_id)
        printer.lines([entry_line(entry)] if entry is not None else [], at_once=True)
    else:
        complain(news_line(event) or "")
