"""Recordings for tests."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from sapwood.scenario import load, run
from sapwood.scenario.running import in_virtual_time
from tests.sapwood.scenario.stories import TALK, written

SHIPPED: Final = sorted((Path(__file__).parents[3] / "scenarios").rglob("*.yaml"))


def recorded(folder: Path, story: str | Path = TALK) -> Path:
    """The recording of a story."""
    path = folder / "story.recording"
    scenario = load(story if isinstance(story, Path) else written(folder, story))
    played = in_virtual_time(partial(run, scenario, record=str(path)))
    assert played.broken is None
    return path
