"""A call of a tool by hand, and what it needs around it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import psutil
import trio

from sapwood.actors.tools.results import ToolResult
from sapwood.actors.tools.tool import Tool, ToolContext
from sapwood.events.base import Json, is_object
from sapwood.events.content import ImageContent, TextContent
from sapwood.events.ids import SessionId, ToolCallId
from tests.build import call

NOBODY = 65534


async def no_ask(question: str) -> str:
    raise AssertionError(question)


def context(cwd: Path | str, told: list[Json] | None = None) -> ToolContext:
    told = list[Json]() if told is None else told
    return ToolContext(
        session_id=SessionId("s1"), cwd=str(cwd), call_id=ToolCallId("c1"), progress=told.append, ask=no_ask
    )


def called(tool: Tool, cwd: Path | str, **arguments: object) -> ToolResult:
    """What a plain tool returns, its arguments read as those of a model."""
    returned = tool.function(**tool.read(call("c1", tool.name, **arguments)), ctx=context(cwd))
    assert isinstance(returned, ToolResult)
    return returned


async def awaited(tool: Tool, ctx: ToolContext, **arguments: object) -> ToolResult:
    """The same for an async one."""
    returned: object = await cast("Any", tool.function(**tool.read(call("c1", tool.name, **arguments)), ctx=ctx))
    assert isinstance(returned, ToolResult)
    return returned


def text(result: ToolResult) -> str:
    """What the model is told, if it is one text."""
    assert isinstance(result.content, str)
    return result.content


def refusal(result: ToolResult) -> str:
    """Why nothing was done."""
    assert result.is_error
    return text(result)


def blocks(result: ToolResult) -> tuple[TextContent, ImageContent]:
    assert isinstance(result.content, Sequence)
    note, image = result.content
    assert isinstance(note, TextContent)
    assert isinstance(image, ImageContent)
    return note, image


def details(result: ToolResult) -> Mapping[str, Any]:
    assert is_object(result.details)
    return result.details


@contextmanager
def as_nobody() -> Generator[None]:
    """With the rights of one who owns nothing; as we are, if we are not root. Nothing may be awaited in it."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@contextmanager
def open_folder() -> Generator[Path]:
    """A folder that everybody may enter and write to, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="sapwood-test-"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        folder.chmod(0o777)
        shutil.rmtree(folder)


@contextmanager
def nothing_left() -> Generator[None]:
    """No descriptor and no child of ours is left behind, a zombie neither."""
    us = psutil.Process()
    descriptors, children = us.num_fds(), us.children()
    yield
    assert us.children() == children
    assert us.num_fds() == descriptors


async def gone(pids: Sequence[int]) -> bool:
    """Whether none of the processes runs any more. They were killed, and the system may take a moment to do it.

    A zombie is gone: it waits for whoever adopted it, not for us.
    """
    with trio.move_on_after(5):
        await until(lambda: not any(map(_runs, pids)))
        return True
    return False


async def until(true: Callable[[], bool]) -> None:
    """Wait for what no event tells: other processes, and files."""
    while not true():  # noqa: ASYNC110 - that is why
        await trio.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
