"""B, C, L and M: what a history is when it is sent again. Each log is taken up by a prompt to a provider that refuses what any refuses.

The entries of compactions and moves are written into the file as those write them; compactions that run are in `test_compaction_*.py`.
A hook that rewrites a payload (M06) comes with that hook.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec
import pytest
import trio

from sapwood import Delivered, Limits, Model, Request, Runtime, Session, read
from sapwood.actors.environment import Environment
from sapwood.actors.model.providers.base import Piece
from sapwood.actors.outgoing import Outgoing, prepare
from sapwood.actors.outgoing.pairing import UNKNOWN_FATE
from sapwood.actors.outgoing.rendering import COMPACTION_INTRO, NO_OUTPUT
from sapwood.events.content import (
    AssistantBlock,
    ImageContent,
    ThinkingContent,
    ToolCall,
)
from sapwood.events.deltas import TextDelta, ThinkingDelta, ThinkingStart, ToolCallDelta, ToolCallStart
from sapwood.events.entries import (
    ContextEdit,
    MessageEntry,
    Replacement,
)
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import AssistantMessage, StoredMessage, ToolResultMessage
from sapwood.events.runtime import Diagnostic
from sapwood.reading import Reading
from tests.build import MODEL, TIME, assistant, call, message_entry, result, text, user, words
from tests.faults.history import Log, compaction
from tests.faults.logs import append, rows
from tests.faults.sent import as_bytes, results_of, texts
from tests.faults.strict import Strict, strictly
from tests.house.layout import ROOT
from tests.talking import drain

IMAGE: Final = ImageContent(data="aGk=", mime_type="image/png")


async def asked(path: Path, provider: Strict | None = None, *, model: Model = MODEL) -> Request:
    """What goes out at the next prompt; it is answered."""
    provider = provider or Strict("Gladly.")
    async with strictly(path, provider, model=model) as session:
        outcome = await session.prompt("go on")
        assert not outcome.failed, outcome.answer
    return provider.requests[-1]


async def asked_twice(path: Path) -> tuple[Request, Request]:
    return await asked(path), await asked(path)


def seen(path: Path) -> list[str]:
    with read(path) as session:
        return [item.entry_id for item in session.context().items]


async def test_b02_a_compaction_takes_the_beginning_and_leaves_the_rest_as_it_is(tmp_path: Path) -> None:
    """B02: of twenty turns three are kept: the summary, and exactly the entries from the first kept one on."""
    log = Log()
    questions = log.turns(20)
    compacted = log.compact(questions[-3])
    path = log.write(tmp_path / "s.jsonl")

    assert seen(path) == [compacted, *(entry.id for entry in log.entries[34:40])]
    request = await asked(path)
    assert as_bytes(request)[1:7] == [msgspec.json.encode(message) for message in log.messages[34:]]
    assert texts(request)[0].startswith(COMPACTION_INTRO)
    assert texts(request)[5] == words(log.messages[38])
    assert len(request.messages) == 8


async def test_b05_before_a_compaction_the_history_is_whole(tmp_path: Path) -> None:
    """B05: at an entry that is older than a compaction there is no summary and no gap."""
    log = Log()
    questions = log.turns(5)
    log.compact(questions[-1])
    log.turns(2)
    log.compact(None)
    log.at(questions[3])
    path = log.write(tmp_path / "s.jsonl")

    request = await asked(path)

    assert texts(request) == [*map(words, log.messages[:7]), "go on"]
    with read(path) as session:
        assert session.context().gaps == {}


async def test_b06_nothing_empty_is_sent(tmp_path: Path) -> None:
    """B06: blank texts and blocks, turns of an image alone, failed answers without a word, results without text."""
    log = Log()
    for blank in ("", " ", "\n\t", "\u3000"):
        log.add(user(blank), user((text(blank),)), user((text(blank), IMAGE)), assistant(blank, "and", blank))
        log.add(assistant(text(blank), call(f"c{len(log.entries)}")), result(f"c{len(log.entries)}", blank))
        log.add(assistant(blank), assistant(stop="aborted"), assistant(stop="error"))
        log.note(blank)
    log.compact(log.entries[4].id)

    request = await asked(log.write(tmp_path / "s.jsonl"))

    assert sum(IMAGE in message.content for message in request.messages if not isinstance(message.content, str)) == 3
    assert texts(request).count(NO_OUTPUT) == 4
    assert texts(request).count("and") == 3


async def test_c03_a_result_that_was_made_up_goes_with_its_call(tmp_path: Path) -> None:
    """C03: a call was interrupted and given a result; a hundred turns later both are summarised away."""
    log = Log()
    log.add(user("run it"), assistant(call("gone"), stop="toolUse"), result("gone", "interrupted", error=True))
    questions = log.turns(100)
    log.compact(questions[-2])

    request = await asked(log.write(tmp_path / "s.jsonl"))

    assert results_of(request, "gone") == []
    assert b"gone" not in b"".join(as_bytes(request))


@pytest.mark.parametrize("kept", [None, 0, 1, 2, 3], ids=["nothing", "question", "calls", "one result", "other result"])
async def test_c04_a_compaction_in_a_turn_doubles_no_result(kept: int | None, tmp_path: Path) -> None:
    """C04: between the results of a batch and the next request, and again one turn later, wherever it cuts."""
    log = Log()
    log.add(user("read both"), assistant(call("a"), call("b"), stop="toolUse"), result("a", "A"), result("b", "B"))
    log.compact(None if kept is None else log.entries[kept].id)
    path = log.write(tmp_path / "s.jsonl")
    first = await asked(path)

    again = Log()
    again.entries, again.leaf = list(log.entries), log.leaf
    again.add(assistant(call("c"), call("a"), stop="toolUse"), result("a", "A2"), result("c", "C"))
    again.compact(None if kept is None else again.entries[kept].id)
    second = await asked(again.write(tmp_path / "t.jsonl"))

    with_calls = kept in (0, 1)
    assert (results_of(first, "a"), results_of(first, "b")) == ((["A"], ["B"]) if with_calls else ([], []))
    # the id was used again; the second call goes by another name where the first one is sent too
    assert results_of(second, "a") == ([] if kept is None else ["A"] if with_calls else ["A2"])
    assert results_of(second, "c") == ([] if kept is None else ["C"])
    assert results_of(second, "a-2") == (["A2"] if with_calls else [])


async def test_c04_a_compaction_between_two_results_of_one_batch(tmp_path: Path) -> None:
    """C04: the call and one result are kept, the other result comes behind the compaction; or it is all that is left."""
    for kept, a, b in ((1, ["A"], ["B"]), (None, list[str](), list[str]())):
        log = Log()
        log.add(user("read both"), assistant(call("a"), call("b"), stop="toolUse"), result("a", "A"))
        log.compact(None if kept is None else log.entries[kept].id)
        log.add(result("b", "B"))
        request = await asked(log.write(tmp_path / f"{kept}.jsonl"))
        assert (results_of(request, "a"), results_of(request, "b")) == (a, b)


async def test_c05_calls_that_nobody_answered_stop_no_prompt(tmp_path: Path) -> None:
    """C05: one in what was summarised, one in what is kept, and before the compaction as well as behind it."""
    log = Log()
    log.add(user("one"), assistant(call("lost"), stop="toolUse"))
    log.turns(3)
    kept = log.add(user("two"))
    log.add(assistant(call("open"), stop="toolUse"))
    log.turns(1)
    before = await asked(log.write(tmp_path / "before.jsonl"))
    log.compact(kept)

    after, again = await asked_twice(log.write(tmp_path / "after.jsonl"))

    assert (results_of(before, "lost"), results_of(before, "open")) == ([UNKNOWN_FATE], [UNKNOWN_FATE])
    for request in (after, again):
        assert (results_of(request, "lost"), results_of(request, "open")) == ([], [UNKNOWN_FATE])


@pytest.mark.parametrize("kept", ["the call", "nothing"])
async def test_c06_a_call_that_was_never_run_is_closed_right_behind_it(kept: str, tmp_path: Path) -> None:
    """C06: the last answer calls a tool that never ran, and somebody compacts by hand."""
    log = Log()
    log.turns(2)
    bare = log.add(assistant("I will look.", call("bare"), stop="toolUse"))
    log.compact(bare if kept == "the call" else None)

    request = await asked(log.write(tmp_path / "s.jsonl"))

    roles = [message.role for message in request.messages]
    if kept == "nothing":
        assert roles == ["user", "user"]
    else:
        assert roles == ["user", "assistant", "toolResult", "user"]
        closed = request.messages[2]
        assert isinstance(closed, ToolResultMessage)
        assert (closed.tool_call_id, closed.is_error) == ("bare", True)


def outgoing_of(session: Reading) -> Outgoing:
    return prepare(session.context().messages, provider=MODEL.provider, model=MODEL.id)


async def test_c08_a_call_that_was_compacted_away_while_it_was_open_is_not_answered_later(tmp_path: Path) -> None:
    """C08: in the session that has the call open, after each entry what goes out is what a session opened anew would send."""
    path = tmp_path / "s.jsonl"
    provider = Strict("fine", "and fine")
    open_calls: list[list[str]] = []
    async with strictly(path, provider) as session:
        await session.prompt("begin")
        for entry in (
            message_entry("cafe0001", assistant(call("old"), stop="toolUse")),
            compaction("cafe0002", None),
            message_entry("cafe0003", user("anew")),
            message_entry("cafe0004", assistant(call("new"), stop="toolUse")),
            message_entry("cafe0005", result("new", "found")),
        ):
            await append(session, msgspec.structs.replace(entry, parent_id=session.context().leaf))
            with read(path) as fresh:
                assert outgoing_of(session) == outgoing_of(fresh)
            open_calls.append([one.call for one in outgoing_of(session).repairs])
        await session.prompt("and?")

    assert open_calls == [["old"], [], [], ["new"], []]
    assert results_of(provider.requests[-1], "old") == []
    assert results_of(provider.requests[-1], "new") == ["found"]


ODD_RESULTS: Final[dict[str, tuple[list[StoredMessage], list[str]]]] = {
    "a result without a call": ([result("ghost"), result("ghost")], ["dropped_result"]),
    "two results for one call": ([assistant(call("a")), result("a", "1"), result("a", "2")], ["dropped_result"]),
    "an id that is used again": ([assistant(call("a")), result("a"), assistant(call("a")), result("a")], ["renamed"]),
    "an id twice in one answer": (
        [assistant(call("a"), call("a")), result("a"), result("a")],
        ["dropped_call", "dropped_result"],
    ),
    "a result before its call": ([result("a"), assistant(call("a"))], ["dropped_result", "supplied"]),
}


@pytest.mark.parametrize(("messages", "repairs"), ODD_RESULTS.values(), ids=ODD_RESULTS)
async def test_c15_odd_results_are_repaired_in_one_way_and_each_repair_is_told_once(
    messages: list[StoredMessage], repairs: list[str], tmp_path: Path
) -> None:
    """C15: nothing raises; the same log is repaired in the same way each time."""
    log = Log()
    log.add(user("begin"), *messages)
    path = log.write(tmp_path / "s.jsonl")
    provider = Strict("fine", "and fine")
    async with strictly(path, provider) as session:
        reader = session.events()
        for words_ in ("go on", "and on"):
            assert not (await session.prompt(words_)).failed
        told = [event.facts for event in drain(reader) if isinstance(event, Diagnostic)]
    other = await asked(log.write(tmp_path / "t.jsonl"))

    assert told == [{"repair": repair} for repair in repairs]
    assert (
        as_bytes(other)[:-1]
        == as_bytes(provider.requests[0])[:-1]
        == as_bytes(provider.requests[1])[: len(other.messages) - 1]
    )


class Halting:
    """Streams its pieces and then nothing more; says how far it is. At the next call, a word."""

    id = "scripted"

    def __init__(self, *pieces: Piece) -> None:
        self._pieces = pieces
        self.reached = trio.Event()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        yield self._play()

    async def _play(self) -> AsyncIterator[Piece]:
        for piece in self._pieces:
            yield piece
        self.reached.set()
        await trio.sleep_forever()


CALLING: Final = ToolCallStart(content_index=0, id=ToolCallId("half"), tool_name="read")
HALVES: Final[dict[str, list[Piece]]] = {
    "before anything": [],
    "after a thought began": [ThinkingStart(content_index=0)],
    "in a thought": [ThinkingStart(content_index=0), ThinkingDelta(content_index=0, delta="I should")],
    "in the arguments of a call": [CALLING, ToolCallDelta(content_index=0, delta='{"path": "a')],
    "after the first text": [TextDelta(content_index=0, delta="I will")],
}


@pytest.mark.parametrize("pieces", HALVES.values(), ids=HALVES)
async def test_c17_m08_a_half_answer_is_kept_and_not_sent_wherever_it_was_stopped(
    pieces: list[Piece], tmp_path: Path
) -> None:
    """C17, M08: no half of a call, no thought as text or with tags, and no result of a call that was not sent."""
    path, provider = tmp_path / "s.jsonl", Halting(*pieces)
    runtime = Runtime(providers=[provider], environment=Environment.scripted())
    async with runtime.open_session(str(path), model=MODEL, cwd="/home/dev") as session:
        handle = session.submit("begin")
        await provider.reached.wait()
        await session.abort()
        outcome = await handle.outcome()
        assert isinstance(outcome, Delivered)
        assert outcome.aborted
        late = message_entry("cafe0001", result("half", "late"))
        await append(session, msgspec.structs.replace(late, parent_id=session.context().leaf))

    request = await asked(path)

    assert [
        row["message"]["stopReason"] for row in rows(path) if row.get("message", {}).get("role") == "assistant"
    ] == [
        "aborted",
        "stop",
    ]
    assert texts(request) == ["begin", "go on"]


async def test_c18_ids_of_another_provider_become_legal_and_stay_pairs(tmp_path: Path) -> None:
    """C18: 120 characters, `|`, `+`, a trailing `_`. Which ids a model takes comes with the model; without a word any goes."""
    ids = ["x" * 120, "fc|" + "y" * 117, "fc+" + "y" * 117, "tail_", "|", "fc_" + "y" * 117, "z" * 64]
    log = Log()
    log.add(user("begin"))
    for one in ids:
        log.add(assistant(call(one), stop="toolUse", provider="other"), result(one, f"of {one}"))
    path = log.write(tmp_path / "s.jsonl")
    before = path.read_bytes()
    model = Model(provider="scripted", id="talker", limits=Limits(call_id_length=64))

    request = await asked(path, Strict("fine", call_ids="[A-Za-z0-9_-]{1,64}"), model=model)
    as_they_are = await asked(log.write(tmp_path / "t.jsonl"))

    calls = [
        block.id
        for message in request.messages
        if isinstance(message, AssistantMessage)
        for block in message.content
        if isinstance(block, ToolCall)
    ]
    assert len(set(calls)) == len(ids)
    assert [results_of(request, one) for one in calls] == [[f"of {one}"] for one in ids]
    assert [results_of(as_they_are, one) for one in ids] == [[f"of {one}"] for one in ids]
    assert path.read_bytes().startswith(before)


async def tool_turns(session: Session, count: int) -> None:
    """As many questions, each with a call and its result behind the answer, appended as a run of tools will."""
    for nth in range(count):
        await session.prompt(f"question {nth}")
        for entry in (
            message_entry(f"caf{nth:04x}0", assistant(call(f"c{nth}"), stop="toolUse")),
            message_entry(f"caf{nth:04x}1", result(f"c{nth}", "line\n" * 400)),
        ):
            await append(session, msgspec.structs.replace(entry, parent_id=session.context().leaf))


async def test_l08_old_results_are_sent_as_they_were_as_long_as_nothing_is_compacted(tmp_path: Path) -> None:
    """L08: over thirty tool turns each request begins with the one before it; an edit in the log is what breaks it."""
    provider = Strict(*["fine"] * 31)
    async with strictly(tmp_path / "s.jsonl", provider) as session:
        await tool_turns(session, 30)
        edit = ContextEdit(
            id=EntryId("cafe9999"),
            parent_id=session.context().leaf,
            timestamp=TIME,
            target_id=EntryId("caf00001"),
            replacement=Replacement(content="old"),
        )
        await append(session, edit)
        await session.prompt("and now?")

    *grown, last = [as_bytes(request) for request in provider.requests]
    assert len(grown) == 30
    for one, other in pairwise(grown):
        assert other[: len(one)] == one
    assert last[: len(grown[-1])] != grown[-1]
    assert [one == other for one, other in zip(grown[-1], last, strict=False)].count(False) == 1


REOPENED: Final = """
import sys, attrs, msgspec, trio
from sapwood import Runtime
from sapwood.actors.environment import Environment
from tests.build import MODEL
from tests.faults.strict import Strict

