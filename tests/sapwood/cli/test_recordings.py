"""How a replayed recording is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.recordings import SHOWN, is_a_recording, told
from sapwood.recording.replaying import Departure, Replayed
from sapwood.words.wording import plain


@pytest.mark.parametrize("name", ["nowhere", ".", "a\0b", "text"])
def test_what_is_no_recording_is_told_from_one(name: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("title: x\n")

    assert not is_a_recording(str(tmp_path / name))


def test_a_long_difference_is_shown_around_the_place_where_it_is() -> None:
    same = "x" * 5000
    difference = Departure(line=7, what="event 3", expected=f"{same}here", seen=f"{same}there")

    lines = [plain(one) for one in told(Replayed(path="r", events=2, entries=1, difference=difference, cut=False))]

    assert lines[:2] == ["r: different, behind 2 events, 1 entry that are the same", "r:7: event 3 is another one"]
    assert lines[2].endswith("xhere")
    assert lines[3].endswith("xthere")
    assert max(map(len, lines)) < SHOWN
