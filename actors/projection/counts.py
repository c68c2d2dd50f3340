"""What the entries of one session count, each once: an entry never changes, and neither does its count (T1). No I/O.

1. Nothing here counts, and no counter is made ready, of itself: whoever asks first pays, for an entry and for the counter. The projection
   asks ahead of need, elsewhere: for the counter when a session is wired, for a large text when it comes.
2. The counter is one for the session's life: the one that was wanted, or the heuristic where that is not to be had; then `warning` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

import attrs

from sapwood.actors.projection.counter import TokenCounter, heuristic
from sapwood.actors.projection.parts import length_of
from sapwood.events.context import CounterName
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message

AT_ONCE: Final = 32_768
"""Characters that are counted in place: three milliseconds or so. More would hold up everybody else."""

Key = tuple[EntryId, EntryId | None]
"""An entry, and the edit that changed what it says, if one did."""


class CounterSource(Protocol):
    """Where a counter comes from."""

    @property
    def ready(self) -> bool:
        """Whether it is there, or has to be loaded."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why it is not the one that was wanted."""
        ...

    def counter(self) -> TokenCounter:
        """The counter: loaded, if it was not. Never raises; may be called in any thread."""
        ...


@attrs.frozen
class ReadyCounter:
    """A counter that needs no loading."""

    made: TokenCounter = heuristic
    ready: bool = True
    trouble: str | None = None

    def counter(self) -> TokenCounter:
        return self.made


@attrs.frozen
class Uncounted:
    """Messages of one entry that nobody has counted yet."""

    key: Key
    messages: Sequence[Message]


class Counts:
    """Counts of one session's messages."""

    def __init__(self, source: CounterSource | None = None, *, image_tokens: int | None = None) -> None:
        self._source = ReadyCounter() if source is None else source
        self._image_tokens = image_tokens
        self._known: dict[Key, tuple[int, ...]] = {}
        self._counter: TokenCounter | None = None
        self._warned = False

    @property
    def ready(self) -> bool:
        """Whether counting can begin at once."""
        return self._source.ready

    @property
    def quick(self) -> bool:
        """Whether any amount is counted in no time."""
        return self.ready and self._counting().quick

    def name(self) -> CounterName:
        """Who counts. Loads the counter if it is not there, which takes most of a second."""
        return self._counting().name

    @property
    def trouble(self) -> str | None:
        """Why the counter is not the one that was wanted, once that is known."""
        return self._source.trouble

    def prepare(self) -> None:
        """Load the counter, if it is not there: what the first count would do."""
        self._counting()

    def of(self, key: Key, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of each message of an entry; counted now if they never were."""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(map(self._counting(), messages))
        return known

    def of_text(self, text: str) -> int:
        """Tokens of a text that is no message of the log. Not remembered."""
        counter = self._counting()
        return -(-sum(map(counter.text, counter.cut(text))) // counter.weight)

    def of_message(self, message: Message) -> int:
        """Tokens of a message that is none of the log as it stands. Not remembered."""
        return self._counting()(message)

    def known(self, key: Key) -> tuple[int, ...] | None:
        """Tokens of each message of an entry, if they were counted."""
        return self._known.get(key)

    def lacking(self, asked: Iterable[Uncounted]) -> list[Uncounted]:
        """Those of them that are still to be counted."""
        return [one for one in asked if one.key not in self._known]

    def is_much(self, lacking: Iterable[Uncounted]) -> bool:
        """Whether to count these holds up everybody else, however soon it begins."""
        return not self.quick and size_of(lacking, AT_ONCE) > AT_ONCE

    def belong_elsewhere(self, lacking: Sequence[Uncounted]) -> bool:
        """Whether these cannot be counted in place: they are much, or the counter is still to be loaded."""
        return bool(lacking) and (not self.ready or self.is_much(lacking))

    def counting(self, lacking: Iterable[Uncounted]) -> Iterator[int]:
        """Count these, a part of a text at a step: yields how many characters each had. A step may be taken in a thread.

        Whoever takes no more steps has counted the entries before the one in hand: what is remembered of an entry is whole or not there.
        """
        counter = self._counting()
        for one in lacking:
            if one.key not in self._known:
                tokens: list[int] = []
                for message in one.messages:
                    tokens.append((yield from counter.steps(message)))  # noqa: PERF401 - no comprehension may yield
                self._known[one.key] = tuple(tokens)

    def warning(self) -> str | None:
        """Once: why the counter is not the one that was wanted."""
        if self._warned or self.trouble is None:
            return None
        self._warned = True
        return self.trouble

    def _counting(self) -> TokenCounter:
        if self._counter is None:
            counter = self._source.counter()
            if self._image_tokens is not None and not counter.image_is_fixed:
                counter = attrs.evolve(counter, image=self._image_tokens)
            self._counter = counter
        return self._counter


def size_of(lacking: Iterable[Uncounted], enough: int) -> int:
    """Characters that these have; not all of them are looked at where it is more than `enough`."""
    size = 0
    for one in lacking:
        size += sum(map(length_of, one.messages))
        if size > enough:
            break
    return size


def go_on(counting: Iterator[int], most: int) -> bool:
    """Take steps until `most` characters are counted, or all are. Whether there may be more."""
    for size in counting:
        most -= size
        if most <= 0:
            return True
    return False
