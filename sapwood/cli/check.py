"""`sapwood check`: what is wrong with session files."""

from __future__ import annotations

import click

from sapwood.cli.session_file import session_at
from sapwood.cli.trouble import DAMAGED, FileStatus, Unreadable, complain


@click.command("check")
@click.argument("files", type=click.Path(), nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of lines.")
def command(files: tuple[str, ...], *, as_json: bool) -> int:
    """Tell what is wrong with the session in each FILE, which is only read.

    Every byte of a file is part of an entry, or named here: where it stands, what is wrong there, and whether anything is lost by it. A
    `note` is nothing wrong; `mended` is damage of which every entry was read all the same; `lost` is not.

    \b
    Exit code: 0 clean, 2 a file that cannot be read, 3 damaged but readable, 4 a file that is no session; of several files the highest.

    \b
    Example:
      sapwood check ~/.pi/agent/sessions/*/*.jsonl

    \b
    The JSON: {"files": [{"path", "status", "version", "readOnly", "entries", "damage": [...], "error"}]};
    the status is clean, damaged, no-session or unreadable; readOnly is true of a version later than this release writes;
    a damage is {"kind", "severity", "line", "offset", "length", "entryId", "parentId", "bridged", "count"}.
    """
    from sapwood.cli.damages import damage_json, damage_line, is_damaged, version_in_short
    from sapwood.cli.printing import Printer
    from sapwood.words.wording import Piece, counted, line, named

    printer, reports, code = Printer(), list[object](), 0
    nothing: dict[str, object] = {"version": None, "readOnly": None, "entries": 0, "damage": [], "error": None}
    for file in files:
        try:
            with session_at(file) as session:
                damage, entries, version = session.damage, len(session.tree()), session.header.version
                later, note = session.header.is_later, list(version_in_short(session))
        except Unreadable as trouble:
            code = max(code, trouble.exit_code)
            said = trouble.format_message()
            reports.append({**nothing, "path": file, "status": trouble.status, "error": said})
            if not as_json:
                complain(said)
            continue
        damaged = is_damaged(damage)
        code = max(code, DAMAGED if damaged else 0)
        status: FileStatus = "damaged" if damaged else "clean"
        report = {"path": file, "status": status, "version": version, "readOnly": later, "entries": entries}
        reports.append({**report, "damage": damage_json(damage), "error": None})
        if not as_json:
            told = Piece(status, "bad" if damaged else "good")
            printer.lines([line(f"{named(file)}: ", told, f", {counted(entries, 'entry', 'entries')}")])
            printer.lines(line("  ", *one) for one in note)
            printer.lines(map(damage_line, damage))
    if as_json:
        printer.json({"files": reports})
    return code
