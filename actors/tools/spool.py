"""All that a command said, in a temporary file, where it can be looked up. Blocks: call it where that may be.

1. The file is private, and is begun with the first byte that is to be in it.
2. It holds at most `MOST_BYTES`, from the beginning; what comes after that is counted as left out.
3. A file that cannot be written is taken away, and says why: a disk that is full is not to be kept full by us.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from typing import Final

import attrs

MOST_BYTES: Final = 1 << 28
"""256 MiB: the log of a large build ten times over, and some seconds of one who floods; a disk has room for a few."""


@attrs.define
class Spool:
    path: str | None = None
    """Where the file is, if there is one."""
    trouble: str | None = None
    """Why there is none, if one was to be."""
    left_out: int = 0
    """Bytes that came when the file was full."""
    _descriptor: int | None = None
    _size: int = 0

    def write(self, data: bytes) -> None:
        """Add to it. Never raises for what befalls the file."""
        if self.trouble is not None:
            return
        taken = data[: MOST_BYTES - self._size]
        self.left_out += len(data) - len(taken)
        self._size += len(taken)
        try:
            if self._descriptor is None:
                self._descriptor, self.path = tempfile.mkstemp(prefix="sapwood-bash-", suffix=".log")
            rest = memoryview(taken)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self.trouble = error.strerror or str(error)
            self.discard()

    def close(self) -> None:
        """No more will come."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):  # what was written counts
                os.close(descriptor)

    def discard(self) -> None:
        """Take it away: nobody will know of it."""
        self.close()
        path, self.path = self.path, None
        if path is not None:
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - a plain path, as it came
