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


@tool(reads=["source"], writes=["target"])
async def edit(source: str, target: str) -> str:
    """Edit."""
    return source + target


def test_a_tool_of_the_host_says_which_of_its_arguments_are_paths() -> None:
    chosen = Chosen(model=MODEL, known={"edit": edit})

    assert chosen.paths()["edit"] == (("source", "read"), ("target", "write"))
    assert chosen.paths()["read"] == (("path", "read"),)


def test_a_tool_that_says_nothing_of_paths_has_those_of_its_name() -> None:
    """A host's own `write` used to change no file that a summary knew of."""
    assert Chosen(model=MODEL, known=KNOWN).paths()["write"] == (("path", "write"),)
