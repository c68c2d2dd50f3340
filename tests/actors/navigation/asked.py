"""A move that is asked for, of a log that is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sapwood.actors.navigation.route import Route, route
from sapwood.actors.session_log.view import View
from sapwood.events.entries import KnownEntry
from sapwood.events.ids import EntryId
from sapwood.events.requests import NavigateTo
from tests.build import MODEL, assistant, call, result, user
from tests.sapwood.branching import TALK, chain, kept

ASKED = chain(
    ("u1", user()),
    ("a1", assistant(call("c1", "ask"), stop="toolUse")),
    ("r1", result("c1", "Ash.", name="ask")),
    ("a2", assistant("Then ash.")),
)
"""A question to the person, its answer, and what came of it."""


def view_of(entries: Sequence[KnownEntry] | None = None) -> View:
    """Of these entries, or of the talk."""
    return View(kept(chain(*TALK) if entries is None else entries))


def asked(target: str | None, **more: Any) -> NavigateTo:
    given: dict[str, Any] = {"key": "k", "target": None if target is None else EntryId(target), "model": MODEL, **more}
    return NavigateTo(**given)


def way(view: View, message: NavigateTo) -> Route:
    """The way of a move that is not refused; the tool `ask` asks."""
    found = route(view, message, lambda name: name == "ask")
    assert isinstance(found, Route)
    return found
