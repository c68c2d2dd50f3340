"""The tool `edit`: parts of a text file replaced, all of them or none. Which parts is told by `edits`, how it is written by `replacing`.

1. What is not replaced stays as it is, byte for byte: the mark at the beginning (BOM), ends of lines, and what is no UTF-8.
2. Somebody else's change between our reading and our writing is not overwritten.
"""

from __future__ import annotations

import errno
import os
from typing import Annotated, Final

import msgspec

from sapwood.actors.tools.diffs import diff
from sapwood.actors.tools.edits import Edit, applied, line_of, planned
from sapwood.actors.tools.files import Unfit, no_file, place, refused, there, why_not
from sapwood.actors.tools.replacing import replace_file
from sapwood.actors.tools.results import ToolResult
from sapwood.actors.tools.tool import ToolContext, tool
from sapwood.store.disk import RealDisk

MOST_BYTES: Final = 1 << 24
"""16 MiB: no file that is written by hand comes near, and searching it stays a matter of a tenth of a second."""


@tool(name="edit", writes=["path"], mode="sequential")
def edit_file(
    path: Annotated[str, msgspec.Meta(description="The file, absolute or from the working folder.")],
    edits: Annotated[list[Edit], msgspec.Meta(min_length=1, description="All are of the file as it is now.")],
    ctx: ToolContext,
) -> ToolResult:
    """Replace text in a file. Each old_text must stand there exactly once, unless replace_all is set. All edits are made, or none."""
    try:
        return _edited(place(ctx.cwd, path), edits)
    except Unfit as fault:
        return refused(fault)


def _edited(path: str, edits: list[Edit]) -> ToolResult:
    data, status = _read(path)
    text = data.decode("utf-8", "surrogateescape")
    spans = planned(text, edits)
    try:
        for span in spans:
            span.new.encode()
    except UnicodeEncodeError:
        raise Unfit("Nothing was changed: there is half a character in a new_text.") from None
    changed = applied(text, spans).encode("utf-8", "surrogateescape")
    done = replace_file(path, changed, unchanged=status)
    # each costs a look at the text up to there: not one for every place
    first, last = line_of(text, spans[0].start), line_of(text, spans[-1].start)
    where = f"{len(spans):,} places, the first in line {first:,}, the last in line {last:,}"
    said = f"Replaced text in {done.path} in " + (f"line {first:,}." if len(spans) == 1 else f"{where}.")
    return ToolResult(
        content=" ".join([said, *done.notes]),
        details={"diff": diff(text, spans), "firstLine": first, "replaced": len(spans)},
    )


def _read(path: str) -> tuple[bytes, os.stat_result]:
    try:
        with os.fdopen(RealDisk().open_read(path), "rb") as file:
            status = os.fstat(file.fileno())
            data = there(file.read(MOST_BYTES + 1))
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise no_file(path) from error
        raise why_not(error, path, "read") from error
    if len(data) > MOST_BYTES:
        raise Unfit(
            f"{path} is too large: it has {status.st_size:,} bytes, and at most {MOST_BYTES:,} are edited. Use a command, such as sed."
        )
    if b"\0" in data:
        raise Unfit(f"{path} is no text: it is a binary file of {len(data):,} bytes.")
    return data, status
