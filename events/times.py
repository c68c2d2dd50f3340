"""Moments as entries bear them, and as messages do. No I/O.

1. A fraction of a millisecond is floored, as JavaScript's `Date` does.
2. A time that names no zone is UTC: a log means the same wherever it is read.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_FIRST: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND


def iso(ms: int) -> str:
    """Unix milliseconds as ISO 8601 in UTC with three decimals and a Z, as Pi writes it. `OverflowError` beyond the years 1 to 9999."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def nearest_iso(ms: int) -> str:
    """The same of any moment: of one beyond those years, the first or the last that has a text."""
    return iso(min(max(ms, _FIRST), _LAST))


def milliseconds(text: str) -> int | None:
    """A time in ISO 8601 as Unix milliseconds; None for a text that is no time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // _MILLISECOND
