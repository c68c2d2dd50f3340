"""A process that is killed while it writes loses nothing that it has acknowledged."""

from __future__ import annotations

import random
import threading
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
    for seed in seeds:
        said = killed_somewhere(path, durability, seed)
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


def killed_somewhere(path: Path, durability: str, seed: int) -> list[str]:
    """What a child said before it was killed, at a moment that the seed draws: after a number of entries, and a while."""
    draw = random.Random(seed)  # noqa: S311 - nobody is to be kept from guessing
    entries, while_ = draw.randrange(60), draw.uniform(0, LATEST)
    with writer(durability, path, seed) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        said = [child.stdout.readline() for _ in range(entries)]
        threading.Event().wait(while_)  # the moment itself: nothing is awaited
        child.kill()
        said += child.stdout.readlines()
        assert child.wait() == -9
    # a word that was cut off by the kill was not said
    return [one.decode().strip() for one in said if one.endswith(b"\n")]


def is_within(some: list[str], all_of_them: list[str]) -> bool:
    """Whether these are there, in this order."""
    rest = iter(all_of_them)
    return all(one in rest for one in some)
