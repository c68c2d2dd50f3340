"""The shell of the inbox: count what the news tells of a run, and resolve handles when it has settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never, get_args

import attrs

from sapwood.actors.inbox.behind import Behind, behind
from sapwood.actors.inbox.shelf import Shelf
from sapwood.actors.kernel import Actor, Refuse, Reply
from sapwood.actors.session_log.view import View
from sapwood.events.commands import Delivered, Returned
from sapwood.events.errors import SessionClosed
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import Accept, Resolve
from sapwood.events.runtime import AgentEnd, AgentSettled, TurnEnd

Heard = TurnEnd | AgentEnd | AgentSettled
HEARS = get_args(Heard)


class Inbox(Actor[Accept | Resolve | Heard]):
    """Owns the handles of accepted inputs."""

    def __init__(self, shelf: Shelf, view: View, is_running: Callable[[], bool]) -> None:
        self._shelf = shelf
        self._view = view
        self._so_far = Behind()
        for handle in shelf.waiting():  # made anew after a crash: the log knows what the news had told
            self._so_far = behind(view, handle.entry_id)
            # what did not reach the log is the agent's to answer for, here too
            if not is_running() and handle.entry_id in view.tree:
                self._resolve_by_log(handle.entry_id)

    def handle(self, message: Accept | Resolve | Heard) -> Reply | Refuse | None:
        match message:
            case Accept(input=taken):
                if self._shelf.get(taken.entry_id) is None:
                    return Refuse(SessionClosed())
                self._shelf.accept(taken.entry_id)
                return Reply()
            case Resolve(entry_id=entry_id):
                self._resolve_by_log(entry_id)
                return Reply()
            case TurnEnd():
                self._so_far = attrs.evolve(self._so_far, turns=self._so_far.turns + 1)
            case AgentEnd(messages=messages):
                answers = [said for said in messages if isinstance(said, AssistantMessage)]
                self._so_far = attrs.evolve(self._so_far, answer=answers[-1] if answers else None)
            case AgentSettled() as settled:
                for handle in self._shelf.waiting():
                    # what did not reach the log is the agent's to answer for: it knows why
                    if handle.entry_id in self._view.tree:
                        self._deliver(handle.entry_id, self._so_far, settled)
                self._so_far = Behind()
            case _:
                assert_never(message)
        return None

    def _resolve_by_log(self, entry_id: EntryId) -> None:
        handle = self._shelf.get(entry_id)
        if handle is None:
            return
        if entry_id in self._view.tree:
            found = behind(self._view, entry_id)
            self._deliver(entry_id, found, AgentSettled(aborted=found.interrupted))
        else:
            self._shelf.resolve(entry_id, Returned(text=handle.input.text, images=handle.input.images))

    def _deliver(self, entry_id: EntryId, so_far: Behind, settled: AgentSettled) -> None:
        outcome = Delivered(
            entry_id=entry_id,
            answer=so_far.answer,
            turns=so_far.turns,
            aborted=settled.aborted,
            error=settled.error_message,
            error_type=settled.error_type,
            unrecorded=settled.unrecorded,
        )
        self._shelf.resolve(entry_id, outcome)
