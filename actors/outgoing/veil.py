"""Secrets, and the names that stand for them on the way to a provider (E6). No I/O.

1. `hide` and `show` undo each other: a name stands for one secret, for as long as the session is open.
2. A secret that was found in one text is hidden in every text. What still stands there afterwards is a fault, and is not sent.
3. What holds a name already is no secret: names come back, and are looked through again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias, cast

import attrs
import msgspec

from sapwood.events.errors import RedactionFailed

Redactor: TypeAlias = Callable[[str], Mapping[str, str]]
"""What of a text is secret, and by what name a provider is to know it: the same one each time, and no other secret's.

A plain function of the text alone; it is called in a thread, once for each text.
"""

TWICE: Final = "the redactor gave one name to two secrets: it could not be undone"


def _longest_first(texts: Iterable[str]) -> re.Pattern[str] | None:
    found = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, found))) if found else None


@attrs.frozen
class Veil:
    """What is known to be secret."""

    secrets: Mapping[str, str] = attrs.field(factory=dict[str, str])
    """By the names that stand for them."""
    _names: Mapping[str, str] = attrs.field(init=False, repr=False)
    """By the secrets that they stand for."""
    _out: re.Pattern[str] | None = attrs.field(init=False, repr=False)
    _back: re.Pattern[str] | None = attrs.field(init=False, repr=False)

    @_names.default
    def _named(self) -> Mapping[str, str]:
        names: dict[str, str] = {}
        for name, secret in self.secrets.items():
            names.setdefault(secret, name)  # of two names the first is used
        return names

    @_out.default
    def _hiding(self) -> re.Pattern[str] | None:
        return _longest_first(self._names)

    @_back.default
    def _showing(self) -> re.Pattern[str] | None:
        return _longest_first(self.secrets)

    def knowing(self, more: Mapping[str, str]) -> Veil:
        """With more secrets, by their names. `RedactionFailed` where a name could not be undone, or hides nothing."""
        if all(self.secrets.get(name) == secret for name, secret in more.items()):
            return self
        merged = {**self.secrets, **more}
        if any(merged[name] != secret for name, secret in self.secrets.items()):
            raise RedactionFailed(TWICE)
        together = Veil(merged)
        if together._out is not None and any(map(together._out.search, merged)):
            raise RedactionFailed("the redactor gave a name that contains a secret")
        return together

    def found(self, redactor: Redactor, texts: Iterable[str]) -> dict[str, str]:
        """The secrets of these texts, by their names. `RedactionFailed` for an answer that is none, or gives a name to two."""
        names: dict[str, str] = {}
        for text in texts:
            for secret, name in _told(redactor(text)):
                if not self._holds_a_name(secret) and names.setdefault(name, secret) != secret:
                    raise RedactionFailed(TWICE)
        return names

    def _holds_a_name(self, text: str) -> bool:
        return self._back is not None and self._back.search(text) is not None

    def hide(self, text: str) -> str:
        """The text as it may go out."""
        if self._out is None:
            return text
        hidden = self._out.sub(lambda found: self._names[found[0]], text)
        if self._out.search(hidden) is not None:
            raise RedactionFailed("a secret came together again where another one was hidden")
        return hidden

    def show(self, text: str) -> str:
        """The text as it was meant."""
        return text if self._back is None else self._back.sub(lambda found: self.secrets[found[0]], text)

    def settled(self, text: str) -> int:
        """Characters of a text that goes on which can be shown now: behind them a name may have begun."""
        if self._back is None:
            return len(text)
        longest = max(map(len, self.secrets))
        begun = (text[-size:] for size in range(min(longest - 1, len(text)), 0, -1))
        held = next((len(tail) for tail in begun if any(self._begins(name, tail) for name in self.secrets)), 0)
        end = len(text) - held
        return next((one.start() for one in self._back.finditer(text) if one.start() < end < one.end()), end)

    @staticmethod
    def _begins(name: str, tail: str) -> bool:
        return len(name) > len(tail) and name.startswith(tail)

    def within_json(self) -> Veil:
        """As JSON writes names and secrets within its strings: for arguments that are still on their way."""
        return Veil({_escaped(name): _escaped(secret) for name, secret in self.secrets.items()})


NOTHING: Final = Veil()
"""Nothing is secret."""


def _told(answer: object) -> list[tuple[str, str]]:
    if not isinstance(answer, Mapping):
        raise RedactionFailed(f"the redactor gives a mapping from secrets to names, not a {type(answer).__name__}")
    pairs = [*cast("Mapping[object, object]", answer).items()]
    if not all(isinstance(one, str) and one for pair in pairs for one in pair):
        raise RedactionFailed("the redactor gives a mapping from secrets to names, and each is text that is not empty")
    return cast("list[tuple[str, str]]", pairs)


def _escaped(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]
