"""The shell of the inbox: queue what is to be said, count what the news tells of a run, and resolve handles when it has settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never, get_args

import attrs

from sapwood.actors.inbox.behind import Behind, behind
from sapwood.actors.inbox.shelf import Shelf
from sapwood.actors.kernel import Actor, Refuse, Reply
from sapwood.actors.session_log.view import View
from sapwood.events.commands import Delivered, Input, QueueName, Returned, Withdraw, Withdrawn
from sapwood.events.errors import SessionClosed
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import Accept, Resolve
from sapwood.events.runtime import AgentEnd, AgentSettled, MessageEnd, QueueUpdate, TurnEnd

Heard = MessageEnd | TurnEnd | AgentEnd | AgentSettled
HEARS = get_args(Heard)


class Inbox(Actor[Accept | Resolve | Withdraw | Heard]):
    """Owns the handles of accepted inputs, and the queues."""

    def __init__(
        self, shelf: Shelf, view: View, is_running: Callable[[], bool], publish: Callable[[QueueUpdate], int]
    ) -> None:
        self._shelf = shelf
        self._view = view
        self._publish = publish
        self._behind: dict[EntryId, Behind] = {}
        """What came behind each input of the run that is on."""
        for handle in shelf.waiting():  # made anew after a crash: the log knows what the news had told
            if handle.entry_id in view.tree:
                shelf.queues.remove(handle.entry_id)
                self._behind[handle.entry_id] = behind(view, handle.entry_id)
                # what did not reach the log is the agent's to answer for, here too
                if not is_running():
                    self._resolve_by_log(handle.entry_id)

    def handle(self, message: Accept | Resolve | Withdraw | Heard) -> Reply | Refuse | None:
        match message:
            case Accept(input=taken, queue=queue):
                return self._accept(taken, queue)
            case Resolve(entry_id=entry_id):
                self._resolve_by_log(entry_id)
                return Reply()
            case Withdraw(entry_id=entry_id):
                return Reply(self._withdraw(entry_id))
            case MessageEnd(entry_id=entry_id):
                if self._shelf.get(entry_id) is not None:
                    self._shelf.queues.remove(entry_id)
                    self._behind[entry_id] = Behind()
            case TurnEnd():
                self._behind = {
                    one: attrs.evolve(so_far, turns=so_far.turns + 1) for one, so_far in self._behind.items()
                }
            case AgentEnd(messages=messages):
                answers = [said for said in messages if isinstance(said, AssistantMessage)]
                if answers:
                    self._behind = {
                        one: attrs.evolve(so_far, answer=answers[-1]) for one, so_far in self._behind.items()
                    }
            case AgentSettled() as settled:
                for handle in self._shelf.waiting():
                    # what did not reach the log is the agent's to answer for: it knows why
                    if handle.entry_id in self._view.tree:
                        so_far = self._behind.get(handle.entry_id) or behind(self._view, handle.entry_id)
                        self._deliver(handle.entry_id, so_far, settled)
                self._behind = {}
            case _:
                assert_never(message)
        return None

    def _accept(self, taken: Input, queue: QueueName | None) -> Reply | Refuse:
        if (
            self._shelf.get(taken.entry_id) is None
        ):  # it has its outcome: it was taken back on its way here, or all was closed
            return Refuse(SessionClosed())
        self._shelf.accept(taken.entry_id)
        known = taken.entry_id in self._shelf.queues or taken.entry_id in self._view.tree  # asked again after a crash
        if queue is not None and not known:
            self._shelf.queues.add(queue, taken)
            self._publish(self._shelf.news())
        return Reply()

    def _withdraw(self, entry_id: EntryId) -> bool:
        handle = self._shelf.get(entry_id)
        if handle is None:
            return False
        waits = self._shelf.queues.withdraw(entry_id)
        if not waits and not self._shelf.on_its_way(entry_id):
            return False
        self._shelf.resolve(entry_id, Withdrawn(text=handle.input.text, images=handle.input.images))
        if waits:
            self._publish(self._shelf.news())
        return True

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
