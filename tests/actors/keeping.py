"""A `Cancelled` that somebody kept: foreign code may raise it where nobody cancels."""

from __future__ import annotations

import trio


async def cancelled_once() -> trio.Cancelled:
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as kept:
            return kept
    raise AssertionError("unreachable")
