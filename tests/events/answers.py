"""What the type of a question says of its answers."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args

from sapwood.events.hooks import Question


def answers_of(question: type[Question[Any]]) -> set[type]:
    """What the type of a question says may be answered, without None."""
    (answer,) = [argument for base in question.__dict__["__orig_bases__"] for argument in get_args(base)]
    return {*(get_args(answer) or (answer,))} - {None, NoneType}
