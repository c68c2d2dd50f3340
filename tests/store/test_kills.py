"""A process that is killed while it writes loses nothing that it has acknowledged."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.store.stores import ids_of, opened
from tests.store.writer import writer

ROUNDS: Final = 20
LATEST: Final = 0.003
"""Seconds between an entry that was said and the kill, at most: about what an append of one takes, on the medium too."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("durability", ["os", "disk"])
def test_what_was_acknowledged_before_a_kill_is_there(tmp_path: Path, durability: str) -> None:
    rounds_on_one_file(tmp_path / "deep" / "s.jsonl", durability, range(3))


@pytest.mark.full
@pytest.mark.parametrize("durability", ["os", "disk"])
def test_what_was_acknowledged_before_any_of_many_kills_is_there(tmp_path: Path, durability: str) -> None:
    rounds_on_one_file(tmp_path / "deep" / "s.jsonl", durability, range(100, 100 + ROUNDS))


def rounds_on_one_file(path: Path, durability: str, seeds: range) -> None:
    acknowledged: list[str] = []
    torn = 0
    with writer(durability, path) as killer:
        for seed in seeds:
            said = killed_somewhere(killer, seed)
            acknowledged += said
            store = opened(path)  # the next writer comes, without cleaning
            held = ids_of(store)
            assert is_within(acknowledged, held)
            # of each process: all that it said, and at most one more that it had no time to say
            own = [one for one in held if one.startswith(f"{seed}-")]
            assert len(said) <= len(own) <= len(said) + 1
            new = [one.kind for one in store.damage if one.kind not in {"several_roots", "missing_parent"}]
            # a tail is torn until the next one begins behind it
            assert set(new) <= {"torn_tail", "cut_line"}
            assert len(new) <= torn + 1
            torn = len(new)
            for index in range(len(store.tree)):
                assert store.line(index).endswith(b"}")
            store.close()


def killed_somewhere(killer: subprocess.Popen[bytes], seed: int) -> list[str]:
    """What a process said before it was killed, at a moment that the seed draws: after a number of entries, and a while."""
    draw = random.Random(seed)  # noqa: S311 - nobody is to be kept from guessing
    assert killer.stdin is not None
    assert killer.stdout is not None
    killer.stdin.write(f"{seed} {draw.randrange(60)} {draw.uniform(0, LATEST)}\n".encode())
    killer.stdin.flush()
    said: list[str] = json.loads(killer.stdout.readline())
    return said


def is_within(some: list[str], all_of_them: list[str]) -> bool:
    """Whether these are there, in this order."""
    rest = iter(all_of_them)
    return all(one in rest for one in some)
