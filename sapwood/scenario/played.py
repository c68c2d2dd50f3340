"""What came of a scenario. Values only."""

from __future__ import annotations

import attrs

from sapwood.events.commands import SessionState
from sapwood.events.context import ContextItem
from sapwood.events.entries import Entry
from sapwood.events.ids import EntryId
from sapwood.events.runtime import Event, Purpose
from sapwood.scenario.language import AnyWord, Place, Scenario, Step
from sapwood.scenario.matching import Difference


@attrs.frozen
class Seen:
    """An event, and when it was seen."""

    n: int
    """The nth of the scenario, from 1. Neighbouring pieces of an answer are one event."""
    at: float
    """Virtual seconds since the session was open."""
    event: Event


@attrs.frozen(kw_only=True)
class Moment:
    """What was there to be read at one moment."""

    entries: tuple[Entry, ...]
    """Those that came since the step, or the scenario, began."""
    projection: tuple[ContextItem, ...]
    usage: str
    state: SessionState


@attrs.frozen(kw_only=True)
class PlayedStep:
    """One step, and what came of it."""

    step: Step
    at: float
    """When it began, in virtual seconds."""
    events: tuple[Seen, ...]
    outcome: AnyWord | None
    """Of what has one; None if it had none within `STEP_LIMIT`."""
    why: str
    """The words of a failure or a refusal, or of a step that did not come to its end."""
    after: Moment
    until: int = 0
    """How many events of the scenario had been seen when it ended."""
    entry_id: EntryId | None = None
    """Of what was said: its entry, if it reaches the log."""
    calls: tuple[Purpose, ...] = ()
    """What each call of the model was for, in their order."""
    unanswered: tuple[Purpose, ...] = ()
    """What the calls were for that the script had no answer left for, each purpose once."""


@attrs.frozen(kw_only=True)
class Finding:
    """One difference, and the line of the scenario that it contradicts."""

    path: str
    line: int
    what: str
    """Where in the expectations it is: `events of step 2`, `projection at the end`."""
    difference: Difference
    place: Place = ()
    """The way in the scenario to what is contradicted, or to where it would stand."""


@attrs.frozen(kw_only=True)
class Unused:
    """Answers of one queue that no call asked for. A note and no difference: a story may be cut short to be looked at."""

    purpose: Purpose
    line: int
    """Where the first of them stands."""
    count: int


@attrs.frozen(kw_only=True)
class Played:
    """A scenario that was played to its end."""

    scenario: Scenario
    steps: tuple[PlayedStep, ...]
    end: Moment
    differences: tuple[Finding, ...]
    """Empty: everything was as expected."""
    broken: str | None = None
    """How the session ended before its time."""

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event, in order."""
        return tuple(seen.event for step in self.steps for seen in step.events)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every entry that is new."""
        return self.end.entries

    @property
    def projection(self) -> tuple[ContextItem, ...]:
        """What the model sees in the end."""
        return self.end.projection
