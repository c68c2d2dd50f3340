"""A counter that has to be loaded: by whoever needs it first, in any thread, once. All sessions of a runtime share one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from sapwood.actors.projection.counter import TokenCounter, heuristic
from sapwood.actors.projection.counts import CounterSource, ReadyCounter
from sapwood.actors.projection.encoding import EncodingUnavailable, counting, load_encoding, slices
from sapwood.events.context import DEFAULT_COUNTER, CounterName

if TYPE_CHECKING:
    from tiktoken import Encoding


class Tokenizer:
    """A counter that takes most of a second to load. What cannot be loaded is the heuristic, and `trouble` says why (T1)."""

    def __init__(self, name: CounterName, load: Callable[[str], Encoding] = load_encoding) -> None:
        self._name: CounterName = name
        self._load = load
        self._alone = threading.Lock()
        self._loaded: TokenCounter | None = None
        self.trouble: str | None = None

    @property
    def ready(self) -> bool:
        return self._loaded is not None

    def counter(self) -> TokenCounter:
        """The counter. Who comes while another one loads it waits for that one."""
        with self._alone:
            if self._loaded is None:
                try:
                    self._loaded = TokenCounter(name=self._name, text=counting(self._load(self._name)), cut=slices)
                except EncodingUnavailable as error:
                    self.trouble = f"{error}: tokens are estimated, four characters each"
                    self._loaded = heuristic
            return self._loaded


def counter_source(name: CounterName = DEFAULT_COUNTER) -> CounterSource:
    """Where the counter of this name comes from."""
    return ReadyCounter(heuristic) if name == "heuristic" else Tokenizer(name)
