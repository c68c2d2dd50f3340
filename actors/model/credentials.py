"""Where a key comes from. It shows nothing of it (M1).

1. A key is given, or it is in an environment variable that the host names, or a function brings it, anew at each request.
2. No variable is looked up that nobody named (E3).
3. What is no key is refused here: libraries repeat it in their errors.
4. Of what a host's function raises only the type is told: its words may hold the key.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable
from typing import cast

from sapwood.actors.foreign import Fault, outcome_of
from sapwood.events.errors import ProviderError, Refused

KeySource = Callable[[], str | Awaitable[str]]


class Credentials:
    """A key, or the way to it. Made by `Credentials.given`, `.environment` and `.function`."""

    def __init__(self, source: KeySource, what: str) -> None:
        self._source = source
        self._what = what

    @classmethod
    def given(cls, key: str) -> Credentials:
        """This key."""
        return cls(lambda: key, "given")

    @classmethod
    def environment(cls, name: str) -> Credentials:
        """The key in this environment variable, read at each request."""

        def read() -> str:
            return os.environ.get(name, "")

        return cls(read, f"environment variable {name}")

    @classmethod
    def function(cls, source: KeySource) -> Credentials:
        """What this function gives at each request, plain or async: for keys that are exchanged."""
        return cls(source, "a function")

    @classmethod
    def of(cls, key: object) -> Credentials | None:
        """From what a host hands in: text, a function, credentials, or None for a server that wants no key. `Refused` for anything else."""
        if key is None or isinstance(key, Credentials):
            return key
        if isinstance(key, str):
            return cls.given(key)
        if callable(key):
            return cls.function(cast("KeySource", key))
        raise Refused(
            "bad-input", f"a key is text, a function that gives one, or Credentials, not a {type(key).__name__}"
        )

    async def key(self) -> str:
        """The key. `ProviderError` of the kind `auth` if there is none, if it is none that a header can bear, or if bringing it raised."""
        found = await outcome_of(self._found, lambda _: None)
        if isinstance(found, Fault):
            told = f"there is no API key ({self._what}): looking for it raised {type(found.error).__name__}"
            raise ProviderError(told, kind="auth")
        key = found.strip() if isinstance(found, str) else ""
        if not key:
            raise ProviderError(f"there is no API key ({self._what}): none was found there", kind="auth")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ProviderError(f"the API key ({self._what}) has characters that no key has", kind="auth")
        return key

    async def _found(self) -> object:
        found: object = self._source()
        return await found if inspect.isawaitable(found) else found

    def __repr__(self) -> str:
        return f"<Credentials: {self._what}>"
