"""A counter that is loaded at its first use, by one of those who want it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

from sapwood.actors.projection.counter import heuristic
from sapwood.actors.projection.counts import ReadyCounter
from sapwood.actors.projection.encoding import EncodingUnavailable
from sapwood.actors.projection.tokenizer import Tokenizer, counter_source
from sapwood.events.context import DEFAULT_COUNTER
from tests.build import user

if TYPE_CHECKING:
    from tiktoken import Encoding


class Words:
    """Stands for an encoding: a token a word."""

    def encode_ordinary(self, text: str) -> list[int]:
        return [0] * len(text.split())


def test_the_one_that_was_asked_for_is_loaded_once_whoever_asks() -> None:
    loads: list[str] = []
    begun = threading.Barrier(4)

    def load(name: str) -> Encoding:
        loads.append(name)
        return cast("Encoding", Words())

    tokenizer = Tokenizer("o200k_base", load)
    assert (tokenizer.ready, tokenizer.trouble) == (False, None)

    def ask() -> int:
        begun.wait()
        return tokenizer.counter()(user("three words here"))

    with ThreadPoolExecutor(4) as threads:
        assert [done.result() for done in [threads.submit(ask) for _ in range(4)]] == [3] * 4
    assert loads == ["o200k_base"]
    assert (tokenizer.ready, tokenizer.trouble, tokenizer.counter().name) == (True, None, "o200k_base")


def test_one_that_is_not_to_be_had_is_the_heuristic_for_good_and_says_why() -> None:
    loads: list[str] = []

    def load(name: str) -> Encoding:
        loads.append(name)
        raise EncodingUnavailable("the ranks are gone")

    tokenizer = Tokenizer("o200k_base", load)

    assert tokenizer.counter() is tokenizer.counter() is heuristic
    assert loads == ["o200k_base"]
    assert tokenizer.trouble == "the ranks are gone: tokens are estimated, four characters each"


def test_the_exact_one_is_the_default_and_the_heuristic_needs_no_loading() -> None:
    assert DEFAULT_COUNTER == "o200k_base"
    assert isinstance(counter_source(), Tokenizer)
    assert counter_source("heuristic") == ReadyCounter(heuristic)
