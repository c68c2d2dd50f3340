"""What cannot be done, in one line on the standard error."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from sapwood.cli.trouble import NoSession, Trouble, complain, fault_of_ours


def test_trouble_is_one_line_on_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    NoSession("a\nb").show()

    why = "is no session, for it has no session header: name a .jsonl file of Pi or Sapwood"
    assert capsys.readouterr() == ("", f"sapwood: a�b {why}\n")
    assert issubclass(Trouble, click.ClickException)


def test_a_fault_of_ours_is_told_in_one_line_with_what_was_raised() -> None:
    words = "cannot be played, by a fault of sapwood's own: please report it (KeyError: 'a b')"
    assert fault_of_ours(KeyError("a b")) == words
    assert "\n" not in fault_of_ours(ValueError("a\nb"))


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
