"""What it costs to count a megabyte of new text in a session, against tiktoken's own time for the same texts; and to ask again.

The session has a thousand entries of a kilobyte, of several kinds. Ours measures the context; tiktoken encodes the texts and nothing else.

    uv run python -m benchmarks counting
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from benchmarks.harness import MOST, ROUNDS, Ratio, compare, limit, measure
from sapwood.actors.projection.counts import Counts
from sapwood.actors.projection.encoding import load_encoding
from sapwood.actors.projection.fold import Fold
from sapwood.actors.projection.tokenizer import Tokenizer
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, message_entry, user
from tests.texts import text_of

ENTRIES: Final = 1_024
KINDS: Final = ("english", "code", "json", "chinese")
BOUND: Final = 1.3
"""The goal is 1.1, and a quiet machine shows 1.05 to 1.08; what else is at work there is a tenth of it."""
AGAIN_BOUND: Final = 0.05
"""Of the first time: what was counted is looked up."""


def texts() -> list[str]:
    """A megabyte, in kilobytes."""
    size = ENTRIES * 1_024 // len(KINDS)
    whole = "".join(text_of(kind, size) for kind in KINDS)
    step = len(whole) // ENTRIES
    return [whole[at : at + step] for at in range(0, len(whole), step)]


def folded(said: list[str], tokenizer: Tokenizer) -> Fold:
    """A session of these, folded and not counted."""
    store = MemoryStore(HEADER)
    for at, one in enumerate(said):
        parent = f"{at - 1:08x}" if at else None
        store.append([encode_entry(message_entry(f"{at:08x}", user(one), parent))])
    fold = Fold(View(store), Counts(tokenizer))
    fold.pull()
    return fold


def run() -> Iterator[Ratio]:
    """Counting over tiktoken; counting again over counting."""
    said = texts()
    encode = load_encoding("o200k_base").encode_ordinary
    tokenizer = Tokenizer("o200k_base")
    folds = iter([folded(said, tokenizer) for _ in range(MOST * ROUNDS + 1)])

    def ours() -> None:
        next(folds).measure()

    def bare() -> None:
        for one in said:
            encode(one)

    yield compare("count 1 MB of new text / tiktoken", ours, bare, bound=BOUND)
    fold = folded(said, tokenizer)
    first, again = measure(fold.measure), min(measure(partial(fold.measure)) for _ in range(ROUNDS))
    yield limit("count it again / count it", again / first, AGAIN_BOUND)


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
