"""A version 1 session left for a version 3 one beside it (S3): its whole tree, and what is added to it.

The old file is not touched. Nothing of the new one is seen before it is committed.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Container, Sequence
from typing import Final

import attrs
import msgspec

from sapwood.events.codec import Envelope, encode_entry, encode_header
from sapwood.events.entries import Header
from sapwood.events.errors import CannotWrite, SessionInUse, StoreConflict
from sapwood.events.ids import EntryId
from sapwood.store.any_of import AnyOf
from sapwood.store.copying import as_text, header_of, marker_of
from sapwood.store.growing import GrowingFile
from sapwood.store.scanned import Scanned

MOST_COPIES: Final = 999
"""Version 3 sessions beside one version 1 file: each is an append that somebody made without seeing the ones before."""


@attrs.frozen(kw_only=True)
class Makers:
    """Where a store gets what is new: handed in, so that a store knows no clock and no chance."""

    header: Callable[[], Header]
    entry_id: Callable[[Container[str]], EntryId]
    now: Callable[[], str]


@attrs.frozen(kw_only=True)
class Raised:
    """What is to stand in the new file."""

    header: Header
    lines: Sequence[bytes]
    marker: Envelope
    """The last line's: it says what was copied."""

    @property
    def head(self) -> bytes:
        """The header's line."""
        return encode_header(self.header) + b"\n"

    @property
    def bytes(self) -> bytes:
        """The whole file."""
        return self.head + b"\n".join(self.lines) + b"\n"


def raised(old: Scanned, path: str, lines: Sequence[bytes], envelopes: Sequence[Envelope], make: Makers) -> Raised:
    """The old lines, raised, and the new ones, with their envelopes, behind them; `path` is the old file's."""
    old_path = as_text(path)
    header = header_of(old.header, msgspec.structs.replace(make.header(), cwd=old.header.cwd), old_path)
    marker_id = make.entry_id(AnyOf(old.tree.ids, {envelope.id for envelope in envelopes}))
    marker = marker_of(old.header, old_path, len(old.tree), "tree", marker_id, envelopes[-1].id, make.now())
    return Raised(
        header=header,
        lines=[*lines, encode_entry(marker)],
        marker=Envelope("custom", marker.id, marker.parent_id),
    )


def made_beside(
    old: GrowingFile, path: str, data: bytes, beside: Callable[[str], GrowingFile]
) -> tuple[str, GrowingFile, int]:
    """A new file with these bytes, its path as `path` is said, and where they begin in it. `CannotWrite` if every name is taken, too."""
    for n in range(1, MOST_COPIES + 1):
        suffix = ".v3.jsonl" if n == 1 else f".v3-{n}.jsonl"
        file = beside(old.path.removesuffix(".jsonl") + suffix)
        said = path.removesuffix(".jsonl") + suffix
        try:
            return said, file, file.append(data)
        except (SessionInUse, StoreConflict):  # somebody else's copy
            continue
        except OSError as error:
            file.close()
            raise CannotWrite(said, error) from error
    full = FileExistsError(
        errno.EEXIST, f"{MOST_COPIES} version 3 copies stand beside it: open one of them, or move some away"
    )
    raise CannotWrite(path, full)
