"""What a request bears that nobody else is to see (M1), and how it is taken out of what its server says. No I/O.

1. Secret is the key, and what a host or an extension puts into a header that is named like one for secrets.
2. It is found as it is, and as an address, JSON or a page writes it.
3. Words of a failure lose every secret; a short one is often a word that a local server takes for a key, and is taken out where it stands
   alone: a failure is told by its words.
4. An answer is what a model says: what is shorter than `LONG` stays in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import attrs

MASK: Final = "[key]"
"""What stands in the place of a secret."""
LONG: Final = 16
"""Characters from which on nothing but a secret reads so: `EMPTY`, `ollama` and `lm-studio` are below, keys of providers far above."""

_NAMED: Final = re.compile(r"auth|cookie|key|token|secret|passw|credential", re.IGNORECASE)
_PART: Final = re.compile(r"[^\s;,=]+")


def _pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    found = sorted(secrets, key=len, reverse=True)
    words = [re.escape(one) if len(one) >= LONG else rf"(?<!\w){re.escape(one)}(?!\w)" for one in found]
    return re.compile("|".join(words)) if words else None


@attrs.frozen
class Mask:
    """Of one request."""

    _all: re.Pattern[str] | None
    _long: tuple[str, ...]
    """Those that are long, without what has another one in it: they are looked for in each event, which takes less than a pattern."""

    def told(self, text: str) -> str:
        """Words that are told: of a failure, or of a server."""
        return text if self._all is None else self._all.sub(MASK, text)

    def said(self, text: str) -> str:
        """What may be a part of an answer."""
        for secret in self._long:
            if secret in text:
                text = text.replace(secret, MASK)
        return text


def mask(key: str = "", headers: Mapping[str, str] | None = None, url: str = "") -> Mask:
    """What hides the secrets of a request with this key, to this address."""
    secrets = {key, *_of_headers(headers or {}), *_of_address(url)} - {""}
    written = {form for secret in secrets for form in _forms(secret)}
    long = [one for one in written if len(one) >= LONG]
    shortest = sorted(one for one in long if not any(other in one for other in long if other != one))
    return Mask(_pattern(written), tuple(shortest))


def without_login(url: str) -> str:
    """An address as it may be shown."""
    return re.sub(r"//[^/@]*@", f"//{MASK}@", url)


def _of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if _NAMED.search(name):
            yield value
            parts = _PART.findall(value)  # behind a scheme or the name of a cookie
            yield from (part for part in parts if len(part) >= LONG // 2)


def _of_address(url: str) -> Iterator[str]:
    login = urlsplit(url)
    if login.password:
        yield from {login.password, unquote(login.password)}


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield secret.replace("\\", "\\\\").replace('"', '\\"')
    yield secret.replace("/", "\\/")
    yield escape(secret)
