"""Lines from the standard input, one when it is asked for.

1. They are read from the descriptor in a thread that may be left behind: Python's own buffer would be locked by it when the process ends.
2. Bytes that are no text are replaced; the last line needs no end.
"""

from __future__ import annotations

import os
from typing import Final

import trio

AT_ONCE: Final = 65536
"""Bytes of a read: a pipe holds no more, and a terminal gives a line."""


class Lines:
    """Reads lines from a descriptor."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._buffer = b""
        self._ended = False

    async def next(self) -> str | None:
        """The next line without its end, or None behind the last one."""
        while b"\n" not in self._buffer and not self._ended:
            data = await trio.to_thread.run_sync(os.read, self._descriptor, AT_ONCE, abandon_on_cancel=True)
            self._buffer += data
            self._ended = not data
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").removesuffix("\r")
