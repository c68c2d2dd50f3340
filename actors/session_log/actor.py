"""The shell of the log: clean what is brought, hand it on, answer."""

from __future__ import annotations

from typing import assert_never

import msgspec

from sapwood.actors.kernel import Actor, Refuse, Reply, Start
from sapwood.actors.session_log.committing import Committer
from sapwood.actors.session_log.hygiene import clean
from sapwood.events.errors import SapwoodError
from sapwood.events.requests import Append, CatchUp, Restore, Withdraw


class SessionLog(Actor[Append | CatchUp | Withdraw | Restore]):
    """Owns the open store. Asked to append; announces what was appended."""

    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def handle(self, message: Append | CatchUp | Withdraw | Restore) -> Reply | Refuse | Start:
        match message:
            case Append():
                return self._append(message)
            case CatchUp():
                return self._catch_up()
            case Withdraw(entry_id=entry_id):
                self._committer.withdraw(entry_id)
                return Reply()
            case Restore():
                return Start(self._committer.restore, name="restore", owner="actor")
            case _:
                assert_never(message)

    def _catch_up(self) -> Reply | Refuse:
        try:
            self._committer.catch_up()
        except SapwoodError as error:
            return Refuse(error)
        return Reply()

    def _append(self, message: Append) -> Reply | Refuse | Start:
        committer = self._committer
        ticket = committer.put(msgspec.structs.replace(message, entries=tuple(map(clean, message.entries))))
        match ticket.answer:
            case None:
                return Start(lambda: committer.wait(ticket), name=f"append {message.entries[0].id}")
            case Refuse() as refusal:
                return refusal
            case appended:
                return Reply(appended)
