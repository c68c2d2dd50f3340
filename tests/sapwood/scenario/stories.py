"""Scenario texts for tests, written to files."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

from sapwood.actors.summaries.contract import HEADINGS

TALK = """\
title: A talk
answers:
  turn: [{text: "Fine, thanks."}]
steps:
  - prompt: How are you?
"""
"""One prompt, one answer; expects nothing."""

SUMMARY = json.dumps("\n".join(HEADINGS["compaction"]))
"""A summary that keeps the format, in quotes."""
LONG_TALK = """\
title: A talk that can be compacted
settings: {compaction: {keepRecentTokens: 7}}
answers:
  turn: [{text: One.}, {text: Two.}]
  compaction: [{ANSWER}]
steps:
  - prompt: Say the first number.
  - prompt: Say the second number.
"""
"""Two prompts; what stands for `ANSWER` is the summary of what came before the last answer."""


def written(folder: Path, text: str, name: str = "story.yaml") -> Path:
    """A scenario's file."""
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    return path
