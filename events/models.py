"""What a model is, as far as a session must know.

What a host declares is checked when it is made, whoever makes it: a wrong type would come to light in the middle of a run.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from sapwood.events.base import Wire
from sapwood.events.errors import Refused, shown
from sapwood.events.messages import TOO_MUCH

DEAREST: Final = 10**9
"""Dollars that a million tokens may cost: far above any price there is, and what a call costs by it is still a number that JSON holds."""

Count = Annotated[int, msgspec.Meta(ge=0, lt=TOO_MUCH)]
Dollars = Annotated[int, msgspec.Meta(ge=0, le=DEAREST)] | Annotated[float, msgspec.Meta(ge=0, le=DEAREST)]

Name = Annotated[str, msgspec.Meta(min_length=1)]

DEFAULT_WINDOW: Final = 128_000
"""Tokens that a model of unknown window is taken to have (C1); what a summary may be made from goes by it as well (N3)."""

LEAST_TEXT_BYTES: Final = 64
"""What a text may be cut to: the line that says how much is gone takes 61 bytes while the text has less than a terabyte."""
LEAST_CALL_ID: Final = 16
"""Characters that an id may be cut to: twelve that stand for all of it, by which no two calls meet, a dash, and three of how it began."""


class Declared(Wire, frozen=True, kw_only=True):
    """What a host says of its models. `Refused` at once for what no field can hold."""

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(type(self)):
            why = _misfit(getattr(self, field.name), field.type)
            if why is not None:
                value = getattr(self, field.name)
                raise Refused("bad-input", f"{type(self).__name__}({field.name}={shown(value)}): {why}")


class Price(Declared, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None


class Limits(Declared, frozen=True, kw_only=True):
    """What a model takes at most, besides tokens; None: as much as there is (P11). Kept on the way out, never in the log."""

    images: Count | None = None
    """Images of one request. The oldest go first, and in steps, so that not every new image changes what was sent before."""
    image_bytes: Count | None = None
    """Of one image, in base64, as it travels."""
    text_bytes: Annotated[int, msgspec.Meta(ge=LEAST_TEXT_BYTES)] | None = None
    """UTF-8, of one text of a user, an answer or a result. A cut text says what is gone."""
    call_id_length: Annotated[int, msgspec.Meta(ge=LEAST_CALL_ID)] | None = None
    """Characters of a tool call's id, which may then hold letters, digits, `_` and `-` alone."""


class Model(Declared, frozen=True, kw_only=True):
    """One model of one provider. What a host declares here wins over any catalogue. `Refused` for a field of the wrong type."""

    provider: Name
    id: Name
    context_window: Annotated[int, msgspec.Meta(ge=1, lt=TOO_MUCH)] | None = None
    """Tokens, prompt and answer together; None if nobody knows."""
    max_output: Count | None = None
    """Tokens of one answer; None if nobody knows."""
    api: str = "unknown"
    """The wire it speaks, such as `openai-responses`."""
    price: Price | None = None
    thinks: bool = False
    thinks_by: Literal["effort", "budget"] = "effort"
    """How it is told how much to think: by a word, or in tokens, as older ones are."""
    sees: bool = False
    limits: Limits | None = None
    image_tokens: Count | None = None
    """What an image of a middling size costs it; 1200 tokens if nobody knows (T1)."""

    @property
    def key(self) -> str:
        """`provider/id`, the name under which settings speak of it."""
        return f"{self.provider}/{self.id}"

    @property
    def window(self) -> int:
        """The window that decisions go by: the declared one, else `DEFAULT_WINDOW`."""
        return DEFAULT_WINDOW if self.context_window is None else self.context_window


def _misfit(value: object, kind: object) -> str | None:
    """Why a field of this type cannot hold the value, or None if it can."""
    try:
        fitting: object = msgspec.convert(value, kind)
        msgspec.json.encode(fitting)
    except msgspec.ValidationError as error:
        return str(error).replace("null", "None").replace("Expected", "expected").replace("`", "")
    except ValueError as error:  # half a character
        return f"it cannot be written: {error}"
    if not isinstance(value, type(fitting)):
        return f"expected a {type(fitting).__name__}, got {type(value).__name__}"
    return None
