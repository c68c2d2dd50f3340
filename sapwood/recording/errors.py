"""What is wrong with the file of a recording: nobody's fault but the file's. A difference is none: that is a finding."""

from __future__ import annotations

from sapwood.events.errors import SapwoodError
from sapwood.words.wording import named


class BadRecording(SapwoodError):
    """The file is no recording, is of another version, or cannot be read at a line."""

    def __init__(self, path: str, line: int | None, why: str) -> None:
        super().__init__(f"{named(path)}{'' if line is None else f':{line}'}: {why}")
        self.path = path
        self.line = line
        self.why = why
