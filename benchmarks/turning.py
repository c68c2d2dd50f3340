"""What a turn with a tool costs through all actors: against itself with more behind it, and against a port of Pi's agent to Python.

A prompt with fifty turns, each an answer that calls a tool, its result, and what belongs to it: the prompt prepared, the request rendered,
all of it in the log, counted and told. The model is scripted and the tool returns at once, so that what is left is ours. The session is on
the disk; what it holds above its last ten entries was compacted away, so that every request is as long however long the session is.

The port has the same to do, in a process of its own that tells its CPU time. It is one loop, and counts no tokens but what is reported.

    uv run python -m benchmarks turning
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import trio

from benchmarks.harness import Ratio, compare_costs, cpu_seconds
from benchmarks.opening import HEADER, TIME
from sapwood import Environment, Model, Runtime, Scripted, ScriptedAnswer
from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.content import TextContent, ToolCall
from sapwood.events.entries import Compaction, KnownEntry, MessageEntry
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import AssistantMessage, Usage, UserMessage

TURNS: Final = 50
FEW, MORE, MANY = 10, 1_000, 50_000
"""Entries behind the prompt."""
SEEN: Final = 4_000
"""Messages behind the prompt that the model sees, where nothing was compacted."""
KEPT: Final = 9
"""Entries that the last compaction keeps: with its summary, as many messages as the shortest session has."""
TEXT: Final = "the compaction of a session keeps what it can of the tree, " * 3
MODEL: Final = Model(provider="scripted", id="talker", context_window=1_000_000)

SEEN_BOUND: Final = 3.0
"""1.7 is measured: what is looked at once a turn is each message, and what is done with it is not. It was 3.2."""
FLAT_BOUND: Final = 1.5
"""Asked for; 0.9 to 1.2 is what is measured where others are at work."""
PORT_BOUND: Final = 6.0
"""3.7 to 4.0 is measured beside others; half of the port's is the goal. The port is one loop without actors: this bound sees that the
distance does not grow."""
ROUNDS: Final = 3
TIMES: Final = 3
"""Prompts a round beside the port: one start of its process serves them."""

PORT: Final = "aelix-coding-agent==0.1.0b2"
"""A port of Pi in Python that has an agent which goes on a session file, and that can be installed."""
PORTS_TURNS: Final = Path(__file__).with_name("peers") / "aelix_turns.py"
CACHE: Final = Path(__file__).resolve().parents[1] / ".cache"
PATIENCE: Final = 120.0
"""Seconds for its installation: some sixty packages; 4 with a warm cache."""


class PortUnavailable(Exception):
    """It cannot be had here, and why. Not a failure of the code under test."""


def name(number: int) -> EntryId:
    """As long as Pi's."""
    return EntryId(f"{number:08x}")


def entry(number: int, entries: int, *, compacted: bool) -> KnownEntry:
    """The nth of so many: questions and answers by turns, and a compaction at the end of those that have something to compact."""
    parent = name(number - 1) if number else None
    if compacted and number == entries - 1 and entries > FEW:
        return Compaction(
            id=name(number),
            parent_id=parent,
            timestamp=TIME,
            summary=TEXT,
            first_kept_entry_id=name(number - KEPT),
            tokens_before=100_000,
        )
    content = (TextContent(text=TEXT),)
    if number % 2 == 0:
        return MessageEntry(
            id=name(number), parent_id=parent, timestamp=TIME, message=UserMessage(content=content, timestamp=number)
        )
    message = AssistantMessage(
        content=content,
        api="x",
        provider="p",
        model="m",
        usage=Usage.of(input=100, output=50),
        stop_reason="stop",
        timestamp=number,
    )
    return MessageEntry(id=name(number), parent_id=parent, timestamp=TIME, message=message)


def written(entries: int, *, compacted: bool) -> bytes:
    """A session of so many entries."""
    lines = (encode_entry(entry(nth, entries, compacted=compacted)) for nth in range(entries))
    return b"\n".join([encode_header(HEADER), *lines, b""])


async def echoed(text: str) -> str:
    """Say it again."""
    return text


