"""What would be sent of a session file, told by a process of its own.

python -m tests.actors.projection.sent FILE...      one JSON list of messages a file, a line each
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sapwood import read
from sapwood.actors.outgoing import Outgoing, prepare
from sapwood.events.messages import Message
from sapwood.events.models import Limits

LIMITS = Limits(images=1, text_bytes=64, call_id_length=16)
"""Everything that P11 does has its chance to differ."""


def outgoing(messages: Sequence[Message], limits: Limits | None = None) -> Outgoing:
    """To the model that the tests' answers are from."""
    return prepare(messages, provider="scripted", model="talker", limits=limits)


def bytes_of(outgoing: Outgoing) -> list[bytes]:
    """Each message as it travels."""
    return [msgspec.json.encode(message) for message in outgoing.messages]


def sent(path: Path) -> bytes:
    with read(path) as session:
        return b"[" + b",".join(bytes_of(outgoing(session.context().messages, LIMITS))) + b"]"


def main() -> None:
    for path in sys.argv[1:]:
        sys.stdout.buffer.write(sent(Path(path)) + b"\n")


if __name__ == "__main__":
    main()
