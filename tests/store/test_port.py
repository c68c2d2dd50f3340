"""Both stores keep every promise of the port."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sapwood.store import testing
from sapwood.store.memory import MemoryStore
from sapwood.store.port import Store
from sapwood.store.testing import PROMISES, StoreMaker, check_store
from tests.build import HEADER
from tests.store.stores import jsonl_maker, memory_maker, opened


@pytest.fixture(params=["memory", "jsonl"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> StoreMaker:
    return memory_maker() if request.param == "memory" else jsonl_maker(tmp_path)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_promise_is_kept(promise: Callable[[StoreMaker], None], make: StoreMaker) -> None:
    promise(make)


def test_all_of_them_at_once(make: StoreMaker) -> None:
    check_store(make)


def test_every_check_is_among_the_promises() -> None:
    checks = {name for name in vars(testing) if name.startswith("check_") and name != "check_store"}
    assert {promise.__name__ for promise in PROMISES} == checks


def test_the_stores_are_stores(tmp_path: Path) -> None:
    """For the type checkers: they say whether each of the two is a `Store`, in the line that names them. What runs only opens them."""
    stores: list[Store] = [MemoryStore(HEADER), opened(tmp_path / "s.jsonl")]
    assert [store.header for store in stores] == [HEADER, HEADER]
