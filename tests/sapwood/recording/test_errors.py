"""What is said of a bad recording."""

from __future__ import annotations

from sapwood.recording.errors import BadRecording


def test_it_names_the_file_and_the_line() -> None:
    assert str(BadRecording("a.recording", 3, "it is cut")) == "a.recording:3: it is cut"
    assert str(BadRecording("a\x1b", None, "it is cut")) == "a�: it is cut"
