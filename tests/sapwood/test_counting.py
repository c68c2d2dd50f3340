"""Who counts the tokens of a session, and where."""

from __future__ import annotations

import os
import tempfile
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio
from tiktoken.registry import ENCODINGS

import sapwood
from sapwood import Refused, Runtime, Scripted, ScriptedAnswer
from sapwood.actors.environment import Environment
from sapwood.actors.projection import encoding
from sapwood.actors.projection.tokenizer import Tokenizer
from sapwood.events.content import ImageContent
from sapwood.events.context import DEFAULT_COUNTER, CounterName
from sapwood.events.runtime import Diagnostic
from tests.build import MODEL
from tests.counting import damaged_ranks, without_ranks
from tests.talking import drain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tiktoken import Encoding


def runtime(counter: CounterName = DEFAULT_COUNTER, *, environment: Environment | None = None) -> Runtime:
    answers = [ScriptedAnswer(text="yes")] * 3
    world = environment or Environment.scripted()
    return Runtime(providers=[Scripted({"turn": answers})], environment=world, counter=counter)


async def test_tokens_are_counted_exactly_unless_the_host_wants_otherwise() -> None:
    async with runtime().open_session(None, model=MODEL) as session:
        await session.prompt("请先运行测试，然后提交代码。")
        assert (session.context().counter, session.context().items[0].tokens) == ("o200k_base", 8)
        assert session.counter_trouble is None

    async with runtime(counter="heuristic").open_session(None, model=MODEL) as session:
        await session.prompt("请先运行测试，然后提交代码。")
        assert (session.context().counter, session.context().items[0].tokens) == ("heuristic", 4)


async def test_an_image_costs_what_the_model_says() -> None:
    model = sapwood.Model(provider="scripted", id="talker", image_tokens=85)

    async with runtime().open_session(None, model=model) as session:
        await session.prompt("", images=[ImageContent(data="aGk=", mime_type="image/png")])
        assert session.context().items[0].tokens == 85


@pytest.mark.parametrize("damaged", [False, True])
async def test_without_its_ranks_each_session_is_told_once_and_tokens_are_estimated(
    damaged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damaged:
        without_ranks(monkeypatch, damaged_ranks(tmp_path))
    else:
        without_ranks(monkeypatch)
    shared = runtime()

    for _ in range(2):
        async with shared.open_session(None, model=MODEL) as session:
            reader = session.events(since=0)
            await session.prompt("123456789")
            await session.prompt("again")
            told = [event for event in drain(reader) if isinstance(event, Diagnostic)]

            assert [event.code for event in told] == ["counter_unavailable"]
            assert told[0].message == session.counter_trouble
            assert "tokens are estimated" in told[0].message
            assert (session.context().counter, session.context().items[0].tokens) == ("heuristic", 3)


async def test_the_loop_waits_for_no_loading_and_for_no_large_text() -> None:
    where: dict[int, set[bool]] = {}

    def encode(text: str) -> str:
        where.setdefault(len(text), set()).add(threading.current_thread() is threading.main_thread())
        return text

    def load(_: str) -> Encoding:
        where.setdefault(-1, set()).add(threading.current_thread() is threading.main_thread())
        return cast("Encoding", SimpleNamespace(encode_ordinary=encode))

    real = runtime(environment=Environment())
    real._counter = Tokenizer("o200k_base", load)
    async with real.open_session(None, model=MODEL) as session:
        await session.prompt("x" * 100_000)
        await session.prompt("y" * 50_000)
        with trio.fail_after(30):
            while not where.keys() >= {100_000, 50_000}:  # noqa: ASYNC110 - they are counted ahead, in threads
                await trio.sleep(0.01)
        assert [item.tokens for item in session.context().items] == [100_000, 3, 50_000, 3]

    assert {size: in_loop for size, in_loop in where.items() if size != 3} == {
        -1: {False},
        100_000: {False},
        50_000: {False},
    }


def test_a_counter_that_there_is_not_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    for counter in ("gpt-4", "", None, 5, ["heuristic"]):
        unknown: Any = counter
        with pytest.raises(Refused, match=r"a counter is one of 'o200k_base'"):
            Runtime(counter=unknown)
        with pytest.raises(Refused, match=r"a counter is one of"):
            sapwood.read(tmp_path / "none.jsonl", counter=unknown)


class Watched(dict[str, str]):
    """Environment variables that tell who is asked for."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__(variables)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


SEARCHING = {"TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "TMPDIR", "TEMP", "TMP"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counter", "counts", "variables"),
    [
        ("heuristic", "heuristic", set[str]()),
        ("o200k_base", "o200k_base", set[str]()),
        ("cl100k_base", "heuristic", SEARCHING),
    ],
)
async def test_only_to_look_for_an_encoding_that_is_not_ours_is_an_environment_variable_read(
    counter: CounterName, counts: str, variables: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E3: and those alone that docs/rules.md names."""
    monkeypatch.delitem(ENCODINGS, counter, raising=False)
    monkeypatch.setattr(encoding, "DEFAULT_CACHE", "nobody's")
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = dict(os.environ)
    watched = Watched(before)
    monkeypatch.setattr(os, "environ", watched)

    async with runtime(counter, environment=Environment()).open_session(tmp_path / "s.jsonl", model=MODEL) as session:
        await session.prompt("hi")
        assert session.context().counter == counts
    asked = set(watched.asked)

    assert asked <= variables
    assert bool(asked) is bool(variables)
    assert dict(watched) == before
