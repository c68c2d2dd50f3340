"""The tool `write`: a file with just this content, whatever was there. What it keeps to stands in `replacing`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from sapwood.actors.tools.files import Unfit, place, refused
from sapwood.actors.tools.replacing import replace_file
from sapwood.actors.tools.results import ToolResult
from sapwood.actors.tools.tool import ToolContext, tool


@tool(name="write", writes=["path"], mode="sequential")
def write_file(
    path: Annotated[str, msgspec.Meta(description="The file, absolute or from the working folder.")],
    content: Annotated[str, msgspec.Meta(description="All that is to be in it.")],
    ctx: ToolContext,
) -> ToolResult:
    """Write a file as a whole (UTF-8): a new one, or in the place of what was there. Folders that are missing are made."""
    try:
        data = content.encode()
    except UnicodeEncodeError as fault:
        return refused(Unfit(f"Nothing was written: character {fault.start + 1:,} of the content is half a character."))
    if path.endswith("/"):
        return refused(
            Unfit(f"Nothing was written: {path} is the name of a folder. Folders are made with the files in them.")
        )
    try:
        done = replace_file(place(ctx.cwd, path), data)
    except Unfit as fault:
        return refused(fault)
    was = "a new file" if done.was is None else f"in the place of {done.was:,}"
    return ToolResult(
        content=" ".join([f"Wrote {len(data):,} bytes to {done.path}, {was}.", *done.notes]),
        details={"bytes": len(data), "created": done.was is None},
    )
