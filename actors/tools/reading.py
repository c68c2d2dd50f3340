"""The tool `read`: a text by lines, or an image. Changes nothing.

1. Text is shown as it is, without numbers, so that what is read can be given to `edit`; a return at the end of a line is not shown.
2. What is longer than the limits is cut at a line, and the note behind it says where to read on.
3. A line that is too long keeps its ends, and is named.
4. What is neither text nor an image that models take is refused, and so is what is too large.
"""

from __future__ import annotations

import errno
import os
from base64 import b64encode
from collections.abc import Iterator
from typing import Annotated, BinaryIO, Final

import attrs
import msgspec

from sapwood.actors.session_log.capping import cap
from sapwood.actors.tools.files import Unfit, no_file, place, refused, there, why_not
from sapwood.actors.tools.results import ToolResult
from sapwood.actors.tools.tool import ToolContext, tool
from sapwood.events.content import ImageContent, TextContent
from sapwood.store.disk import RealDisk

MOST_LINES: Final = 2000
"""A long source file as a whole; what has more is better read in parts, or searched."""
MOST_BYTES: Final = 1 << 16
"""64 KiB: 2,000 lines of 32 bytes, some 16,000 tokens. Half a dozen such results still fit a usual window."""
LONGEST_LINE: Final = 4096
"""Bytes: nobody writes such a line by hand; it is data, or made by a machine."""
MOST_FILE_BYTES: Final = 1 << 26
"""64 MiB: read and counted in a quarter of a second, which is as long as a thread may be deaf to a cancellation."""
MOST_IMAGE_BYTES: Final = 3_932_160
"""5 MiB in base64: no provider takes more in one image."""
_LOOKED_AT: Final = 8192
"""Bytes at the beginning by which text is told from what is none: a NUL is in the first page of nearly every binary file."""
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


@tool(name="read", reads=["path"])
def read_file(
    path: Annotated[str, msgspec.Meta(description="The file, absolute or from the working folder.")],
    ctx: ToolContext,
    offset: Annotated[int, msgspec.Meta(ge=1, description="The first line to read; 1 is the first of the file.")] = 1,
    limit: Annotated[int, msgspec.Meta(ge=1, description="How many lines to read at most.")] | None = None,
) -> ToolResult:
    """Read a file: text (UTF-8) by lines, or an image (PNG, JPEG, GIF, WebP).

    At most 2,000 lines or 64 KiB come at once; the note at the end says with which offset to read on.
    """
    where = path
    try:
        where = place(ctx.cwd, path)
        with os.fdopen(RealDisk().open_read(where), "rb") as file:
            return _read(file, where, offset, limit)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return refused(no_file(where))
        return refused(why_not(error, where, "read"))
    except Unfit as fault:
        return refused(fault)


def _read(file: BinaryIO, path: str, offset: int, limit: int | None) -> ToolResult:
    size = os.fstat(file.fileno()).st_size
    beginning = there(file.read(_LOOKED_AT))
    file.seek(0)
    kind = image_type(beginning)
    if kind is not None:
        return _image(file, path, kind, size)
    if size > MOST_FILE_BYTES:
        raise Unfit(
            f"{path} is too large: it has {size:,} bytes, and at most {MOST_FILE_BYTES:,} are read. "
            "Take the part that you need with a command, such as sed -n '1000,1200p', tail or grep."
        )
    if beginning.startswith(_UTF_16):
        raise Unfit(f"{path} is UTF-16, and only UTF-8 is read. A command shows it: iconv -f UTF-16 -t UTF-8.")
    if b"\0" in beginning:
        raise Unfit(
            f"{path} is no text: it is a binary file of {size:,} bytes. Commands such as file or xxd tell more."
        )
    return _text(file, path, offset, limit)


def image_type(beginning: bytes) -> str | None:
    """The kind of an image, by how its file begins, if it is one that models take."""
    if beginning.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if beginning.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if beginning.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP":
        return "image/webp"
    return None


def _image(file: BinaryIO, path: str, kind: str, size: int) -> ToolResult:
    if size > MOST_IMAGE_BYTES:
        raise Unfit(f"{path} is too large an image: it has {size:,} bytes, and at most {MOST_IMAGE_BYTES:,} are taken.")
    image = ImageContent(data=b64encode(file.read(MOST_IMAGE_BYTES)).decode(), mime_type=kind)
    return ToolResult(content=[TextContent(text=f"{path}: {kind}, {size:,} bytes"), image], details={"mimeType": kind})


@attrs.define
class _Window:
    """The lines that are shown, as they are met."""

    first: int
    most: int
    room: int = MOST_BYTES
    lines: list[str] = attrs.field(factory=list[str])
    cut: list[int] = attrs.field(factory=list[int])
    """Numbers of lines that are not shown whole."""
    full: bool = False

    def offer(self, number: int, line: str) -> None:
        if self.full or number < self.first:
            return
        shown = line if len(line) * 4 <= LONGEST_LINE else cap(line, LONGEST_LINE)
        room = self.room - len(shown.encode()) - 1
        self.full = len(self.lines) == self.most or room < 0
        if not self.full:
            self.room = room
            self.lines.append(shown)
            if shown != line:
                self.cut.append(number)


def _text(file: BinaryIO, path: str, offset: int, limit: int | None) -> ToolResult:
    window = _Window(offset, MOST_LINES if limit is None else min(limit, MOST_LINES))
    total = 0
    for total, line in enumerate(file, 1):
        if total >= offset and not window.full:
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
            window.offer(total, text.removeprefix("\ufeff") if total == 1 else text)
    if total == 0 and offset == 1:
        return ToolResult(content=f"[{path} is empty.]", details={"lines": 0})
    if offset > total:
        raise Unfit(f"{path} has {total:,} lines: there is no line {offset:,}.")
    last = offset + len(window.lines) - 1
    return ToolResult(
        content="\n".join([*window.lines, *_notes(window, last, total)]),
        details={"firstLine": offset, "lastLine": last, "lines": total},
    )


def _notes(window: _Window, last: int, total: int) -> Iterator[str]:
    if window.cut:
        numbers = ", ".join(f"{number:,}" for number in window.cut[:10]) + (", …" if len(window.cut) > 10 else "")
        yield f"[Too long to be shown whole, each over {LONGEST_LINE:,} bytes: line {numbers}. cut -c shows parts of them.]"
    if last < total:
        yield f"[Lines {window.first:,} to {last:,} of {total:,}. Read on with offset={last + 1}.]"
    elif window.first > 1:
        yield f"[Lines {window.first:,} to {last:,}: the end of the file.]"
