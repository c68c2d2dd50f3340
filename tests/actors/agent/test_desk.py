"""What a host has chosen, as those who need it see it."""

from __future__ import annotations

from sapwood.actors.agent.desk import Chosen
from sapwood.actors.tools import tool
from tests.build import MODEL


@tool
async def read() -> str:
    """Read."""
    return ""


@tool
async def write() -> str:
    """Write."""
    return ""


KNOWN = {"read": read, "write": write}


def test_a_host_that_says_nothing_of_tools_tells_of_none_and_has_none_called() -> None:
    chosen = Chosen(model=MODEL)

    assert chosen.tools() == {}
    assert chosen.definitions() is None


def test_a_host_without_tools_tells_that_there_are_none() -> None:
    assert Chosen(model=MODEL, active=()).definitions() == ()


def test_the_active_tools_are_told_and_may_be_called_in_their_order() -> None:
    chosen = Chosen(model=MODEL, known=KNOWN, active=("write", "read"))

    assert [*chosen.tools().items()] == [("write", write), ("read", read)]
    assert chosen.definitions() == (write.definition, read.definition)
    chosen.active = ("read",)
    assert [*chosen.tools()] == ["read"]
