"""From what was expected and what was seen to findings. No I/O.

1. Everything is compared in its wire form.
2. Pieces of answers are passed over, unless a pattern is about them.
3. A message is expected to be sent, unless its pattern says `unsent`.
4. A call that the script had no answer for is a difference, unless the story expects a failed answer (rule 4 of `language`).
5. An `abort`, a `settle` and a `model` that did not come to their end are differences.
6. An answer that no call asked for is a note. Where a run broke nobody can tell which those are, and nothing is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.codec import encode_entry, encode_event
from sapwood.events.context import ContextItem
from sapwood.events.runtime import MessageUpdate
from sapwood.scenario import scripting
from sapwood.scenario.language import Abort, ChangeModel, Expect, Pattern, Place, Said, Scenario, Settle, Step, Waited
from sapwood.scenario.matching import MISSING, Difference, Mismatch, compare, matches
from sapwood.scenario.played import Finding, Moment, PlayedStep, Seen, Unused
from sapwood.words.describing import text_of_message

ELIDED: Final = "message_update"


def check(scenario: Scenario, steps: Sequence[PlayedStep], end: Moment, broken: str | None) -> tuple[Finding, ...]:
    """Every difference: those of the steps in order, then those of the end. `broken` says how the session ended before its time."""
    return tuple(_findings(scenario, steps, end, broken))


def _findings(scenario: Scenario, steps: Sequence[PlayedStep], end: Moment, broken: str | None) -> Iterator[Finding]:
    def found(place: Place, what: str, difference: Difference) -> Finding:
        line = scenario.line_of(place)
        return Finding(path=str(scenario.path), line=line, what=what, difference=difference, place=place)

    for at, played in enumerate(steps):
        place: Place = ("steps", at)
        step = played.step
        if isinstance(step, Waited | Said) and step.outcome != played.outcome:
            seen = f"{played.outcome or 'none'}{f' ({played.why})' if played.why else ''}"
            yield found((*place, "outcome"), f"outcome of step {at + 1}", _unlike(step.outcome, seen))
        if isinstance(step, Abort | Settle | ChangeModel) and played.why:
            yield found(place, f"step {at + 1}", _unlike("settled", played.why))
        if played.unanswered and not expects_failure(step, scenario.story.expect):
            yield found(place, f"script in step {at + 1}", _unlike("an answer for each call", _run_out(played)))
        for key, item, difference in _against(step.expect, played.events, played.after):
            yield found((*place, "expect", key, *item), f"{key} of step {at + 1}", difference)
    if broken is not None:
        place = ("steps", len(steps))
        yield found(place, "session", _unlike("played and seen until its end", broken))
        return
    everything = [seen for step in steps for seen in step.events]
    for key, item, difference in _against(scenario.story.expect, everything, end):
        yield found(("expect", key, *item), f"{key} at the end", difference)


def unused_answers(scenario: Scenario, steps: Sequence[PlayedStep]) -> tuple[Unused, ...]:
    """What is left of the script, queue by queue: each call took the next answer of its queue."""
    said = [played for played in steps if isinstance(played.step, Waited | Said)]
    if len(steps) < len(scenario.story.steps) or any(played.outcome in {None, "failed"} for played in said):
        return ()
    taken = Counter(purpose for played in steps for purpose in played.calls)
    queues = scripting.script(scenario.story)
    return tuple(
        Unused(purpose=purpose, line=scenario.line_of(("answers", purpose, first)), count=len(queue) - first)
        for purpose, queue in queues.items()
        if (first := taken[purpose]) < len(queue)
    )


def expects_failure(step: Step, end: Expect) -> bool:
    """Whether the story says that an answer fails: by a step's outcome, or in an expectation of the step or of the end."""
    if isinstance(step, Waited | Said) and step.outcome not in {"delivered", "compacted", "moved"}:
        return True
    lists = [patterns for one in (step.expect, end) for patterns in (one.events, one.entries, one.projection)]
    return any(_tells_failure([pattern.value for pattern in patterns]) for patterns in lists if patterns is not None)


def _tells_failure(value: Json) -> bool:
    todo: list[Json] = [value]
    while todo:
        one = todo.pop()
        if is_object(one):
            if one.get("stopReason") == "error" or one.get("unsent") == "failed" or one.get("errorMessage") is not None:
                return True
            todo.extend(one.values())
        elif is_array(one):
            todo.extend(one)
    return False


def _run_out(played: PlayedStep) -> str:
    """In words, which queues of the script were empty."""
    return "; ".join(f"no answer left for a {purpose}: add one to answers.{purpose}" for purpose in played.unanswered)


def _against(expect: Expect, events: Sequence[Seen], moment: Moment) -> Iterator[tuple[str, Place, Difference]]:
    """Each difference, with the key that it is under and its place in there."""
    if expect.events is not None:
        wanted = _values(expect.events)
        kept = events if _mentioned(ELIDED, wanted) else [seen for seen in events if not is_elided(seen)]
        places = [seen.n - 1 for seen in kept]
        for difference in compare(wanted, [event_value(seen) for seen in kept], key="type"):
            yield "events", _at(difference), difference.at_places(places)
    if expect.entries is not None:
        entries = [msgspec.json.decode(encode_entry(entry)) for entry in moment.entries]
        for difference in compare(_values(expect.entries), entries, key="type"):
            yield "entries", _at(difference), difference
    if expect.projection is not None:
        wanted = [{"unsent": None, **value} if is_object(value) else value for value in _values(expect.projection)]
        for difference in compare(wanted, [item_value(item) for item in moment.projection], key="role"):
            yield "projection", _at(difference), difference
    if expect.usage is not None and not matches(expect.usage, moment.usage):
        yield "usage", (), _unlike(expect.usage, moment.usage)
    if expect.state is not None and expect.state != moment.state:
        yield "state", (), _unlike(expect.state, moment.state)


def is_elided(seen: Seen) -> bool:
    """Whether the event is a piece of an answer."""
    return isinstance(seen.event, MessageUpdate)


def event_value(seen: Seen) -> Json:
    """The event in its wire form."""
    return msgspec.json.decode(encode_event(seen.event))


def item_value(item: ContextItem) -> dict[str, Json]:
    """A message of the projection, as patterns see it."""
    return {
        "role": item.message.role,
        "text": text_of_message(item.message),
        "unsent": item.unsent,
        "tokens": item.tokens,
        "entryId": item.entry_id,
        "message": msgspec.to_builtins(item.message),
    }


def _values(patterns: Sequence[Pattern]) -> list[Json]:
    return [pattern.value for pattern in patterns]


def _mentioned(name: str, wanted: Sequence[Json]) -> bool:
    return any(is_object(value) and value.get("type") == name for value in wanted)


def _at(difference: Difference) -> Place:
    return () if difference.expected_at is None else (difference.expected_at,)


def _unlike(expected: str, seen: str) -> Difference:
    return Difference(kind="unlike", expected=expected, seen=seen, fields=(Mismatch((), expected, seen or MISSING),))
