"""The shell of the inbox: count what the news tells of a run, and resolve handles when it has settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from sapwood.actors.inbox.shelf import Handle, Shelf
from sapwood.actors.kernel import Actor, Reply
from sapwood.actors.session_log.view import View
from sapwood.events.commands import Delivered, Returned
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import Accept, Resolve
from sapwood.events.runtime import AgentEnd, AgentSettled, TurnEnd

Heard = TurnEnd | AgentEnd | AgentSettled


class Inbox(Actor[Accept | Resolve | Heard]):
    """Owns the handles of accepted inputs."""

    def __init__(self, shelf: Shelf, view: View, is_running: Callable[[], bool]) -> None:
        self._shelf = shelf
        self._view = view
        self._turns = 0
        self._answer: AssistantMessage | None = None
        for handle in shelf.waiting():  # made anew after a crash: the log knows what the news had told
            self._answer = self._answer or self._answer_in_log(handle.entry_id)
            if not is_running():
                self._resolve(handle, aborted=True)

    def handle(self, message: Accept | Resolve | Heard) -> Reply | None:
        match message:
            case Accept(input=taken):
                self._shelf.accept(taken.entry_id)
                return Reply()
            case Resolve(entry_id=entry_id):
                handle = self._shelf.get(entry_id)
                if handle is not None:
                    self._resolve(handle, aborted=True)
                return Reply()
            case TurnEnd():
                self._turns += 1
            case AgentEnd(messages=messages):
                answers = [said for said in messages if isinstance(said, AssistantMessage)]
                self._answer = answers[-1] if answers else None
            case AgentSettled(aborted=aborted):
                for handle in self._shelf.waiting():
                    self._resolve(handle, aborted=aborted)
                self._turns, self._answer = 0, None
            case _:
                assert_never(message)
        return None

    def _resolve(self, handle: Handle, *, aborted: bool) -> None:
        entry_id = handle.entry_id
        if entry_id in self._view.tree:
            outcome = Delivered(entry_id=entry_id, answer=self._answer, turns=self._turns, aborted=aborted)
            self._shelf.resolve(entry_id, outcome)
        else:
            self._shelf.resolve(entry_id, Returned(text=handle.input.text, images=handle.input.images))

    def _answer_in_log(self, entry_id: EntryId) -> AssistantMessage | None:
        """The last answer on the path behind an input, if it is there."""
        tree = self._view.tree
        for index in reversed(tree.path(tree.leaf)):
            if tree.id(index) == entry_id:
                return None
            match self._view.entry(index):
                case MessageEntry(message=AssistantMessage() as answer):
                    return answer
                case _:
                    pass
        return None
