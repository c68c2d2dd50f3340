"""The log's view is what its readers ask for."""

from __future__ import annotations

from sapwood.actors.readable import Readable
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, message_entry, user


def test_a_view_is_readable_and_counts_its_entries_as_their_tree_does() -> None:
    """That it is one is for the type checkers to say; each of its three ways is gone here."""
    entry = message_entry("u1", user("one"))
    log: Readable = View(MemoryStore(HEADER, [encode_entry(entry)]))

    assert (len(log), len(log.tree), log.entry(0)) == (1, 1, entry)
