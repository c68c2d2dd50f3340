"""Why an entry gives no message; that gaps are told is in `test_fold.py`, with the files that have them."""

from __future__ import annotations

from sapwood.actors.projection.explaining import explanation
from sapwood.events.entries import Label, Unknown
from sapwood.events.ids import EntryId
from tests.actors.projection.logs import Log, chain, compaction, edit
from tests.build import TIME


def why(log: Log) -> dict[str, str]:
    absent, gaps = explanation(log.view.tree, log.view.tree.leaf, log.fold.survey(0).entries)
    assert gaps == {}
    return {str(entry_id): reason for entry_id, reason in absent.items()}


def test_what_is_summarised_away_hidden_or_has_nothing_to_say_is_told_apart() -> None:
    log = chain("u1", "u2", "u3")
    log.add(edit("e1", "u3", "u2", None))
    log.add(Label(id=EntryId("l1"), parent_id=EntryId("e1"), timestamp=TIME, target_id=EntryId("u1"), label="x"))
    assert why(log) == {"u2": "hidden", "e1": "silent", "l1": "silent"}

    log.add(compaction("c1", "l1", "u3"))
    assert why(log) == {"u1": "compacted", "u2": "compacted", "e1": "silent", "l1": "silent"}


def test_an_entry_of_a_kind_that_speaks_and_cannot_be_read_is_told_as_such() -> None:
    log = chain("u1")
    line = (
        b'{"type":"message","id":"m1","parentId":"u1","timestamp":"' + TIME.encode() + b'","message":{"role":"later"}}'
    )
    log.add(Unknown(type="message", id=EntryId("m1"), parent_id=EntryId("u1"), timestamp=TIME, line=line))

    assert why(log) == {"m1": "unreadable"}
