"""How an actor is asked: a message that has one typed reply."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

R = TypeVar("R", covariant=True)


class Ask(msgspec.Struct, Generic[R], frozen=True):
    """A message that has one typed reply `R`; the kernel's `Ref.ask` returns it."""
