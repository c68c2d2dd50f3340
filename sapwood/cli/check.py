"""`sapwood check`: what is wrong with session files."""

from __future__ import annotations

import click

from sapwood.cli.trouble import DAMAGED, NoSession, Trouble, complain, session_at


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
    The JSON: {"files": [{"path", "status", "entries", "damage": [...], "error"}]}; the status is clean, damaged, no-session or unreadable;
    a damage is {"kind", "severity", "line", "offset", "length", "entryId", "parentId", "bridged", "count"}.
    """  # noqa: D301 - click's own mark for lines that it may not wrap
    # commands load what they need when they run: in here
    from sapwood.cli.damages import damage_json, damage_line, is_damaged  # noqa: PLC0415
    from sapwood.cli.printing import Printer  # noqa: PLC0415
    from sapwood.words.wording import Piece, counted, line, named  # noqa: PLC0415

    printer, reports, code = Printer(), list[object](), 0
    for file in files:
        try:
            with session_at(file) as session:
                damage, entries = session.damage, len(session.tree())
        except Trouble as trouble:
            code = max(code, trouble.exit_code)
            status = "no-session" if isinstance(trouble, NoSession) else "unreadable"
            said = trouble.format_message()
            reports.append({"path": file, "status": status, "entries": 0, "damage": [], "error": said})
            if not as_json:
                complain(said)
            continue
        damaged = is_damaged(damage)
        code = max(code, DAMAGED if damaged else 0)
        status = "damaged" if damaged else "clean"
        report = {"path": file, "status": status, "entries": entries, "damage": damage_json(damage), "error": None}
        reports.append(report)
        if not as_json:
            told = Piece(status, "bad" if damaged else "good")
            printer.lines([line(f"{named(file)}: ", told, f", {counted(entries, 'entry', 'entries')}")])
            printer.lines(map(damage_line, damage))
    if as_json:
        printer.json({"files": reports})
    return code
