"""What a recording's file says: a line of JSON each thing, in the order in which it happened. No I/O.

1. The first line is the `Opening`: what the session was opened with, and what was in its log.
2. `came` is something that came from outside and had its turn; `drawn` a time or random bytes; `host` what the host did; `lent` what an
   extension had its session do; `told` what a tool or a provider told without waiting; `left` that something was cancelled.
3. `event` and `entry` are what the session did: a replay must do the same, byte for byte.
4. The last line is `end`. Where it is missing the recording is cut: its process died, or its file was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from sapwood.events.base import Json, is_object
from sapwood.events.content import mended, without_surrogates
from sapwood.recording.errors import BadRecording

VERSION: Final = 1
NO_RECORDING: Final = "this is no recording of sapwood: name a file that `record` made"
Kind = Literal["came", "drawn", "host", "lent", "told", "left", "event", "entry", "end"]


class Opening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line."""

    sapwood: Literal["recording"]
    version: int
    header: Json
    """Of the session."""
    lines: tuple[str, ...]
    """The entries that were there."""
    where: str
    read_only: bool
    damage: Json
    opened: Json
    """Model, settings, tools and the like: see `opening`."""


class Thing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Any other line."""

    kind: Kind
    seq: int = 0
    """How many events there had been."""
    key: str = ""
    """What it is of: the actor and its message, the call, the tool."""
    value: Json = None


_encoder: Final = msgspec.json.Encoder()
_things: Final = msgspec.json.Decoder(Thing)
_openings: Final = msgspec.json.Decoder(Opening)
_any: Final = msgspec.json.Decoder()


def written(line: Opening | Thing) -> bytes:
    """The line, with its end. Halves of characters are replaced in it, as they are in all that a session keeps (S12)."""
    try:
        return _encoder.encode(line) + b"\n"
    except UnicodeEncodeError:
        if isinstance(line, Opening):
            raise
        whole = mended(line.value, without_surrogates)
        return _encoder.encode(replace(line, key=without_surrogates(line.key), value=whole)) + b"\n"


def parse(path: str, data: bytes) -> tuple[Opening, Sequence[Thing], bool]:
    """The opening, all else but the end, and whether the end is there. Raises `BadRecording`."""
    lines = data.split(b"\n")
    opening = _opening(path, lines[0])
    things = list(_parsed(path, lines[1:]))
    whole = bool(things) and things[-1].kind == "end"
    return opening, things[:-1] if whole else things, whole


def is_recording(start: bytes) -> bool:
    """Whether a file that begins like this claims to be one."""
    return start.startswith(b'{"sapwood":"recording"')


def _opening(path: str, line: bytes) -> Opening:
    try:
        told: Json = _any.decode(line)
        if not is_object(told) or told.get("sapwood") != "recording":
            raise BadRecording(path, 1, NO_RECORDING)
        version: Json = told.get("version")
        if version != VERSION:
            raise BadRecording(path, 1, f"this release plays recordings of version {VERSION}, not of {version!r:.20}")
        return _openings.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRecording(path, 1, f"{NO_RECORDING} ({error})") from error


def _parsed(path: str, lines: Sequence[bytes]) -> Iterator[Thing]:
    for at, line in enumerate(lines, 2):
        if not line and at == len(lines) + 1:
            return
        try:
            yield _things.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if at == len(lines) + 1:
                return  # a line without an end was being written: the recording is cut there
            raise BadRecording(path, at, f"this line cannot be read: {error}") from error
