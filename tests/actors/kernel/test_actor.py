from __future__ import annotations

import pytest

from sapwood.actors.kernel import Actor, Cancelled, Crashed, Declined, Done, Ended, Reply, Start
from sapwood.events.errors import SapwoodError


async def nothing() -> None:
    pass


def test_an_actor_without_handle_is_not_made() -> None:
    class Half(Actor[object]):
        pass

    with pytest.raises(TypeError, match="handle"):
        Half()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]


def test_an_operation_belongs_to_its_asker_and_tells_nobody_unless_said_otherwise() -> None:
    start = Start(nothing, "nothing")
    assert (start.owner, start.tells) == ("asker", False)


def test_answers_and_outcomes_cannot_be_changed() -> None:
    for value in (
        Reply(1),
        Done(1),
        Declined(SapwoodError()),
        Crashed(ValueError()),
        Cancelled(),
        Ended("x", Cancelled()),
    ):
        with pytest.raises(AttributeError):
            value.name = "other"  # type: ignore[union-attr, misc]  # pyright: ignore[reportAttributeAccessIssue]
