"""Scenario texts for tests, written to files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

TALK = """\
title: A talk
answers:
  turn: [{text: "Fine, thanks."}]
steps:
  - prompt: How are you?
"""
"""One prompt, one answer; expects nothing."""


def written(folder: Path, text: str, name: str = "story.yaml") -> Path:
    """A scenario's file."""
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    return path
