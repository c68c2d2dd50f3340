"""The session of a recording: as it was, with nobody behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.recording.reopening import KeptStore
from sapwood.recording.tape import parse
from tests.sapwood.recording.recorded import recorded

DAMAGED = Path(__file__).parents[2] / "data"


def test_what_was_in_the_log_is_there_under_its_name(tmp_path: Path) -> None:
    story = """\
title: It goes on
store: jsonl
session: {entries: [{type: message, message: {role: user, content: "Which tree?"}}]}
steps: [{pass: 1}]
"""
    path = recorded(tmp_path, story)
    opening, _, _ = parse(str(path), path.read_bytes())

    store = KeptStore(opening)

    assert len(store.tree) == 1
    assert store.where.endswith("session.jsonl")
    assert (store.read_only, store.damage) == (False, ())
    with pytest.raises(IndexError):
        store.line(1)
