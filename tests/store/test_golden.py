"""Lines that this or an earlier release wrote load for ever: `tests/lines/` is only added to."""

from __future__ import annotations

from pathlib import Path
from typing import Final, get_args

import pytest

from sapwood.events.codec import decode_entry, decode_header, encode_entry, encode_header
from sapwood.events.entries import KnownEntry, Unknown, kind_of
from sapwood.events.messages import StoredMessage

LINES: Final = Path(__file__).resolve().parents[1] / "lines"
KINDS: Final = [str(kind.__struct_config__.tag) for kind in get_args(KnownEntry)]


def golden(kind: str) -> list[bytes]:
    return (LINES / f"{kind}.jsonl").read_bytes().split(b"\n")[:-1]


ENTRIES: Final = [
    pytest.param(kind, line, id=f"{kind}-{number}") for kind in KINDS for number, line in enumerate(golden(kind), 1)
]


def test_there_are_lines_of_every_kind_and_of_no_other() -> None:
    assert {path.stem for path in LINES.iterdir()} == {*KINDS, "session"}
    assert all(golden(kind) for kind in KINDS)


def test_there_are_messages_of_every_role() -> None:
    roles = {kind.__struct_config__.tag for kind in get_args(StoredMessage)}
    assert {role for role in roles if any(f'"role":"{role}"'.encode() in line for line in golden("message"))} == roles


@pytest.mark.parametrize(("kind", "line"), ENTRIES)
def test_a_golden_line_loads_as_its_kind_and_is_written_as_it_was(kind: str, line: bytes) -> None:
    entry = decode_entry(line)

    assert not isinstance(entry, Unknown)
    assert entry.extra is None
    assert kind_of(entry) == kind
    assert encode_entry(entry) == line


@pytest.mark.parametrize("line", golden("session"))
def test_a_golden_header_loads_and_is_written_as_it_was(line: bytes) -> None:
    assert encode_header(decode_header(line)) == line
