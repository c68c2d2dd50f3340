"""What a move leaves behind is what the real Pi collects, and what a summary is made of is what Pi prepares, but for `DEPARTURES`.

1. `walked` is Pi's walk with departures to choose from. With none of them it gives what Pi gives, and with all of them what we give.
2. Each of them is seen: without it, in some file, we would not be where we are.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, cast

import attrs
import msgspec
import pytest

from sapwood import read
from sapwood.actors.navigation.branch import left, prepared
from sapwood.actors.navigation.cutting import as_told
from sapwood.actors.outgoing.sending import unsent
from sapwood.actors.projection.counter import heuristic
from sapwood.actors.projection.selection import apply_edit, messages_of, without_prompt
from sapwood.actors.summaries.file_lists import Files, files_of, inherited, union
from sapwood.events.entries import BranchSummary, Compaction, ContextEdit, Entry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import (
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
)
from sapwood.events.times import milliseconds
from sapwood.events.unknown_fields import split
from sapwood.reading import ReadSession
from tests.interop.trees import Row, lines, tree
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle

pytestmark = pytest.mark.interop

FEW: Final = 60
MANY: Final = 3_000
"""Files; in each several moves, and each of them prepared for each of `BUDGETS`: more than 200,000 times."""
BATCH: Final = 100
BUDGETS: Final = (-16_384, -1, 0, 1, 2, 5, 10, 16, 25, 50, 10**9)
"""Tokens: what is said in these files has one to twenty a message."""
LEAST_CUT: Final = 12
"""Tokens of the mark of a summary that is cut, and of a little of it: with less left it is left out."""

Departure = Literal[
    "floor", "newest", "cut", "prompt", "thinking", "unsent", "blank", "hidden", "files", "compactions", "ran"
]
DEPARTURES: Final[Mapping[Departure, str]] = {
    "floor": "a budget of nothing or less is no budget; in Pi there is then no limit (N3)",
    "newest": "the newest message is in, cut to fit; in Pi there is then nothing to summarise (N3)",
    "cut": "a summary at the stop is cut to what is left; in Pi it goes above the budget (N3)",
    "prompt": "the system's messages take no room, for a summary is never told them",
    "thinking": "nor does thinking, and an image takes as much as its mark",
    "unsent": "nor does what was never sent to a model (P5): failed answers, empty messages, commands kept from it",
    "blank": "nor does a summary that says nothing",
    "hidden": "a summary that an edit hides is hidden here too, as it is from the model (P3)",
    "files": "files are those of every entry, whether or not it fits (N3)",
    "compactions": "and of compactions of ours as well (N3)",
    "ran": "and of calls that ran, hidden since or not; those of failed answers never did (C12)",
}
EVERY: Final = frozenset(DEPARTURES)


@attrs.frozen(kw_only=True)
class Walked:
    """What comes of the walk."""

    messages: tuple[Message, ...]
    """Oldest first, all of them whole."""
    cut_to: int | None
    """What the oldest is cut to, in tokens; None if it is whole."""
    tokens: int
    """Of those that are whole."""
    files: Files


def walked(entries: Sequence[Entry], budget: int, departing: frozenset[Departure]) -> Walked:
    edits = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEdit)}
    said = [(entry, message) for entry in entries for message in said_by(entry, edits.get(entry.id), departing)]
    kept: list[Message] = []
    passed: list[Message] = []
    tokens = 0
    cut_to: int | None = None
    limited = budget > 0 or "floor" in departing
    for entry, message in reversed(without_the_untold(said, departing)):
        passed.append(message)
        size = heuristic(as_told(message) if "thinking" in departing else message)
        if limited and tokens + size > max(budget, 0):
            is_summary = isinstance(entry, Compaction | BranchSummary) and tokens < max(budget, 0) * 0.9
            if is_summary or ("newest" in departing and not kept):
                kept.append(message)
                if "cut" in departing or not is_summary:
                    cut_to = max(budget, 0) - tokens
                else:
                    tokens += size
            break
        kept.append(message)
        tokens += size
    messages = tuple(reversed(kept))
    return Walked(messages=messages, cut_to=cut_to, tokens=tokens, files=files_by(entries, passed, departing))


def said_by(entry: Entry, edit: ContextEdit | None, departing: frozenset[Departure]) -> tuple[Message, ...]:
    """What an entry says, as Pi has it: results left out."""
    match entry:
        case MessageEntry(message=ToolResultMessage()):
            return ()
        case BranchSummary(summary="") if "blank" not in departing:
            said: tuple[Message, ...] = (
                BranchSummaryMessage(summary="", from_id=entry.from_id, timestamp=milliseconds(entry.timestamp) or 0),
            )
        case Compaction():
            said = without_prompt(messages_of(entry))
        case _:
            said = messages_of(entry)
    if edit is None:
        return said
    if isinstance(entry, Compaction | BranchSummary):
        return () if "hidden" in departing and edit.replacement is None else said
    return apply_edit(entry, edit.replacement)


def without_the_untold(
    said: Sequence[tuple[Entry, Message]], departing: frozenset[Departure]
) -> list[tuple[Entry, Message]]:
    verdicts = unsent([message for _, message in said])
    return [
        (entry, message)
        for (entry, message), why in zip(said, verdicts, strict=True)
        if not ("unsent" in departing and why is not None)
        and not ("prompt" in departing and isinstance(message, SystemMessage))
        and not ("blank" in departing and is_blank(message))
    ]


def is_blank(message: Message) -> bool:
    return isinstance(message, BranchSummaryMessage | CompactionSummaryMessage) and not message.summary.strip()


def files_by(entries: Sequence[Entry], passed: Sequence[Message], departing: frozenset[Departure]) -> Files:
    """Pi looks at the calls of what it passed on its walk, as edited, and takes those of failed answers for ones that ran."""
    kinds = (BranchSummary, Compaction) if "compactions" in departing else (BranchSummary,)
    nested = [inherited(entry) for entry in entries if isinstance(entry, kinds)]
    messages: Sequence[Message] = passed
    if "files" in departing:
        edits = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEdit)}
        every = (entry for entry in entries if isinstance(entry, MessageEntry))
        messages = [
            message
            for entry in every
            for message in (
                (entry.message,) if "ran" in departing else said_by(entry, edits.get(entry.id), frozenset())
            )
        ]
    if "ran" not in departing:
        messages = [as_if_it_ran(message) for message in messages]
    return union(files_of(messages), *nested)


def as_if_it_ran(message: Message) -> Message:
    return msgspec.structs.replace(message, stop_reason="stop") if message.role == "assistant" else message


def with_files(seed: int, rows: list[Row]) -> list[Row]:
    """The rows with other calls, with lists in summaries, more edits of these, and without content that is null: Pi raises for that."""
    chance = Random(seed)  # noqa: S311 - the same file for the same seed is the point

    def paths() -> list[str]:
        return chance.choices("abcdef", k=chance.randrange(3))

    summaries = [row["id"] for row in rows if row["type"] in {"compaction", "branch_summary"}]
    for row in rows:
        if row["type"] == "context_edit" and summaries and chance.random() < 0.3:
            row["targetId"] = chance.choice(summaries)
        message = row.get("message", {})
        if "content" in message and message["content"] is None:
            message["content"] = []
        content = message.get("content")
        for block in cast("list[Row]", content) if isinstance(content, list) else ():
            if block["type"] == "toolCall":
                block["name"] = chance.choice(["read", "write", "edit", "other"])
                block["arguments"] = {"path": chance.choice("abcdef")}
        if row["type"] in {"compaction", "branch_summary"} and chance.random() < 0.7:
            row["details"] = {"readFiles": paths(), "modifiedFiles": paths()}
            row["fromHook"] = chance.random() < 0.3
    return rows


Move = tuple[str | None, str | None]


def moves_in(seed: int, rows: Sequence[Row], leaves: Sequence[str | None]) -> list[Move]:
    """From the end of the file to an entry of two kinds, to itself, to nothing; and between the other leaves."""
    chance = Random(seed + 1)  # noqa: S311 - the same moves for the same seed are the point
    end = str(rows[-1]["id"])
    kinds = sorted({str(row["type"]) for row in rows})
    targets = [chance.choice([str(row["id"]) for row in rows if row["type"] == kind]) for kind in kinds]
    first, other = leaves[0], leaves[1]
    drawn = chance.sample(targets, k=min(3, len(targets)))
    return [*((end, target) for target in drawn), (end, None), (first, other), (other, first), (None, end)]


def plain(message: Message) -> Any:
    return json.loads(msgspec.json.encode(message))


@pytest.fixture(name="pi", scope="module")
def _pi() -> Generator[Oracle]:
    try:
        with Oracle(patience=120) as oracle:
            yield oracle
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


def assert_alike(session: ReadSession, move: Move, pi: dict[str, Any], seen: set[Departure]) -> None:
    """What we collect and prepare is what Pi does, but for the departures. Those that made a difference are added to what is seen."""
    found = session.tree()
    leaf, target = (None if name is None else found.index(EntryId(name)) for name in move)
    was_left = left(found, leaf, target)
    assert [found.id(place) for place in was_left.entries] == pi["entries"]
    assert (None if was_left.common is None else found.id(was_left.common)) == pi["common"]
    entries = [session._view.entry(place) for place in was_left.entries]
    given = [split(one, Message)[0] for one in pi["messages"]]
    for budget, answer in zip(BUDGETS, pi["prepared"], strict=True):
        as_pi = walked(entries, budget, frozenset())
        assert [plain(message) for message in as_pi.messages] == given[len(given) - answer["taken"] :]
        assert as_pi.tokens == answer["tokens"]
        assert [*as_pi.files.read] == answer["readFiles"]
        assert [*as_pi.files.modified] == answer["modifiedFiles"]
        as_ours = walked(entries, budget, EVERY)
        assert_ours(entries, budget, as_ours)
        seen |= {one for one in EVERY - seen if walked(entries, budget, EVERY - {one}) != as_ours}


def assert_ours(entries: Sequence[Entry], budget: int, expected: Walked) -> None:
    """What we prepare is the walk with every departure."""
    ours = prepared(entries, budget, heuristic, manner="pi")
    assert ours.files == expected.files
    if expected.cut_to is None:
        assert ours.messages == expected.messages
        assert ours.tokens == expected.tokens
        return
    whole = expected.messages[1:]
    assert ours.messages[len(ours.messages) - len(whole) :] == whole
    if len(ours.messages) == len(whole):
        assert whole
        assert expected.cut_to < LEAST_CUT
        assert ours.tokens == expected.tokens
    else:
        assert ours.messages[0].role == expected.messages[0].role
        assert ours.tokens - expected.tokens <= max(expected.cut_to, 0 if whole else 1)


def departures_seen(pi: Oracle, folder: Path, seeds: Sequence[int]) -> tuple[frozenset[Departure], int]:
    """Which departures made a difference somewhere, and how many moves there were that left something."""
    seen: set[Departure] = set()
    counted = 0
    for first in range(0, len(seeds), BATCH):
        files: list[dict[str, Any]] = []
        for seed in seeds[first : first + BATCH]:
            rows, leaves = tree(seed)
            path = folder / f"{seed}.jsonl"
            path.write_bytes(lines(with_files(seed, rows)))
            files.append({"path": str(path), "moves": moves_in(seed, rows, leaves), "budgets": BUDGETS})
        answers = cast("list[list[dict[str, Any]]]", pi.ask({"op": "branches", "files": files})["answers"])
        for file, given in zip(files, answers, strict=True):
            assert isinstance(given, list), given
            with read(str(file["path"])) as session:
                for move, answer in zip(file["moves"], given, strict=True):
                    assert_alike(session, move, answer, seen)
                    counted += bool(answer["entries"])
    return frozenset(seen), counted


def test_what_is_left_and_prepared_is_pis_but_for_the_departures(pi: Oracle, tmp_path: Path) -> None:
    seen, counted = departures_seen(pi, tmp_path, range(FEW))

    assert seen == EVERY
    assert counted > FEW


@pytest.mark.full
def test_what_is_left_and_prepared_is_pis_in_very_many_files(pi: Oracle, tmp_path: Path) -> None:
    seen, counted = departures_seen(pi, tmp_path, range(FEW, FEW + MANY))

    assert seen == EVERY
    assert counted * len(BUDGETS) > 50_000
