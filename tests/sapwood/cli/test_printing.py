"""Lines to the standard output."""

from __future__ import annotations

import errno
import io
import json
import os
import sys

import pytest

from sapwood.cli.printing import Printer, write_nowhere
from sapwood.cli.trouble import Trouble
from sapwood.words.wording import Piece, line


class GoneOutput(io.StringIO):
    """A pipe whose reader went away."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError


def test_when_nobody_reads_nothing_more_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(sys, "stdout", GoneOutput())
    monkeypatch.setattr("sapwood.cli.printing.write_nowhere", lambda: closed.append(True))

    printer = Printer()
    printer.text("one")
    printer.text("two")

    assert closed == [True]


def test_an_output_that_is_full_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    class FullOutput(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sys, "stdout", FullOutput())
    monkeypatch.setattr("sapwood.cli.printing.write_nowhere", lambda: None)

    with pytest.raises(Trouble, match="cannot be written: no space left on device") as caught:
        Printer().text("one")
    assert caught.value.exit_code == 2


def test_the_output_can_be_turned_to_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)

        write_nowhere()

        output.write("to nobody")
        output.flush()


def test_in_a_pipe_a_line_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    Printer().lines([line(Piece("bad", "bad"), " and ", Piece("[good]", "good"))])

    assert capsys.readouterr().out == "bad and [good]\n"


def test_on_a_terminal_it_has_colours_and_is_never_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.delenv("NO_COLOR", raising=False)

    Printer().lines([line(Piece("bad", "bad"), " [x]" * 20)])

    out = capsys.readouterr().out
    assert "\x1b[1;31mbad\x1b[0m" in out
    assert out.count("\n") == 1
    assert out.endswith(" [x]" * 20 + "\n")


def test_json_is_one_document_whatever_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    Printer().json({"text": "Færder \ud800 \x1b[31m"})

    out = capsys.readouterr().out
    assert json.loads(out) == {"text": "Færder ? \x1b[31m"}
    assert "\x1b" not in out
