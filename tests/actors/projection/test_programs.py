"""Whatever comes, in whatever order: the fold is what a new one would be, what goes out is paired, and what was sent stays as it was.

A program is a list of appends, moves, compactions, edits, crashes and requests, run on a log in memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing import Outgoing
from sapwood.actors.projection.fold import Fold
from sapwood.events.content import AssistantBlock, ThinkingContent
from sapwood.events.entries import Entry
from sapwood.events.ids import EntryId
from sapwood.events.messages import BashExecutionMessage, StopReason
from sapwood.events.models import Limits
from tests.actors.outgoing.paired import assert_paired
from tests.actors.projection.logs import KINDS, Log, Make
from tests.actors.projection.sent import bytes_of, outgoing, sent
from tests.build import MS, assistant, call, message_entry, result, user
from tests.house.layout import ROOT
from tests.interop.trees import lines, tree


def answer(*blocks: AssistantBlock | str, stop: StopReason = "stop") -> Make:
    return lambda name, parent, _: message_entry(name, assistant(*blocks, stop=stop), parent)


def answered(call_id: str) -> Make:
    """The text tells results apart, so that a wrong one is seen."""
    return lambda name, parent, _: message_entry(name, result(call_id, f"by {name}"), parent)


def command(name: str, parent: EntryId | None, _: EntryId) -> Entry:
    said = BashExecutionMessage(command=name, output="", cancelled=False, truncated=False, timestamp=MS)
    return message_entry(name, msgspec.structs.replace(said, exclude_from_context=name.endswith("7")), parent)


ENTRIES: Final[Sequence[Make]] = [
    *KINDS,
    answer("two", call("a"), call("b"), stop="toolUse"),
    answer(call("a"), stop="toolUse"),
    answer(call("b"), call("b"), stop="toolUse"),
    answer(ThinkingContent(thinking="hm", thinking_signature="s"), " ", call("c"), stop="toolUse"),
    answer("half", call("a"), stop="aborted"),
    answer(call("b"), stop="error"),
    answer(""),
    *[answered(one) for one in ("a", "a", "b", "b", "c", "nobody")],
    command,
]


@attrs.frozen
class Step:
    """One entry, and what happens behind it."""

    make: int
    back: int
    """How far above the last entry its parent is: mostly the last one, as a session grows; the most is a root."""
    target: int
    then: str


ROOT_AT: Final = 20
THEN: Final = st.sampled_from(["nothing", "pull", "crash", "ask", "ask"])


def steps(makes: Sequence[int], backs: Sequence[int], *, least: int) -> st.SearchStrategy[list[Step]]:
    step = st.builds(Step, st.sampled_from(makes), st.sampled_from(backs), st.integers(0, 20), THEN)
    return st.lists(step, min_size=least, max_size=30)


STEPS: Final = steps(range(len(ENTRIES)), [*[0] * 12, 1, 3, 9, ROOT_AT], least=3)
TALK: Final = steps([*range(len(KINDS), len(ENTRIES))] * 3 + [*range(len(KINDS))], [*[0] * 30, 1, ROOT_AT], least=8)
"""Mostly calls and results, one behind the other: so that requests follow one another on one path."""


class Program(Log):
    """A log that programs run on."""

    def __init__(self) -> None:
        super().__init__()
        self.names = 0

    def run(self, step: Step) -> None:
        parent = (
            None if step.back == ROOT_AT or not self.names else EntryId(f"e{self.names - 1 - step.back % self.names}")
        )
        self.append(ENTRIES[step.make], parent, EntryId(f"e{max(0, self.names - step.target)}"))
        if step.then == "crash":
            self.fold = Fold(self.view)
        elif step.then != "nothing":
            self.fold.pull()

    def append(self, make: Make, parent: EntryId | None, target: EntryId) -> None:
        self.add(make(f"e{self.names}", parent, target), pull=False)
        self.names += 1

    def prompt(self) -> None:
        """What comes before each request: a resumed session asks for nothing before somebody said something."""
        leaf = self.view.leaf
        self.append(lambda name, parent, _: message_entry(name, user(name), parent), leaf, EntryId("e0"))

    def request(self) -> Outgoing:
        self.fold.pull()
        return outgoing(self.fold.context().messages)

    @property
    def path(self) -> list[int]:
        return self.view.tree.path(self.view.tree.leaf)

    def alone(self) -> Fold:
        """A fold of a log that has nothing but the path."""
        log = Log()
        for index in self.path:
            log.add(self.view.entry(index), pull=False)
        return log.from_scratch


@pytest.mark.slow
@given(STEPS)
def test_what_is_folded_and_sent_is_what_a_log_of_the_path_alone_gives(program: list[Step]) -> None:
    """P2, P4 and P10, whatever was folded when, and with calls and results anywhere, doubled, orphaned, edited and compacted."""
    log = Program()
    for step in program:
        log.run(step)
        if step.then == "ask":
            request, scratch = log.request(), log.from_scratch
            assert log.fold.context(explained=True) == scratch.context(explained=True)
            assert log.fold.measure() == scratch.measure()
            for tokens in (0, 5, 10_000):
                assert log.fold.survey(tokens) == scratch.survey(tokens)
            assert request == outgoing(scratch.context().messages) == outgoing(log.alone().context().messages)
            assert_paired(request.messages)


@pytest.mark.slow
@given(TALK, st.sampled_from([None, Limits(text_bytes=64, call_id_length=16)]))
def test_each_request_begins_with_the_one_before_it(program: list[Step], limits: Limits | None) -> None:
    """P9, while nothing on the path is edited or compacted. Only a late result that is moved to its call breaks it, and is told."""
    log = Program()
    before: tuple[list[int], list[bytes], list[object]] | None = None
    for step in program:
        log.run(step)
        if step.then != "ask":
            continue
        log.prompt()
        log.fold.pull()
        out = outgoing(log.fold.context().messages, limits)
        path, request, moved = log.path, bytes_of(out), [one for one in out.repairs if one.kind == "moved"]
        if before is not None and path[: len(before[0])] == before[0]:
            kinds = {log.view.tree.kind(index) for index in path[len(before[0]) :]}
            if not kinds & {"context_edit", "compaction"} and moved == before[2]:
                assert request[: len(before[1])] == before[1]
        before = path, request, list(moved)


def test_a_result_that_comes_after_its_call_was_given_up_breaks_the_beginning_and_is_told() -> None:
    log = Program()
    log.append(answer(call("a"), stop="toolUse"), None, EntryId("e0"))
    log.prompt()
    before = log.request()
    log.append(answered("a"), log.view.leaf, EntryId("e0"))
    log.prompt()

    after = log.request()

    assert bytes_of(after)[: len(before.messages)] != bytes_of(before)
    assert [(one.kind, two.kind) for one, two in zip(before.repairs, after.repairs, strict=True)] == [
        ("supplied", "moved")
    ]


@pytest.mark.slow
def test_another_process_with_another_hash_seed_on_another_day_sends_the_same_bytes(tmp_path: Path) -> None:
    """P9: after close and reopen. Nothing that is sent asks the clock, so that another day is another time zone and no more."""
    paths: list[Path] = []
    for seed in Random(9).sample(range(10_000), 40):  # noqa: S311 - the same trees each time
        paths.append(tmp_path / f"{seed}.jsonl")
        paths[-1].write_bytes(lines(tree(seed)[0]))
    here = [sent(path) for path in paths]

    for hash_seed, zone in (("1", "Pacific/Kiritimati"), ("77", "Pacific/Pago_Pago")):
        told = subprocess.run(
            [sys.executable, "-m", "tests.actors.projection.sent", *map(str, paths)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": zone},
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        assert told.stdout.splitlines() == here
    assert len(b"".join(here)) > 10_000
