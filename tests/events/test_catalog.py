"""The shapes of what a catalogue tells."""

from __future__ import annotations

import msgspec

from sapwood.events.catalog import ListedSession, ScannedSession, UnlistedFile
from sapwood.events.ids import SessionId
from sapwood.events.stats import SessionStats

LISTED = ListedSession(path="p", id=SessionId("s"), version=3, cwd="/", created="c", modified="m", size=1)


def test_they_have_a_json_form_and_come_back() -> None:
    assert msgspec.to_builtins(LISTED) == {
        "path": "p",
        "id": "s",
        "version": 3,
        "cwd": "/",
        "created": "c",
        "modified": "m",
        "size": 1,
    }
    scanned = ScannedSession(path="p", id=SessionId("s"), stats=SessionStats(entries=2))
    for one in (LISTED, scanned, UnlistedFile(path="p", why="w")):
        assert msgspec.convert(msgspec.to_builtins(one), type(one)) == one


def test_what_is_not_told_is_none() -> None:
    unknown = (LISTED.parent_session, LISTED.last_activity, LISTED.name, LISTED.first_message, LISTED.open)

    assert unknown == (None,) * 5
