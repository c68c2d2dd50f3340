"""A process that writes a session, for a test to kill; and how a test starts it.

    python -m tests.store.writer hold PATH          write one entry, say `ready`, and close when the input ends
    python -m tests.store.writer os PATH            for each line `SEED ENTRIES SECONDS`: a process of its own appends, and is killed so
                                                    long after so many entries; the reply is a JSON array of the ids that it said
    python -m tests.store.writer disk PATH          the same, and each is on the medium before it is acknowledged

What is acknowledged is in the file; what is said has been acknowledged. Ids are `<SEED>-<n>`; sizes are drawn up to 64 KiB.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.killing import Say, killed
from tests.store.stores import ids_of, line, opened

ROOT: Final = Path(__file__).resolve().parents[2]
LARGEST: Final = 1 << 16
"""Bytes of an entry: sixteen pages, so that a kill may come between two of them."""


@contextmanager
def running(*command: str) -> Generator[subprocess.Popen[bytes]]:
    """A process that is killed at the end, if it has not ended by then."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def writer(*arguments: object) -> Generator[subprocess.Popen[bytes]]:
    """This program as a process."""
    with running(sys.executable, "-m", "tests.store.writer", *map(str, arguments)) as process:
        yield process


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def hold(path: str) -> None:
    store = opened(path)
    store.append([line(f"h{len(store.tree)}")])
    say("ready")
    sys.stdin.read()
    store.close()


def write(path: str, seed: str, say: Say, *, hard: bool) -> None:
    store, sizes = opened(path), random.Random(seed)  # noqa: S311 - nobody is to be kept from guessing
    parent = ids_of(store)[-1] if len(store.tree) else None
    say("ready")
    for n in itertools.count():
        entry_id = f"{seed}-{n}"
        store.stage([line(entry_id, parent, text="x" * sizes.randrange(LARGEST))])
        if hard:
            store.sync()
        store.commit()
        say(entry_id)
        parent = entry_id


def kills(path: str, *, hard: bool) -> None:
    for asked in sys.stdin:
        seed, entries, seconds = asked.split()
        work = partial(write, path, seed, hard=hard)
        say(json.dumps(killed(work, words=int(entries), seconds=float(seconds))))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hold", path]:
            hold(path)
        case ["os" | "disk" as durability, path]:
            kills(path, hard=durability == "disk")
        case _:
            sys.exit(__doc__)
