"""A failure of a provider, out of what its server said. No I/O.

1. Whatever comes back is words and a kind: JSON of any shape, a page of HTML, nothing at all, an event in the middle of an answer.
2. How long to wait is taken from wherever it stands: a header, in seconds, ms or as a date, or the error itself (M4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Final

import msgspec

from sapwood.actors.model.amounts import field
from sapwood.actors.model.overflow import Wire, kind_of
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.content import without_surrogates
from sapwood.events.errors import ProviderError

LONGEST: Final = 2_000
"""Characters of what a server said: enough to see what it means, and too few for a page."""
LONGEST_WAIT_MS: Final = 366 * 24 * 3600 * 1000
"""A wait is no longer than a year: a number without bounds is told as this."""

_TAGS: Final = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^<>]*>", re.IGNORECASE | re.DOTALL)
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_IN_WORDS: Final = re.compile(
    r"(?:try again|retry|wait)\D{0,20}?((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|hours?|minutes?|seconds?|h|m|s)\s*)+)\b",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|h|m|s)", re.IGNORECASE)
_MS: Final[Mapping[str, int]] = {"ms": 1, "mil": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def refusal(wire: Wire, status: int, headers: Mapping[str, str], body: bytes, now_ms: int) -> ProviderError:
    """The failure that a whole HTTP answer tells of. `headers` by their names in small letters; `now_ms` is for a date without another."""
    said = _parsed(body)
    words, codes = _told(said) if said is not None else (_page(body), ())
    if 300 <= status < 400:
        words = f"it points to another address, and no request follows there: {headers.get('location', 'it does not say which')}"
    if 200 <= status < 300 and not words:
        words = "the answer is empty"
    wait = wait_of(headers, said, words, now_ms)
    kind = kind_of(wire, status, codes, f"{' '.join(codes)} {words}")
    return ProviderError(f"{status} {_label(codes, words)}".rstrip(), kind=kind, status=status, retry_after_ms=wait)


def failed_event(wire: Wire, event: Json, *, status: int | None = None) -> ProviderError:
    """The failure that an event inside an answer tells of."""
    words, codes = _told(event)
    status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), status)
    kind = kind_of(wire, status, codes, f"{' '.join(codes)} {words}")
    told = _label(codes, words) or "the provider reports an error and does not say which"
    return ProviderError(told, kind=kind, status=status, retry_after_ms=wait_of({}, event, words, 0))


def wait_of(headers: Mapping[str, str], said: Json, words: str, now_ms: int) -> int | None:
    """How many ms the provider asks to wait; None if it asks for nothing, or for what cannot be read."""
    asked = (
        _number(headers.get("retry-after-ms"), 1),
        _number(headers.get("retry-after"), 1000),
        _until(headers.get("retry-after"), headers.get("date"), now_ms),
        *(_spoken(delay) for delay in _delays(said)),
        *(_spoken(found[1]) for found in _IN_WORDS.finditer(words[:LONGEST])),
    )
    return next((min(wait, LONGEST_WAIT_MS) for wait in asked if wait is not None), None)


def _number(text: str | None, factor: int) -> int | None:
    if text is None or not re.fullmatch(r"\s*\d{1,15}(\.\d{0,15})?\s*", text):
        return None
    return -int(-float(text) * factor // 1)


def _until(text: str | None, date: str | None, now_ms: int) -> int | None:
    then, now = _date(text), _date(date)
    if then is None:
        return None
    return max(0, then - (now_ms if now is None else now))


def _date(text: str | None) -> int | None:
    try:
        when = parsedate_to_datetime(text or "")
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        return round((when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
    except (ValueError, OverflowError):
        return None


def _delays(said: Json) -> Iterator[str]:
    """Google's way to say it: a detail of the error."""
    details = field(_error(said), "details")
    for detail in details if is_array(details) else ():
        delay = field(detail, "retryDelay")
        if isinstance(delay, str):
            yield delay


def _spoken(text: str) -> int | None:
    """A time like `1m3.5s`, `20s`, `350ms` in ms."""
    amounts = _AMOUNT.findall(text[:100])
    if not amounts:
        return None
    return -int(
        -sum(float(amount[:15]) * _MS.get(unit.lower()[:3], _MS[unit.lower()[0]]) for amount, unit in amounts) // 1
    )


def _parsed(body: bytes) -> Json:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _error(said: Json) -> Json:
    """The part of a JSON answer that tells of the error."""
    if is_array(said):
        said = said[0] if said else None
    inner = field(said, "error")
    if inner is None:
        inner = field(said, "response", "error")
    if inner is None:
        errors = field(said, "errors")
        inner = errors[0] if is_array(errors) and errors else None
    return said if inner is None else inner


def _told(said: Json) -> tuple[str, tuple[str, ...]]:
    """The words and the codes of an error in JSON, of whatever shape."""
    error = _error(said)
    if isinstance(error, str):
        return _cleaned(error), ()
    if not is_object(error):
        return ("" if error is None else _cleaned(_json(error))), ()
    codes = tuple(
        dict.fromkeys(
            str(code)
            for key in ("code", "type", "status")
            if isinstance(code := error.get(key), str | int) and code != "error"
        )
    )
    words = next(
        (
            found
            for key in ("message", "detail", "msg", "error_description")
            if isinstance(found := error.get(key), str) and found
        ),
        None,
    )
    raw = field(error, "metadata", "raw")  # a gateway tells what the one behind it said
    words = _json(error) if words is None else words
    words = f"{words}: {raw if isinstance(raw, str) else _json(raw)}" if raw is not None else words
    return _cleaned(words), codes


def _json(value: Json) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)


def _page(body: bytes) -> str:
    """The words of a page, or of plain text."""
    text = body[: 64 * LONGEST].decode("utf-8", "replace")
    if "<" not in text:
        return _cleaned(text)
    title = _TITLE.search(text)
    return _cleaned(unescape(title[1] if title else _TAGS.sub(" ", text)))


def _cleaned(text: str) -> str:
    text = " ".join(without_surrogates(text).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _label(codes: tuple[str, ...], words: str) -> str:
    named = [code for code in codes if not code.isdecimal() and code.lower() not in words.lower()]
    return f"{named[0]}: {words}" if named and words else named[0] if named else words
