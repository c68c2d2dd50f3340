"""We tell what the real Pi tells, in its order, while both play the same story: but for a table of departures."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Final, cast, get_args

import attrs
import pytest

from sapwood.events.runtime import Event
from tests.interop.departures import APART, DEPARTURES, LACKING, Told, normalised
from tests.interop.stories import STORIES, Story
from tests.interop.telling import ours
from tests.pi.install import PiUnavailable, node22, pi_root
from tests.pi.oracle import Oracle

pytestmark = pytest.mark.interop

SCRIPT: Final = Path(__file__).parents[1] / "pi" / "events.mjs"
UNIONS: Final = {
    "AgentEvent": "pi-agent-core/dist/types.d.ts",
    "AgentSessionEvent": "pi-coding-agent/dist/core/agent-session.d.ts",
}
"""Where Pi declares what it tells."""
ALIKE: Final = [name for name in STORIES if name not in APART]


class Stage:
    """Plays each story once with either."""

    def __init__(self, pi: Oracle, folder: Path) -> None:
        self._pi = pi
        self._folder = folder
        self._played: dict[str, tuple[list[Told], list[Told]]] = {}

    def both(self, name: str) -> tuple[list[Told], list[Told]]:
        """What ours tells, and what Pi tells."""
        if name not in self._played:
            story = STORIES[name]
            self._played[name] = ours(story, self._folder), self._theirs(story)
        return self._played[name]

    def alike(self, name: str, *, but: str | None = None) -> bool:
        mine, theirs = self.both(name)
        return normalised(mine, "ours", but=but) == normalised(theirs, "pi", but=but)

    def _theirs(self, story: Story) -> list[Told]:
        return cast("list[Told]", self._pi.ask({"op": "play", "story": attrs.asdict(story)})["events"])


@pytest.fixture(name="stage", scope="module")
def _stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    try:
        with Oracle(script=SCRIPT, node=node22()) as pi:
            yield Stage(pi, tmp_path_factory.mktemp("stories"))
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


@pytest.mark.parametrize("name", ALIKE)
def test_we_tell_what_pi_tells(stage: Stage, name: str) -> None:
    mine, theirs = stage.both(name)

    assert normalised(mine, "ours") == normalised(theirs, "pi")


@pytest.mark.parametrize("name", DEPARTURES)
def test_each_departure_makes_a_difference(stage: Stage, name: str) -> None:
    assert not all(stage.alike(story, but=name) for story in ALIKE)


@pytest.mark.parametrize("name", APART)
def test_a_story_that_goes_another_way_goes_ours(stage: Stage, name: str) -> None:
    mine, theirs = map(brought, stage.both(name))

    assert (mine, theirs) == (APART[name].ours, APART[name].pi)


def brought(told: list[Told]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(event["roles"]) for event in told if event["type"] == "agent_end")


def test_every_story_has_an_end(stage: Stage) -> None:
    """Neither runs out of answers, nor is a story about nothing."""
    for name in STORIES:
        for told in stage.both(name):
            types = [event["type"] for event in told]
            assert types.count("agent_start") == types.count("agent_end") > 0, name
            assert types.count("turn_start") == types.count("turn_end") > 0, name
            assert not {"extension_error", "unanswered"} & set(types), name


def test_the_names_that_pi_has_and_we_do_not(stage: Stage) -> None:
    scope = pi_root() / "node_modules" / "@earendil-works"
    theirs: set[str] = set()
    for name, file in UNIONS.items():
        declared = re.search(rf"export type {name} = .*?\n}};", (scope / file).read_text(encoding="utf-8"), re.DOTALL)
        assert declared is not None
        theirs |= set(re.findall(r'^ {4}type: "(\w+)"', declared[0], re.MULTILINE))
    assert len(theirs) > 20

    assert theirs - {event.__struct_config__.tag for event in get_args(Event)} == set(LACKING)