async def main():
    provider = Strict("fine")
    world = attrs.evolve(Environment.scripted(7), now_ms=lambda: 1_893_456_000_000)
    async with Runtime(providers=[provider], environment=world).open_session(sys.argv[1], model=MODEL, cwd=sys.argv[2]) as session:
        assert not (await session.prompt("question 5")).failed
    print(msgspec.json.encode([msgspec.json.encode(message) for message in provider.requests[0].messages]).decode())

trio.run(main)
"""


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "4711"])
async def test_l09_the_request_after_reopening_is_the_one_before_closing(hash_seed: str, tmp_path: Path) -> None:
    """L09: another process, hash seed, day, time zone, and another way to write the paths."""
    path, provider = tmp_path / "s.jsonl", Strict(*["fine"] * 6)
    async with strictly(path, provider) as session:
        await tool_turns(session, 5)
        copy = tmp_path / "copy.jsonl"
        copy.write_bytes(path.read_bytes())
        await session.prompt("question 5")
    done = await trio.run_process(
        [sys.executable, "-c", REOPENED, os.path.relpath(copy, ROOT), "/home/../home/dev/"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Pacific/Kiritimati"},
        cwd=ROOT,
        capture_stdout=True,
    )

    there = msgspec.json.decode(done.stdout, type=list[bytes])
    here = as_bytes(provider.requests[-1])
    assert there[:-1] == here[:-1]
    # the new question itself has the time at which it was asked
    assert re.sub(rb'"timestamp":\d+', b"", there[-1]) == re.sub(rb'"timestamp":\d+', b"", here[-1])


THOUGHTS: Final = {"sig-1": " First, look.\n", "sig-2": "", "sig-3": "Then read.  "}
SIGNED: Final[list[AssistantBlock]] = [
    ThinkingContent(thinking=THOUGHTS["sig-1"], thinking_signature="sig-1"),
    text("  I will look. "),
    ThinkingContent(thinking="", thinking_signature="sig-2", redacted=True),
    ThinkingContent(thinking=THOUGHTS["sig-3"], thinking_signature="sig-3"),
    ToolCall(id=ToolCallId("c1"), name="read", arguments={"path": "a"}, thought_signature="sig-4"),
]


def signed_log() -> tuple[Log, EntryId]:
    log = Log()
    log.add(user("begin"))
    answer = log.add(assistant(*SIGNED, stop="toolUse"))
    log.add(result("c1", "found"), assistant("Done."))
    return log, answer


def answer_in(request: Request) -> AssistantMessage:
    return next(message for message in request.messages if isinstance(message, AssistantMessage))


@pytest.mark.parametrize(
    "history", ["as it is", "compacted", "cut", "edited", "of another model", "of another provider"]
)
async def test_m06_signed_thinking_goes_whole_or_not_at_all(history: str, tmp_path: Path) -> None:
    """M06: redacted thinking too; blanks at its ends are part of it; signatures of calls go to nobody else either."""
    log, answer = signed_log()
    model = MODEL
    whole, bare = tuple(SIGNED), (text("  I will look. "), call("c1", path="a"))
    expected: tuple[AssistantBlock, ...] = whole
    match history:
        case "compacted":
            log.compact(answer)
        case "cut":
            log.edit(answer, (SIGNED[0], text("[...]"), SIGNED[4]))
            expected = (SIGNED[0], text("[...]"), SIGNED[4])
        case "edited":  # an extension that redacts what was thought, and keeps its signature
            changed = ThinkingContent(thinking="[redacted]", thinking_signature="sig-1")
            log.edit(answer, (changed, *SIGNED[1:]))
            expected = whole[1:]
        case "of another model":
            model, expected = Model(provider="scripted", id="else"), bare
        case "of another provider":
            log.entries = [
                msgspec.structs.replace(entry, message=msgspec.structs.replace(entry.message, provider="else"))
                if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
                else entry
                for entry in log.entries
            ]
            expected = bare
        case _:
            pass

    request = await asked(log.write(tmp_path / "s.jsonl"), Strict("fine", thoughts=THOUGHTS), model=model)

    assert answer_in(request).content == expected


@pytest.mark.parametrize("model", [MODEL, Model(provider="scripted", id="else")], ids=["same model", "other model"])
async def test_m08_unsigned_thinking_is_never_sent_as_anything(model: Model, tmp_path: Path) -> None:
    """M08: not as thinking, not as text, not in tags; to nobody."""
    log = Log()
    log.add(user("begin"), assistant(ThinkingContent(thinking="secret idea"), "So.", stop="stop"))
    log.add(user("more"), assistant(ThinkingContent(thinking="secret idea"), "I wi", stop="aborted"))

    request = await asked(log.write(tmp_path / "s.jsonl"), model=model)

    assert texts(request) == ["begin", "So.", "more", "go on"]
    raw = b"".join(as_bytes(request))
    assert b"secret" not in raw
    assert b"<think" not in raw


async def test_m10_leaving_what_made_a_turn_fail_restores_service(tmp_path: Path) -> None:
    """M10: an attachment is refused at every turn; behind a move to before it nothing of it is sent, and the log has all of it."""
    log = Log()
    log.turns(1)
    before = log.leaf
    log.add(user((text("look"), ImageContent(data="A" * 4000, mime_type="image/png"))))
    log.add(assistant(stop="error", error="400 an image that is too large"))
    path = log.write(tmp_path / "s.jsonl")
    stuck = Strict("?", image_bytes=1000)
    async with strictly(path, stuck) as session:
        assert (await session.prompt("again?")).failed

    log.at(before)
    moved = log.write(tmp_path / "moved.jsonl")
    request = await asked(moved, Strict("fine", image_bytes=1000))

    assert texts(request) == [*map(words, log.messages[:2]), "go on"]
    assert b"A" * 4000 in moved.read_bytes()


async def test_m10_a_declared_limit_lets_no_attachment_block_a_session(tmp_path: Path) -> None:
    """M10: where the model says what it takes, the turn does not fail at all."""
    log = Log()
    log.add(user((text("look"), ImageContent(data="A" * 4000, mime_type="image/png"))))
    model = Model(provider="scripted", id="talker", limits=Limits(image_bytes=1000))

    request = await asked(log.write(tmp_path / "s.jsonl"), Strict("fine", image_bytes=1000), model=model)

    assert texts(request)[0].startswith("look[An image stood here.")
