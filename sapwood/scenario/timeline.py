"""How a playing looks: its steps, their events with virtual times, and what was different. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import assert_never

from sapwood.events.base import Json
from sapwood.events.runtime import name_of
from sapwood.scenario.checking import event_value, unused_answers
from sapwood.scenario.errors import MOST_TOLD
from sapwood.scenario.language import (
    Abort,
    ChangeModel,
    Compact,
    CrashNext,
    Feed,
    FollowUp,
    Kill,
    Navigate,
    Pass,
    Prompt,
    Reopen,
    Said,
    Settle,
    Steer,
    Step,
    Submit,
    Waited,
)
from sapwood.scenario.matching import MISSING, Difference, Mismatch
from sapwood.scenario.played import Finding, Played, PlayedStep, Seen
from sapwood.words.describing import event_in_words
from sapwood.words.wording import Line, Piece, counted, cut, line, named, one_line, visible

SHOWN_FINDINGS = MOST_TOLD
"""Differences shown of one scenario: the first few explain the others."""
SHOWN_VALUE = 400
"""Characters of an expected or a seen value."""
GUIDE = "│ "
"""A level that an event stands in."""
_NESTS = frozenset({"agent", "turn", "message", "compaction"})
SHOWN_FIELDS = 20
"""Parts of one item that differ: an item that differs in more is another one."""


def timeline(played: Played) -> Iterator[Line]:
    """The whole playing."""
    story = played.scenario.story
    yield line(Piece(named(played.scenario.path), "name"), ": ", Piece(cut(story.title), "bold"))
    if story.about:
        yield line(Piece(cut(story.about, 140), "dim"))
    nesting = Nesting()
    for n, step in enumerate(played.steps, 1):
        yield line()
        yield from _step(n, step, nesting)
    yield line()
    yield from _verdict(played)
    for left in unused_answers(played.scenario, played.steps):
        told = f": a note: {counted(left.count, 'answer')} for a {left.purpose} that no call asked for"
        yield line(Piece(f"{named(played.scenario.path)}:{left.line}", "name"), told)


def in_words(step: Step) -> str:
    """What a step does, in a few words."""
    match step:
        case Prompt(prompt=text):
            return f"prompt: {cut(text)}"
        case Submit(submit=text):
            return f"submit: {cut(text)}"
        case Steer(steer=text):
            return f"steer: {cut(text)}"
        case FollowUp(follow_up=text):
            return f"follow up: {cut(text)}"
        case Abort():
            return "abort"
        case Compact(compact=instructions):
            return "compact" if instructions is True else f"compact: {cut(instructions)}"
        case Navigate(navigate=target, summarize=summarize):
            where = "before the first entry" if target is None else f"to {cut(target)}"
            return f"move {where}{', with a summary' if summarize else ''}"
        case Settle():
            return "settle"
        case ChangeModel(model=model):
            return f"go on with {cut(model.provider)}/{cut(model.id)}"
        case CrashNext(crash=actor):
            return f"crash {actor} at its next message"
        case Kill():
            return "kill the process, and open what is stored"
        case Reopen():
            return "close, and open again"
        case Feed(events=events):
            return counted(len(events), "literal event")
        case Pass(pass_=seconds):
            return f"{seconds:g} s pass"
        case _:
            assert_never(step)


def to_json(played: Played) -> Json:
    """The playing as plain values: stable keys, events and entries in their wire form."""
    return {
        "path": str(played.scenario.path),
        "title": played.scenario.story.title,
        "ok": not played.differences,
        "steps": [
            {
                "step": in_words(step.step),
                "at": step.at,
                "outcome": step.outcome,
                "why": step.why or None,
                "events": [{"n": seen.n, "at": seen.at, "event": event_value(seen)} for seen in step.events],
            }
            for step in played.steps
        ],
        "differences": [
            {
                "path": finding.path,
                "line": finding.line,
                "what": finding.what,
                "kind": finding.difference.kind,
                "expected": _or_none(finding.difference.expected),
                "seen": _or_none(finding.difference.seen),
            }
            for finding in played.differences
        ],
        "unused": [
            {"purpose": left.purpose, "line": left.line, "count": left.count}
            for left in unused_answers(played.scenario, played.steps)
        ],
    }


class Nesting:
    """How deep an event stands: in a run, a turn, a message, a compaction that has begun and not ended."""

    def __init__(self) -> None:
        self._open: list[str] = []

    def depth(self, name: str) -> int:
        """Of the next event."""
        what, _, part = name.rpartition("_")
        if part == "end" and what in self._open:
            del self._open[self._open.index(what) :]
        depth = len(self._open)
        if part == "start" and what in _NESTS:
            self._open.append(what)
        return depth


def _step(n: int, played: PlayedStep, nesting: Nesting) -> Iterator[Line]:
    yield line(Piece(f"{n}. {in_words(played.step)}", "bold"))
    for seen in played.events:
        yield _event(seen, nesting.depth(name_of(seen.event)))
    step = played.step
    if isinstance(step, Waited | Said):
        good = played.outcome == step.outcome
        why = f": {cut(played.why)}" if played.why else ""
        yield line("   -> ", Piece(f"{played.outcome or 'no outcome'}{why}", "good" if good else "bad"))


def _event(seen: Seen, depth: int) -> Line:
    name, guides = name_of(seen.event), GUIDE * depth
    told = cut(event_in_words(seen.event))
    width = 28 - len(guides)
    return line(Piece(f"{seen.n:5} {seen.at:9.3f}  {guides}", "dim"), Piece(f"{name:{width}} ", "accent"), told)


def _verdict(played: Played) -> Iterator[Line]:
    sums = f"{counted(len(played.events), 'event')}, {counted(len(played.entries), 'new entry', 'new entries')}"
    found = played.differences
    if not found:
        yield line(Piece("as expected", "good"), f": {sums}")
        return
    yield line(Piece(counted(len(found), "difference"), "bad"), f": {sums}")
    yield from findings(found)


def findings(found: Sequence[Finding]) -> Iterator[Line]:
    """The differences, each with its place; of many the first."""
    for finding in found[:SHOWN_FINDINGS]:
        yield from _finding(finding)
    if len(found) > SHOWN_FINDINGS:
        yield line(f"and {len(found) - SHOWN_FINDINGS} more")


def _finding(finding: Finding) -> Iterator[Line]:
    difference = finding.difference
    where = Piece(f"{named(finding.path)}:{finding.line}", "name")
    which = "" if difference.seen_at is None else f" (the {_nth(difference.seen_at + 1)} seen)"
    match difference.kind:
        case "unlike":
            yield line(where, f": {finding.what}: not as expected{which}")
            for mismatch in difference.fields[:SHOWN_FIELDS]:
                yield from _mismatch(mismatch)
            if len(difference.fields) > SHOWN_FIELDS:
                yield line(f"    and {len(difference.fields) - SHOWN_FIELDS} more parts")
        case "not seen":
            yield line(where, f": {finding.what}: expected, {_where(difference)}")
            yield line("    ", Piece("expected  ", "good"), _value(difference.expected))
        case "not expected":
            yield line(where, f": {finding.what}: seen, but not expected{which}")
            yield line("    ", Piece("seen      ", "bad"), _value(difference.seen))
        case _:
            assert_never(difference.kind)


def _where(difference: Difference) -> str:
    """That an item was not seen, or where else it was."""
    if difference.later is not None:
        return f"but not next; it comes later (the {_nth(difference.later + 1)} seen)"
    if difference.before is not None:
        return f"but not here; it came before (the {_nth(difference.before + 1)} seen)"
    return "but not seen"


def _mismatch(mismatch: Mismatch) -> Iterator[Line]:
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in mismatch.field).lstrip(".")
    before = f"{one_line(field)}: " if field else ""
    yield line("    ", Piece("expected  ", "good"), before, _value(mismatch.expected))
    yield line("    ", Piece("seen      ", "bad"), before, _value(mismatch.seen))


def _value(value: Json) -> str:
    """A value as the scenario would write it in one line."""
    if value is MISSING:
        return "(nothing)"
    text = json.dumps(value, ensure_ascii=False)
    return visible(text) if len(text) <= SHOWN_VALUE else f"{visible(text[:SHOWN_VALUE])}…"


def _or_none(value: Json) -> Json:
    return None if value is MISSING else value


def _nth(number: int) -> str:
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
