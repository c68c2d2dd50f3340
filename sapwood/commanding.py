"""What a host has done to an open session, and waits for: settings, marks, a compaction, a move in the tree."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Iterable
from typing import TypeVar

import trio

from sapwood.actors.kernel import CRASHES, Closed, insist
from sapwood.events.asking import Ask
from sapwood.events.base import Json
from sapwood.events.commands import (
    AppendCustom,
    Compact,
    Compacted,
    Edit,
    Forked,
    Navigate,
    Navigated,
    SetLabel,
    SetModel,
    SetThinkingLevel,
    SetTools,
)
from sapwood.events.entries import Replacement
from sapwood.events.errors import ForkFailed, Refused, SapwoodError, SessionBroken, SessionClosed, StoreClosed
from sapwood.events.hooks import Cancel, SessionBeforeFork
from sapwood.events.ids import EntryId
from sapwood.events.models import Model
from sapwood.events.requests import Restore
from sapwood.forking import planned, rooted, wanted
from sapwood.reading import Reading
from sapwood.store.fork import place_to_fork, steps
from sapwood.taking import take_flag, take_json, take_model, take_names, take_replacement, take_text
from sapwood.wiring import Wiring

T = TypeVar("T")


class Commanding(Reading):
    """A session that can be read, and asked to change. What it is asked for is in the log when the call returns."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring.view, wiring.fold, wiring.counts)
        self._wiring = wiring
        self._closed = False

    async def set_model(self, model: Model) -> None:
        """Go on with another model, from the next request on. `Refused` for one whose provider was not given; `StoreError`."""
        model = take_model(model)
        if model.provider not in self._wiring.providers:
            known = ", ".join(sorted(self._wiring.providers)) or "none"
            raise Refused("no-model", f"no provider is called {model.provider!r} (there are: {known})")
        await self._ask(SetModel(entry_id=self._new_id(), model=model))

    async def set_thinking_level(self, level: str) -> None:
        """Have the model think this much, from the next request on."""
        await self._ask(SetThinkingLevel(entry_id=self._new_id(), level=take_text(level, "a thinking level")))

    async def set_tools(self, names: Iterable[str]) -> None:
        """Let the model call these of the tools that the session was opened with, from the next turn on. `Refused` for others."""
        await self._ask(SetTools(names=take_names(names)))

    async def edit(self, entry_id: EntryId, replacement: Replacement | None) -> EntryId:
        """Hide an entry from the model (None), or let the model see other content in its place (P3). The id of the edit.

        `Refused` for an entry that there is not.
        """
        return await self._ask(
            Edit(entry_id=self._new_id(), target=entry_id, replacement=take_replacement(replacement))
        )

    async def label(self, entry_id: EntryId, label: str | None) -> EntryId:
        """Mark an entry; None takes the mark off. `Refused` for an entry that there is not."""
        return await self._ask(
            SetLabel(
                entry_id=self._new_id(), target=entry_id, label=None if label is None else take_text(label, "a label")
            )
        )

    async def append_custom(self, custom_type: str, data: Json = None) -> EntryId:
        """Keep state of the host's in the log, at the leaf; the model does not see it. `Refused` for no JSON, or more than 1 MiB."""
        return await self._ask(
            AppendCustom(
                entry_id=self._new_id(), custom_type=take_text(custom_type, "a custom type"), data=take_json(data)
            )
        )

    async def compact(self, instructions: str | None = None, *, ask_extensions: bool = True) -> Compacted:
        """Summarise the past now, whether or not that happens by itself (C15).

        The run that is on is stopped first, and is not gone on with. What waits in the queues is handed back: in the outcome, and each
        handle has it as its own. What is said meanwhile with `steer` and `follow_up` starts a run behind it.

        Args:
            instructions: what is to be kept above all; added to ours.
            ask_extensions: False: whatever an extension would say.

        Raises `Refused` (`Already compacted`; `Nothing to compact (session too small)`; somebody else has the tree): nobody was stopped.
        `CompactionFailed` says what it has cost all the same (`stopped_run`, `returned`); the log has no compaction then. `StoreError`,
        `SessionClosed`, and `WouldDeadlock` in code that the run itself waits for.
        Whoever waits and is cancelled stops it.
        """
        taken = None if instructions is None else take_text(instructions, "instructions")
        return await self._ask(Compact(entry_id=self._new_id(), instructions=taken, ask_extensions=ask_extensions))

    async def compact_for_extension(self, instructions: str | None) -> Compacted:
        """As `compact`, of an extension: `Heard.lent` heard of it when it was asked for."""
        taken = None if instructions is None else take_text(instructions, "instructions")
        return await self._ask(Compact(entry_id=self._wiring.pen.new_id(), instructions=taken), lent=True)

    async def navigate(
        self,
        target: EntryId | None,
        *,
        summarize: bool = False,
        instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
        answer: str | None = None,
        ask_extensions: bool = True,
    ) -> Navigated:
        """Go on from another entry (N). Nothing that is left is lost: `branches` has it, and it can be moved back to.

        At what a user or an extension said, the session stands before it, and the text and the images are handed back, to be said
        otherwise. What is said meanwhile with `steer` and `follow_up` starts a run behind it, there. Who is there already moves nowhere,
        and a label that was asked for is not written, which is told (`label_dropped`): `label` is for that.

        Args:
            target: the entry; None: before the first one.
            summarize: whether a model sums up what is left; the summary stands where the session goes on, and the model reads it there.
            instructions: what is wanted of the summary; added to ours, or in their place, see `replace_instructions` and the manner (N4).
            replace_instructions: whether they take the place of ours.
            label: a mark on the summary, or else on the target.
            answer: what is said now to what a tool of the kind `ask` had asked: `target` is its result, and gets another one beside it.
            ask_extensions: False: whatever an extension would say.

        Raises `Refused` (somebody else has the tree; there is no such entry; no model could sum up), `NavigationFailed` (the summary
        failed, an extension or `abort` stopped it), `StaleLeaf` (something was said meanwhile) and `StoreError`: the session stands where
        it stood then. `SessionClosed`, and `WouldDeadlock` in code that the run itself waits for. Whoever waits and is cancelled stops it.
        """
        command = Navigate(
            target=None if target is None else EntryId(take_text(target, "the target of a move")),
            summarize=take_flag(summarize, "summarize"),
            instructions=None if instructions is None else take_text(instructions, "instructions"),
            replace_instructions=take_flag(replace_instructions, "replace_instructions"),
            label=None if label is None else take_text(label, "a label"),
            answer=None if answer is None else take_text(answer, "an answer"),
            ask_extensions=take_flag(ask_extensions, "ask_extensions"),
        )
        return await self._ask(command, again=False)  # it may have moved already, and a summary is paid for

    async def fork(
        self,
        entry_id: EntryId | None = None,
        *,
        whole_tree: bool = False,
        to: str | os.PathLike[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        ask_extensions: bool = True,
    ) -> Forked:
        """Copy the path to an entry, or all there is, to a new session (S15). This one goes on as it was: open the new one by its path.

        The new session stands at the entry. It has the entries byte for byte, their labels and the name; it names this session, and marks
        what it has from there, so that its `stats` tell what it spent itself. A run may be on: what is in the log by now is copied.

        Args:
            entry_id: the last entry of the path; None: the leaf.
            whole_tree: all branches; the new session stands where this one does.
            to: the new file, or a folder for it; None: beside this session's file.
            cwd: the working folder that the new session notes, absolute; this one's if None.
            ask_extensions: False: whatever an extension would say.

        Raises `Refused` (there is no such entry, or none at all), `ForkFailed` (an extension would not have it), `NewerVersion`, and
        `StoreError`: `CannotWrite` where something stands already. There is no new file then, nor where whoever waits is cancelled.
        `SessionClosed`, and `WouldDeadlock` in a handler that is asked whether it may be.
        """
        want = wanted(entry_id, whole_tree, to, cwd)
        asking = take_flag(ask_extensions, "ask_extensions") and self._wiring.registered.has(SessionBeforeFork)
        self._wiring.pen.session_log.guard()
        if self._closed:
            raise SessionClosed
        view, environment = self._wiring.view, self._wiring.outside
        place_to_fork(view, want.entry_id, want.extent, self.path)
        if asking:
            await self._ask_whether_to_fork(SessionBeforeFork(entry_id=want.entry_id, whole_tree=want.extent == "tree"))
        try:
            plan = planned(view, rooted(self.path, self._wiring.folder), want, environment)
            with plan.writing():
                try:
                    for step in steps(plan.copy, plan.file):
                        await environment.run_sync(step)
                finally:
                    with trio.CancelScope(shield=True):
                        await environment.run_sync(plan.file.end)
        except SapwoodError as error:
            raise self._told(error) from error
        return plan.outcome

    async def _ask_whether_to_fork(self, question: SessionBeforeFork) -> None:
        self._wiring.extensions.guard()
        try:
            answer = await self._wiring.heard.doing(question, lambda: self._wiring.extensions.ask(question))
        except CRASHES:  # told already; who breaks while he is asked has said nothing (H2)
            return
        except SapwoodError as error:
            raise self._told(error) from error
        if isinstance(answer, Cancel):
            because = f": {answer.reason}" if answer.reason else ""
            raise ForkFailed(f"the extension {answer.by!r} cancelled the fork{because}")

    async def restore(self) -> str | None:
        """Put a file that somebody deleted or replaced back to its path, from what is open of it (S9); then prompts go on.

        What stands at the path now gets a name beside it, which is returned. Raises `StoreError`: a `StoreConflict` where there is nothing
        to put back; `SessionClosed`, `SessionBroken`, and `WouldDeadlock` in code that the run itself waits for.
        """
        self._wiring.agent.guard()
        if self._closed:
            raise SessionClosed
        heard, session_log = self._wiring.heard, self._wiring.pen.session_log
        try:
            return await heard.doing({"type": "restore"}, lambda: insist(session_log, Restore()))
        except SapwoodError as error:
            raise self._told(error) from error

    async def _ask(self, command: Ask[T], *, again: bool = True, lent: bool = False) -> T:
        """Ask the agent: `again` for what may be done twice, if the agent crashed before it answered; `lent` for what was heard of."""
        self._wiring.agent.guard()
        if self._closed:
            raise SessionClosed
        agent = self._wiring.agent

        def ask() -> Awaitable[T]:
            return insist(agent, command) if again else agent.ask(command)

        try:
            return await (ask() if lent else self._wiring.heard.doing(command, ask))
        except SapwoodError as error:
            raise self._told(error) from error

    def _new_id(self) -> EntryId:
        """Picked here, so that asking again is harmless: the log takes an id once."""
        with self._wiring.heard.hosting():
            return self._wiring.pen.new_id()

    def _told(self, error: BaseException) -> SapwoodError:
        """The error as a host is told it: the ends of the kernel and of the store are this session's, and a host knows of no actors."""
        match error:
            case SapwoodError() if isinstance(error, CRASHES):
                broken = SessionBroken(str(error))
                broken.__cause__ = error
                return broken
            case StoreClosed() if self._closed:
                return SessionClosed()
            case SapwoodError() if not isinstance(error, Closed):
                return error
            case _:
                return SessionClosed()
