"""A session is read without trio, and without changing a byte of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sapwood import (
    CannotOpen,
    Environment,
    Model,
    NotASession,
    Refused,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Usage,
    read,
)
from sapwood.events.errors import StoreClosed
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, MODEL
from tests.real import REAL, needs_real

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("name", ["v1", "v2", "pi-all-kinds", "pi-ringing-v3"])
def test_reading_changes_neither_bytes_nor_times(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes((DATA / f"{name}.jsonl").read_bytes())
    before = path.stat()

    with read(path) as session:
        session.context()
        session.entries()
        session.labels()

    after = path.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    assert path.read_bytes() == (DATA / f"{name}.jsonl").read_bytes()
    assert list(tmp_path.iterdir()) == [path]


@needs_real
def test_the_real_session_is_read_whole() -> None:
    before = REAL.stat().st_mtime_ns

    with read(REAL) as session:
        context = session.context()
        assert len(session.entries()) == len(session.tree()) == 1018

    assert len(context.items) == 914
    assert sorted(item.unsent for item in context.items if item.unsent) == ["aborted"] * 21 + ["failed"]
    assert len(context.absent) == 1018 - 914
    assert REAL.stat().st_mtime_ns == before


def test_one_entry_is_found_by_its_id() -> None:
    with read(DATA / "pi-ringing-v3.jsonl") as session:
        entry = session.entries()[10]

        assert session.entry(entry.id) == entry
        assert session.path == str(DATA / "pi-ringing-v3.jsonl")
        assert session.header.version == 3


def test_usage_is_measured_against_the_model_that_is_asked_for() -> None:
    with read(DATA / "pi-ringing-v3.jsonl") as session:
        small = session.context_usage(Model(provider="x", id="y", context_window=1000))
        unknown = session.context_usage(Model(provider="x", id="y"))

    assert (small.window, unknown.window) == (1000, 128_000)
    assert small.tokens == unknown.tokens


def test_a_missing_file_is_an_error_and_not_a_new_session(tmp_path: Path) -> None:
    with pytest.raises(CannotOpen, match="ENOENT"):
        read(tmp_path / "no.jsonl")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [5, None, b"", b"s.jsonl", [], MemoryStore(HEADER)])
def test_what_names_no_file_is_refused_and_reads_as_no_session(path: Any) -> None:
    with pytest.raises(Refused, match=r"named by a str or a pathlib\.Path") as refusal:
        read(path)

    assert refusal.value.reason == "bad-input"


@pytest.mark.parametrize("path", ["", "no\0file", "."])
def test_a_path_that_can_be_no_file_is_an_error(path: str) -> None:
    with pytest.raises(CannotOpen):
        read(path)


def test_usage_is_measured_against_nothing_but_a_model() -> None:
    model: Any = "y"
    with read(DATA / "v2.jsonl") as session, pytest.raises(Refused, match="a model is a"):
        session.context_usage(model)


def test_a_file_without_a_header_is_no_session_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary")

    with pytest.raises(NotASession, match=r"notes\.txt"):
        read(path)

    assert path.read_text() == "dear diary"


def test_a_closed_reading_says_so() -> None:
    session = read(DATA / "v2.jsonl")
    session.close()
    session.close()

    with pytest.raises(StoreClosed):
        session.entries()


def test_what_a_session_has_cost_is_all_that_was_billed() -> None:
    with read(DATA / "pi-ringing-v3.jsonl") as past:
        stats = past.stats()

        assert stats.entries == len(past.entries())
        assert stats.spent.calls >= stats.answers > 0
        for parts in (stats.by_purpose, stats.by_model):
            assert sum(one.total for one in parts.values()) == stats.spent.total > 0


def test_counts_are_compared_with_reports_only_for_who_asks() -> None:
    with read(DATA / "pi-ringing-v3.jsonl", counter="heuristic") as past:
        assert past.stats().counting is None
        asked = past.stats(counting=True)

        assert asked.counting is not None
        assert asked.counting.counter == "heuristic"
        assert set(asked.counting.by_model) <= set(asked.by_model)
        assert 0 < sum(one.answers for one in asked.counting.by_model.values()) <= asked.answers
        assert msgspec.structs.replace(asked, counting=None) == past.stats()
        with pytest.raises(Refused):
            past.stats(counting=1)  # type: ignore[arg-type] # a host may say anything


async def test_an_open_session_goes_on_comparing_and_what_decides_does_not_look_at_it() -> None:
    said = [ScriptedAnswer(text="yes", usage=Usage.of(input=n, output=1)) for n in (10, 2000)]
    counted = list[int]()
    async with (
        Runtime(providers=[Scripted({"turn": said})], environment=Environment.scripted(), counter="heuristic") as world,
        world.open_session(None, model=MODEL) as session,
    ):
        for reported in (10, 2010):
            await session.prompt("four")
            before = session.measured()
            counting = session.stats(counting=True).counting
            assert counting is not None
            assert counting.by_model["scripted/talker"].reported == reported
            counted.append(counting.by_model["scripted/talker"].counted)
            assert session.measured() == before

    assert counted == [1, 4]  # the prompt; then it again, the answer and the next prompt
