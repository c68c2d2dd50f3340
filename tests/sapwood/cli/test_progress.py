"""What is said of work that takes long, and where."""

from __future__ import annotations

import threading
from io import StringIO

import pytest

from sapwood.cli.progress import said_if_slow


class Stream(StringIO):
    """A standard error that is a terminal, or is none."""

    def __init__(self, *, terminal: bool, full: bool = False) -> None:
        super().__init__()
        self._terminal = terminal
        self._full = full
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        self.written.set()
        if self._full:
            raise OSError
        return super().write(text)


def test_slow_work_is_said_on_a_terminal_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(terminal=True)
    monkeypatch.setattr("sys.stderr", stream)
    with said_if_slow("reading a\x1bb", 0):
        assert stream.written.wait(5)

    assert stream.getvalue() == "reading a�b …\r\x1b[2K"
    assert not any(isinstance(one, threading.Timer) for one in threading.enumerate())


@pytest.mark.parametrize(("terminal", "patience"), [(True, 60), (False, 0)])
def test_nothing_is_said_of_quick_work_or_into_a_pipe(
    terminal: bool, patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(terminal=terminal)
    monkeypatch.setattr("sys.stderr", stream)
    with said_if_slow("reading", patience):
        assert not stream.written.wait(0.05)

    assert stream.getvalue() == ""


def test_a_terminal_that_takes_nothing_and_work_that_fails_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(terminal=True, full=True)
    monkeypatch.setattr("sys.stderr", stream)

    def fail() -> None:
        with said_if_slow("reading", 0):
            assert stream.written.wait(5)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
