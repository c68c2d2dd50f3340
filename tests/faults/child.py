"""A process for a test to kill: it talks in a session, and says what has been acknowledged.

    python -m tests.faults.child stall PATH     open PATH, ask a model that never answers, say the session's id and the entry's
    python -m tests.faults.child hold PATH      open PATH and say one thing in it, say `ready`, and leave when the input ends
    python -m tests.faults.child kills PATH     for each line `SEED SECONDS`: a process of its own talks in PATH, and is killed after so
                                                long a while; the reply is a JSON array of the entries that it was told are in the log
    python -m tests.faults.child locked PATH    as one who owns nothing: open PATH; the reply is what that came to, as JSON

`kills` forks, so that 200 processes cost one start of Python; it is a process of its own since a test runner may have threads.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
from functools import partial

import trio

from sapwood import Delivered, Environment, Model, Published, Runtime, Scripted, ScriptedAnswer, StoreError, read
from sapwood.events.runtime import EntryAppended
from tests.build import MODEL
from tests.killing import Say, killed

LARGEST = 1 << 16
"""Bytes of a question: sixteen pages, so that a kill may come between two of them."""
ROOMY = Model(provider="scripted", id="talker", context_window=10**9)
"""Of what is said here there is no end, and nothing is to be summed up."""
NOBODY = 65534
SOON_ENOUGH = 4096
"""Answers: more than a process has time for."""


def tell(word: str) -> None:
    """In one write, so that it is said whole or not at all."""
    os.write(1, word.encode() + b"\n")


def runtime(*answers: ScriptedAnswer) -> Runtime:
    return Runtime(providers=[Scripted({"turn": answers})], environment=Environment(), counter="heuristic")


async def stall(path: str) -> None:
    async with (
        runtime(ScriptedAnswer(wait=math.inf)).open_session(path, model=MODEL) as session,
        session.events(since=0) as reader,
    ):
        session.submit("do not lose this")
        async for item in reader:
            if isinstance(item, Published) and isinstance(item.event, EntryAppended):
                tell(f"{session.header.id} {item.event.entry_id}")
                await trio.sleep_forever()


async def hold(path: str) -> None:
    async with runtime(ScriptedAnswer(text="yes")).open_session(path, model=MODEL) as session:
        await session.prompt("is this mine?")
        tell("ready")
        await trio.to_thread.run_sync(sys.stdin.read)


async def talk(path: str, seed: int, say: Say) -> None:
    draw = random.Random(seed)  # noqa: S311 - nobody is to be kept from guessing
    answers = [ScriptedAnswer(text=f"answer {number}") for number in range(SOON_ENOUGH)]
    async with runtime(*answers).open_session(path, model=ROOMY) as session:
        say("")
        for number in range(SOON_ENOUGH):
            outcome = await session.prompt(f"{seed}-{number} " + "x" * draw.randrange(LARGEST))
            assert isinstance(outcome, Delivered)
            leaf = session.tree().leaf
            assert leaf is not None
            say(outcome.entry_id)
            say(session.tree().id(leaf))


def talking(path: str, seed: int, say: Say) -> None:
    trio.run(talk, path, seed, say)


async def warm() -> None:
    """What is imported with the first prompt is imported once, and not in each process that has no time for it."""
    async with runtime(ScriptedAnswer(text="yes")).open_session(None, model=ROOMY) as session:
        await session.prompt("are you warm?")


def kills(path: str) -> None:
    trio.run(warm)
    for line in sys.stdin:
        seed, seconds = line.split()
        tell(json.dumps(killed(partial(talking, path, int(seed)), words=0, seconds=float(seconds))))


async def locked(path: str) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    came: dict[str, object] = {"opened": False, "errno": None, "path": None}
    try:
        async with runtime().open_session(path, model=MODEL):
            came["opened"] = True
    except StoreError as error:
        came |= {"error": type(error).__name__, "errno": getattr(error, "errno", None), "path": error.path}  # type: ignore[attr-defined]
    try:
        with read(path) as session:
            came["read"] = len(session.context().messages)
    except StoreError as error:
        came["read"] = type(error).__name__
    tell(json.dumps(came))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["stall", where]:
            trio.run(stall, where)
        case ["hold", where]:
            trio.run(hold, where)
        case ["kills", where]:
            kills(where)
        case ["locked", where]:
            trio.run(locked, where)
        case _:
            sys.exit(__doc__)
