"""Lines from a descriptor."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import trio

from sapwood.cli.lines import Lines


@pytest.fixture(name="pipe")
def _pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def test_lines_come_one_by_one_and_the_last_needs_no_end(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], "one\r\nSø\n\n\xff".encode("latin-1") + b"\nlast")
    os.close(pipe[1])
    lines = Lines(pipe[0])

    assert [await lines.next() for _ in range(6)] == ["one", "S�", "", "�", "last", None]
    assert await lines.next() is None


async def test_who_waits_for_a_line_can_be_stopped_and_nothing_is_lost(pipe: tuple[int, int]) -> None:
    lines = Lines(pipe[0])
    with trio.move_on_after(0.01):
        await lines.next()
    os.write(pipe[1], b"one\n")
    os.close(pipe[1])