class Turning:
    """A session of so many entries, made anew for each round: what a round adds is behind no other."""

    def __init__(self, folder: Path, entries: int, *, compacted: bool = True) -> None:
        self._folder = folder
        self._entries = entries
        self._content = written(entries, compacted=compacted)
        self._rounds = count()

    def cost(self) -> float:
        """Seconds of CPU of the prompt alone."""
        path = self._folder / f"{self._entries}-{next(self._rounds)}.jsonl"
        path.write_bytes(self._content)
        try:
            return trio.run(self._turns, path)
        finally:
            path.unlink()

    async def _turns(self, path: Path) -> float:
        calls = [
            ToolCall(id=ToolCallId(f"c{nth}"), name="echoed", arguments={"text": TEXT}) for nth in range(TURNS - 1)
        ]
        answers = [*(ScriptedAnswer(calls=(one,)) for one in calls), ScriptedAnswer(text=TEXT)]
        runtime = Runtime(providers=[Scripted({"turn": answers})], environment=Environment())
        async with runtime.open_session(path, model=MODEL, tools=[echoed]) as session:
            await trio.to_thread.run_sync(session.measured)  # what the first look at a session costs is no turn's
            gc.collect()
            gc.disable()
            try:
                started = cpu_seconds()
                outcome = await session.prompt("go")
                cost = cpu_seconds() - started
            finally:
                gc.enable()
        if outcome.turns != TURNS or outcome.failed:
            raise AssertionError(f"the prompt was to have {TURNS} turns: {outcome}")
        return cost


def port() -> Path:
    """The Python that has the port, put there on the first call: it appears whole or not at all."""
    root = CACHE / PORT.replace("==", "-")
    python = root / "bin" / "python"
    if not python.exists():
        uv = shutil.which("uv")
        if uv is None:
            raise PortUnavailable("uv is not on PATH")
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            made = Path(folder) / "made"
            _quietly(uv, "venv", "--python", sys.executable, str(made.absolute()))
            _quietly(uv, "pip", "install", "--python", str(made.absolute() / "bin" / "python"), PORT)
            try:
                made.rename(root)
            except OSError:
                if not python.exists():  # else somebody was faster
                    raise
    return python


def _quietly(*words: str) -> None:
    try:
        subprocess.run(
            words,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=tempfile.gettempdir(),  # in the checkout uv would hold the port to what pins our own dependencies
        )
    except subprocess.CalledProcessError as fault:
        said = str(fault.stderr).strip().splitlines() or ["nothing"]
        raise PortUnavailable(f"{PORT}: uv says {said[-1]!r:.200}") from fault
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise PortUnavailable(f"{PORT}: {fault}") from fault


def ports(python: Path, entries: int) -> float:
    """Seconds of CPU of the port's cheapest prompt."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = map(str, (entries, KEPT, TURNS, TIMES))
        # a home of its own: it looks for settings there
        words = [str(python), "-I", str(PORTS_TURNS), folder, *numbers, TEXT]
        done = subprocess.run(
            words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={**os.environ, "HOME": folder}
        )
    told = json.loads(done.stdout)
    if told["sent"] != [FEW + 1, FEW + 1 + 2 * (TURNS - 1), TURNS]:
        raise AssertionError(f"the port was to do the same: {told}")
    return float(min(told["seconds"]))


def run() -> Iterator[Ratio]:
    """Turns late over turns early, twice; ours over the port's."""
    with tempfile.TemporaryDirectory() as folder:
        few, more, many = (Turning(Path(folder), entries) for entries in (FEW, MORE, MANY))
        for entries, late in ((MORE, more), (MANY, many)):
            late.cost()
            few.cost()
            yield compare_costs(
                f"{TURNS} turns with a tool behind {entries:,} entries / behind {FEW}",
                late.cost,
                few.cost,
                bound=FLAT_BOUND,
                rounds=ROUNDS,
            )
        seen = Turning(Path(folder), SEEN, compacted=False)
        seen.cost()
        yield compare_costs(
            f"{TURNS} turns with a tool behind {SEEN:,} messages that are seen / behind {FEW}",
            seen.cost,
            few.cost,
            bound=SEEN_BOUND,
            rounds=ROUNDS,
        )
        try:
            python = port()
        except PortUnavailable as unavailable:
            print(f"skipped: {unavailable}")
            return
        yield compare_costs(
            f"{TURNS} turns with a tool behind {FEW} entries / by a port of Pi",
            lambda: min(few.cost() for _ in range(TIMES)),
            partial(ports, python, FEW),
            bound=PORT_BOUND,
            rounds=2,
        )


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
