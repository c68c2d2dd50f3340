"""How many tokens a message has: a text counter over one walk. No I/O.

1. `heuristic` gives exactly Pi's numbers (T2): UTF-16 units / 4, rounded up per message.
2. Whatever else counts texts is made a `TokenCounter` of by its name; an image is then 1200 tokens, unless the model says otherwise (T1).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Final

import attrs

from sapwood.actors.projection.parts import parts_of
from sapwood.events.content import ImageContent
from sapwood.events.context import CounterName
from sapwood.events.messages import Message

UNITS_PER_TOKEN: Final = 4
"""Pi's estimate. About right for English and code, a third of the truth for Chinese."""
IMAGE_TOKENS: Final = 1200
"""What a middling image costs, as Pi has it; a model that takes another amount says so (`Model.image_tokens`)."""


def units(text: str) -> int:
    """The length of a text in UTF-16 code units, as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def whole(text: str) -> Iterable[str]:
    """The text in one part."""
    return (text,)


@attrs.frozen(kw_only=True)
class TokenCounter:
    """Counts messages. Of two texts it counts what it counts of each: the whole is the sum."""

    name: CounterName
    text: Callable[[str], int]
    """What a text weighs."""
    cut: Callable[[str], Iterable[str]] = whole
    """The parts that a long text is weighed in, one after the other: together they weigh what it weighs."""
    image: int = IMAGE_TOKENS
    """What an image weighs."""
    image_is_fixed: bool = False
    """Whether it weighs that whatever a model says (T2)."""
    weight: int = 1
    """What weighs so much is a token; a message is rounded up."""
    quick: bool = False
    """Whether any amount of text is counted in no time."""

    def __call__(self, message: Message) -> int:
        """Tokens of one message."""
        weights = (self.image if isinstance(part, ImageContent) else self.text(part) for part in parts_of(message))
        return -(-sum(weights) // self.weight)

    def steps(self, message: Message) -> Generator[int, None, int]:
        """The same a part at a time: yields how many characters each part had, and returns the tokens."""
        weight = 0
        for part in parts_of(message):
            if isinstance(part, ImageContent):
                weight += self.image
                continue
            for piece in self.cut(part):
                weight += self.text(piece)
                yield len(piece)
        return -(-weight // self.weight)


heuristic: Final = TokenCounter(
    name="heuristic",
    text=units,
    image=IMAGE_TOKENS * UNITS_PER_TOKEN,
    image_is_fixed=True,
    weight=UNITS_PER_TOKEN,
    quick=True,
)
"""Tokens of one message by Pi's rule (T2)."""
