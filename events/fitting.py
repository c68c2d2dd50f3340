"""A value of foreign code, made one of ours. No I/O.

What foreign code declares of a value's type is no promise: a copy is made of what is there, and what does not fit is told.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sapwood.events.content import mended
from sapwood.events.odd_json import DEEPEST


def fitting(value: object, type_: Any) -> Any:
    """A copy that is of the type, each half of a character replaced. `ValueError` says why there is none."""
    try:
        plain = msgspec.to_builtins(value)
        try:
            msgspec.json.encode(plain)
        except UnicodeEncodeError:
            plain = mended(plain)
        return msgspec.convert(plain, type_)
    except RecursionError as fault:
        raise ValueError(f"it is nested deeper than {DEEPEST} levels") from fault
    except (TypeError, OverflowError) as fault:
        raise ValueError(str(fault)) from fault
