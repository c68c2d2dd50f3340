"""What a story scripts, as its file says it: what the model answers, and what its tools give. Values only."""

from __future__ import annotations

from typing import Final, Literal

import attrs

from sapwood.events.base import Json
from sapwood.events.messages import NO_USAGE, StopReason, Usage


@attrs.frozen(kw_only=True)
class Call:
    """A call of a tool, as the model makes it."""

    name: str
    arguments: dict[str, Json] = attrs.field(factory=dict[str, Json])
    id: str | None = None
    """`c1`, `c2`, … over the whole script if it is left out."""
    broken: str | None = None
    """What is wrong with the arguments, if they came as no JSON object."""


@attrs.frozen(kw_only=True)
class Answer:
    """What the scripted model says to one call."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    ends: StopReason | None = None
    """How it ends; left out: with `toolUse` if it calls, else with `stop`."""
    usage: Usage = NO_USAGE
    error: str | None = None
    """The call fails with these words, once `text` has come."""
    wait: float = 0.0
    """Seconds of silence before the first word, at most `LONGEST_WAIT`."""
    stall: float = 0.0
    """Seconds of silence behind the last word, before it ends, at most `LONGEST_WAIT`."""
    cut: bool = False
    """Whether it breaks off there, as where a connection does."""


@attrs.frozen(kw_only=True)
class Answers:
    """A queue of answers for each purpose of a call."""

    turn: tuple[Answer, ...] = ()
    compaction: tuple[Answer, ...] = ()
    turn_prefix: tuple[Answer, ...] = ()
    branch_summary: tuple[Answer, ...] = ()


NO_ANSWERS: Final = Answers()

ArgumentWord = Literal["text", "number", "integer", "boolean"]


@attrs.frozen(kw_only=True)
class ScriptedTool:
    """A tool, and what comes of each call of it."""

    result: str | None = None
    """What it gives; left out: its arguments, as JSON."""
    takes: dict[str, ArgumentWord] = attrs.field(factory=dict[str, ArgumentWord])
    """Its arguments, all of which must be given."""
    wait: float = 0.0
    """Seconds that it takes, at most `LONGEST_WAIT`."""
    error: str | None = None
    """It fails with these words, which are its result, once it has waited."""
    alone: bool = False
    """Whether it runs beside no other call."""
    deaf: bool = False
    """Whether it goes on when it is told to stop."""
    final: bool = False
    """Whether the run may stop behind it."""
