"""Where what we tell departs from what the real Pi tells, and the rule that has it so. No I/O.

1. `DEPARTURES` is the whole of it: whatever else differs is a mistake of ours.
2. A departure changes one of the two sides, so that they come out alike; each is needed by a story, and a test says so.
3. A story that goes another way from some point on is `APART`: there is no telling which of its events belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import attrs

Told = dict[str, Any]
"""One event: its type, and the facts that both have."""
Change = Callable[[list[Told]], list[Told]]


@attrs.frozen
class Departure:
    rule: str
    """Which rule, or rules, has it so."""
    why: str
    side: Literal["ours", "pi"]
    """Whose events are changed."""
    change: Change


def is_like(event: Told, pattern: Told) -> bool:
    return all(event.get(name) == value for name, value in pattern.items())


def run_at(told: Sequence[Told], at: int, patterns: Sequence[Told]) -> bool:
    """Whether events like these stand there, one right behind the other."""
    there = told[at : at + len(patterns)]
    return len(there) == len(patterns) and all(map(is_like, there, patterns))


def without(*patterns: Told) -> Change:
    """Leaves out what is like one of these."""
    return lambda told: [event for event in told if not any(is_like(event, pattern) for pattern in patterns)]


def without_run(*patterns: Told, behind: Sequence[Told]) -> Change:
    """Leaves out a run of these, where it stands right behind those. What it put into the log leaves `agent_end` too."""

    def change(told: list[Told]) -> list[Told]:
        kept: list[Told] = []
        gone: list[str] = []
        at = 0
        while at < len(told):
            if run_at(kept, len(kept) - len(behind), behind) and run_at(told, at, patterns):
                gone += [event["role"] for event in told[at : at + len(patterns)] if event["type"] == "message_end"]
                at += len(patterns)
                continue
            kept.append(_lacking(told[at], gone) if told[at]["type"] == "agent_end" else told[at])
            at += 1
        return kept

    return change


def _lacking(agent_end: Told, gone: list[str]) -> Told:
    """Each role that is gone is left out once: a prompt is the first message of its run, what the model said last is the last one."""
    roles: list[str] = list(agent_end["roles"])
    for role in gone:
        roles.pop(roles.index(role) if role == "system" else len(roles) - 1 - roles[::-1].index(role))
    gone.clear()
    return {**agent_end, "roles": roles}


def executions_first(told: list[Told]) -> list[Told]:
    """The results of a batch behind all of its executions."""
    ordered: list[Told] = []
    held: list[Told] = []
    for event in told:
        if event.get("role") == "toolResult":
            held.append(event)
            continue
        if not event["type"].startswith("tool_execution"):
            ordered, held = [*ordered, *held], []
        ordered.append(event)
    return [*ordered, *held]


def retries_only(told: list[Told]) -> list[Told]:
    """`willRetry` where a retry follows, and not where a recovery does."""
    return [
        {**event, "willRetry": event["willRetry"] and run_at(told, at + 1, [{"type": "auto_retry_start"}])}
        if event["type"] == "agent_end"
        else event
        for at, event in enumerate(told)
    ]


def final_attempts_once(told: list[Told]) -> list[Told]:
    """Without a second compaction that fails as the one before the run did."""
    failed = {"type": "compaction_end", "reason": "threshold", "failed": True}
    start = {"type": "compaction_start", "reason": "threshold"}
    begun = next((at for at, event in enumerate(told) if is_like(event, failed)), len(told))
    return [*told[: begun + 1], *without_run(start, failed, behind=[{"type": "agent_end"}])(told[begun + 1 :])]


def good_answers_only(told: list[Told]) -> list[Told]:
    """Another attempt that was stopped, or was cut off and is recovered from, came to nothing: told where such an end is told."""
    events = list(told)
    for at, event in enumerate(told):
        if not is_like(event, {"type": "auto_retry_end", "success": True}):
            continue
        end = next(after for after in range(at, len(told)) if told[after]["type"] == "agent_end")
        stopped = is_like(told[at - 1], {"stopReason": "aborted"})
        cut_off = is_like(told[at - 1], {"stopReason": "length"}) and run_at(told, end + 1, [HIDDEN])
        if stopped or cut_off:
            events[at : end + 1] = [*told[at + 1 : end + 1], {**event, "success": False}]
    return events


HIDDEN: Final = {"type": "entry_appended", "kind": "context_edit"}
STOPPED: Final = {"type": "turn_end", "stopReason": "aborted"}
ANSWER: Final = {"role": "assistant"}
SYSTEM: Final = {"role": "system"}

DEPARTURES: Final[Mapping[str, Departure]] = {
    "every entry is told": Departure(
        "S4",
        "news of what is in the log comes when it is there; Pi tells of edits and of what extensions append",
        "ours",
        without({"type": "entry_appended", "kind": "message"}, {"type": "entry_appended", "kind": "compaction"}),
    ),
    "every bill is told": Departure(
        "T6", "each billed call counts, a summary's too", "ours", without({"type": "usage_reported"})
    ),
    "how a compaction came out is told to everybody": Departure(
        "C18, H3",
        "whatever is news to extensions is a public event; Pi tells extensions alone",
        "ours",
        without({"type": "session_compact"}, {"type": "session_compact_failed"}),
    ),
    "a recovery is another attempt": Departure("R1", "willRetry says so of recoveries too", "ours", retries_only),
    "a retry needs no edit": Departure(
        "M4, P5",
        "a failed answer is never sent, so nothing has to hide it",
        "pi",
        without_run(HIDDEN, behind=[{"type": "auto_retry_start"}]),
    ),
    "another attempt is a success if its answer is good": Departure(
        "P5, C16",
        "one that was stopped is not sent, one that is recovered from is hidden; with Pi whatever is no error is a success",
        "pi",
        good_answers_only,
    ),
    "results come behind all executions": Departure(
        "R1, R2",
        "one order for every batch; Pi has another one where calls run one by one, or are cut off and do not run",
        "pi",
        executions_first,
    ),
    "no turn begins in a run that was stopped": Departure(
        "R4",
        "an abort in the tools ends the run; Pi records one more turn that says nothing",
        "pi",
        without_run(
            {"type": "turn_start"},
            {"type": "message_start", **ANSWER},
            {"type": "message_end", **ANSWER, "stopReason": "aborted"},
            STOPPED,
            behind=[{"type": "turn_end", "stopReason": "toolUse"}],
        ),
    ),
    "no prompt is prepared in a run that was stopped": Departure(
        "R4, P6",
        "nobody is asked for a section any more",
        "pi",
        without_run(
            {"type": "message_start", **SYSTEM},
            {"type": "message_end", **SYSTEM},
            behind=[
                {"type": "compaction_end", "aborted": True},
                {"type": "agent_start"},
                {"type": "turn_start"},
            ],
        ),
    ),
    "a refused prompt is not heard": Departure(
        "R6",
        "no event of the first prompt is disturbed",
        "pi",
        without_run({"type": "agent_settled"}, behind=[{"type": "agent_start"}]),
    ),
    "a compaction that came to nothing is not tried again": Departure(
        "C17", "until new input changes the sum", "pi", final_attempts_once
    ),
    "a compaction hands back what waits": Departure(
        "C15",
        "in its outcome; with Pi it stays in the queue",
        "ours",
        without_run({"type": "queue_update", "steering": [], "followUp": []}, behind=[{"type": "agent_settled"}]),
    ),
}

TWO_TURNS: Final = (("system", "user", "assistant"), ("user", "assistant"))


@attrs.frozen(kw_only=True)
class Apart:
    rule: str
    why: str
    ours: tuple[tuple[str, ...], ...]
    """What each run brought into the log, by roles."""
    pi: tuple[tuple[str, ...], ...]


APART: Final[Mapping[str, Apart]] = {
    "a follow-up in a compaction that somebody asks for": Apart(
        rule="R3, R6",
        why="it was accepted, so it is said, in a run behind the compaction; with Pi it waits for the next prompt",
        ours=(*TWO_TURNS, ("user", "assistant")),
        pi=TWO_TURNS,
    ),
    "steering in a compaction before a follow-up": Apart(
        rule="R3",
        why="steering enters before the next request, that of a follow-up too; with Pi it waits for a turn of its own",
        ours=(*TWO_TURNS, ("user", "assistant", "user", "user", "assistant")),
        pi=(*TWO_TURNS, ("user", "assistant", "user", "assistant", "user", "assistant")),
    ),
}
"""Stories by name."""

LACKING: Final[Mapping[str, str]] = {
    "bash_execution_update": "S1: what a person ran in Pi is read from its file; a session of ours runs no command but a tool's",
}
"""Names that Pi has and we do not, and why."""


def normalised(told: Iterable[Told], side: Literal["ours", "pi"], *, but: str | None = None) -> list[str]:
    """The events as lines, once every departure (`but` one) is taken from that side."""
    events = _whole_pieces(told)
    for name, departure in DEPARTURES.items():
        if name != but and departure.side == side:
            events = departure.change(events)
    return list(map(line, events))


def _whole_pieces(told: Iterable[Told]) -> list[Told]:
    """Into how many pieces an answer is cut is its provider's business."""
    events: list[Told] = []
    for event in told:
        if not (event["type"] == "message_update" and events and events[-1] == event):
            events.append(event)
    return events


def line(event: Told) -> str:
    """In one order of facts, so that a difference can be read."""
    facts = [f"{name}={value}" for name, value in sorted(event.items()) if name != "type"]
    return " ".join([event["type"], *facts])
