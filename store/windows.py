"""A file's bytes in windows of whole lines, so that no file is ever in memory whole. No I/O of its own.

1. Together the windows are the file; each begins where a line begins.
2. A line is never cut: a window is as long as its longest line, if need be.
3. A file that is shorter than it was said to be ends where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

Read = Callable[[int, int], bytes]
"""Up to so many bytes (the second) from an offset (the first); fewer only at the end."""


class Window(NamedTuple):
    """Some lines in a row."""

    offset: int
    """Of the file."""
    data: bytes
    final: bool
    """Whether the file ends with it: then its last line may lack its end."""


def windows(read: Read, size: int, block: int) -> Iterator[Window]:
    """The first `size` bytes of a file, some `block` at a time; one window of nothing for none."""
    start, wanted = 0, block
    while True:
        wanted = min(wanted, size - start)
        data = read(start, wanted) if wanted else b""
        if len(data) < wanted or start + wanted == size:
            yield Window(start, data, final=True)
            return
        cut = data.rfind(b"\n") + 1
        if cut:
            yield Window(start, data[:cut], final=False)
            # the rest is read again: that costs less than to put it before what comes
            start, wanted = start + cut, block
        else:
            wanted *= 2


def reading(data: bytes) -> Read:
    """Bytes that are here as a file that is read."""
    return lambda offset, length: data[offset : offset + length]
