"""A process that writes a session, for a test to kill; and how a test starts it.

    python -m tests.store.writer hold PATH          write one entry, say `ready`, and close when the input ends
    python -m tests.store.writer os PATH SEED       append until killed; each id is said when the entry is acknowledged
    python -m tests.store.writer disk PATH SEED     the same, and each is on the medium before it is acknowledged

What is acknowledged is in the file; what is said has been acknowledged. Ids are `<SEED>-<n>`; sizes are drawn up to 64 KiB.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

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


def write(path: str, seed: str, *, hard: bool) -> None:
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


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hold", path]:
            hold(path)
        case ["os" | "disk" as durability, path, seed]:
            write(path, seed, hard=durability == "disk")
        case _:
            sys.exit(__doc__)
