"""What cannot be done, in one line on the standard error."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from sapwood.cli.trouble import NoSession, Trouble, complain


def test_trouble_is_one_line_on_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    NoSession("a\nb").show()

    why = "is no session, for it has no session header: name a .jsonl file of Pi or Sapwood"
    assert capsys.readouterr() == ("", f"sapwood: a�b {why}\n")
    assert issubclass(Trouble, click.ClickException)


def test_a_complaint_is_one_line_and_a_standard_error_that_is_full_is_let_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    complain("a\nb\x1b[31m" + "c" * 5000)

    said = capsys.readouterr().err
    assert said.startswith("sapwood: a�b�[31mc")
    assert len(said) < 1100
    with Path("/dev/full").open("w") as full:
        complain("x", file=full)
        with pytest.raises(OSError, match="No space left"):
            full.flush()  # what is left in it
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
