"""What extensions say of a move, and how a branch's summary comes about (N3 to N6, C8 to C12)."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Final, assert_never, get_args

import attrs
import trio

from sapwood.actors.asking import Questions
from sapwood.actors.billing import added
from sapwood.actors.compaction.offered import unfit_text
from sapwood.actors.environment import RunSync
from sapwood.actors.foreign import words_of
from sapwood.actors.model.retry import RetryPolicy
from sapwood.actors.navigation.branch import Prepared, budget, prepared
from sapwood.actors.navigation.finishing import finish, shown
from sapwood.actors.navigation.moving import Draft
from sapwood.actors.navigation.route import Route
from sapwood.actors.navigation.settings import BranchSummarySettings
from sapwood.actors.navigation.telling import Telling
from sapwood.actors.outgoing.veil import Veil
from sapwood.actors.projection.counts import Counts
from sapwood.actors.projection.selection import messages_of
from sapwood.actors.redaction import Redaction
from sapwood.actors.session_log.run_log import Pen
from sapwood.actors.summaries.contract import LABELS
from sapwood.actors.summaries.file_lists import PathArguments
from sapwood.actors.summaries.flatten import flatten
from sapwood.actors.summaries.prompts import words_for
from sapwood.actors.summaries.steps import GaveUp, Job, Written
from sapwood.actors.summarizing import Errand, Summarizer, record
from sapwood.events.entries import Entry, UsageEntry
from sapwood.events.errors import NavigationFailed, RedactionFailed
from sapwood.events.errors import shown as in_words
from sapwood.events.hooks import Cancel, SessionBeforeTree, TreeAnswer, TreePreparation
from sapwood.events.ids import EntryId
from sapwood.events.messages import NO_USAGE, Message, Usage
from sapwood.events.models import Model
from sapwood.events.requests import NavigateTo
from sapwood.events.runtime import Diagnostic, Event, UsageReported

OMP_OUTPUT: Final = 2_048
"""Tokens that omp's manner asks for: a summary is short. One that needs more is asked for once more without (N4)."""
UNKNOWN: Final = "unknown"
"""Who was billed, where nobody says."""
FAILED: Final = f"{LABELS['branch']} failed"
AT_A_TIME: Final = 256
"""Entries that are read before others have their turn: some milliseconds."""


@attrs.frozen(kw_only=True)
class Wishes:
    """What is wanted of a move, once extensions were heard."""

    draft: Draft | None = None
    """A summary that an extension gave."""
    instructions: str | None
    replace_instructions: bool
    label: str | None
    usage: Usage | None = None
    """What an extension was billed for its part, whatever becomes of it."""


@attrs.define
class Bill:
    """What the calls of one move were billed until now."""

    usage: Usage | None = None


@attrs.frozen(kw_only=True)
class Author:
    """Whom a summary is got from, and what with."""

    questions: Questions
    summarizer: Summarizer
    counts: Counts
    run_apart: RunSync
    """Where long texts are read; who is stopped does not wait for it."""
    redaction: Redaction
    settings: BranchSummarySettings
    retry: RetryPolicy
    providers: Container[str]
    summary_model: Model | None
    """None: the session's."""
    paths: Callable[[], PathArguments]
    """Which arguments of which tool are paths."""
    pen: Pen
    publish: Callable[[Event], int]

    def model_for(self, asked: NavigateTo) -> Model | None:
        """Who would write the summary; None if there is nobody."""
        model = asked.model if self.summary_model is None else self.summary_model
        return model if model is not None and model.provider in self.providers else None

    async def wishes(self, asked: NavigateTo, way: Route, telling: Telling) -> Wishes:
        """What is wanted, as extensions change it. Raises `NavigationFailed` if one of them has it not happen."""
        wanted = Wishes(
            instructions=asked.instructions, replace_instructions=asked.replace_instructions, label=asked.label
        )
        if not (asked.ask_extensions and self.questions.has(SessionBeforeTree)):
            return wanted
        answer = await self.questions.ask(self._question(asked, way))
        match answer:
            case Cancel(reason=reason, by=by):
                telling.from_extension = True
                because = f": {reason}" if reason else ""
                raise NavigationFailed(f"the extension {by!r} cancelled the navigation{because}", aborted=True)
            case TreeAnswer():
                draft = self._offered(answer, asked)
                telling.from_extension = draft is not None
                return _changed(wanted, answer, draft)
            case None:
                return wanted
            case _:
                assert_never(answer)

    def _question(self, asked: NavigateTo, way: Route) -> SessionBeforeTree:
        tree = self.pen.view.tree
        return SessionBeforeTree(
            preparation=TreePreparation(
                target_id=asked.target,
                old_leaf_id=way.leaf,
                common_ancestor_id=None if way.left.common is None else tree.id(way.left.common),
                entry_ids_to_summarize=tuple(map(tree.id, way.left.entries)),
                user_wants_summary=asked.summarize,
                custom_instructions=asked.instructions,
                replace_instructions=asked.replace_instructions,
                label=asked.label,
            )
        )

    def _offered(self, answer: TreeAnswer, asked: NavigateTo) -> Draft | None:
        """The summary of an extension, if it can be used."""
        if answer.summary is None:
            return None
        why = unfit_text(answer.summary) if asked.summarize else "nobody asked for a summary"
        if why is None:
            return Draft(text=answer.summary, details=answer.details, usage=answer.usage, from_hook=True)
        self.publish(
            Diagnostic(code="summary_refused", message=f"the summary that an extension gave is not used: {why}")
        )
        return None

    async def draft(
        self, asked: NavigateTo, way: Route, wishes: Wishes, thinking_level: str, bill: Bill
    ) -> Draft | None:
        """By a model; None where there is nothing to sum up. Raises `NavigationFailed`; what was billed until then is in `bill`."""
        model = self.model_for(asked)
        if model is None:
            raise AssertionError("that there is a model was seen to")
        entries = await self._left(way)
        veil = await self._veil(entries)
        answered = asked.target if way.answered is not None else None
        made_of = await self._prepared(entries, model, veil, answered)
        if not made_of.messages:
            return None
        texts = tuple(flatten(await self._converted(made_of.messages)))
        tokens = await self.run_apart(lambda: tuple(map(self.counts.of_text, texts)))
        ended = await self._billing(bill).write(
            self._job(wishes, model, texts, tokens), self._errand(asked, model, thinking_level)
        )
        match ended:
            case GaveUp(reason=reason):
                raise NavigationFailed(reason)
            case Written():
                manner = self.settings.manner
                meant = shown(made_of, veil)
                text, details = await self.run_apart(lambda: finish(ended, meant, [*map(veil.show, texts)], manner))
                return Draft(text=text, details={**details, "model": model.key}, usage=added(wishes.usage, ended.usage))
            case _:
                assert_never(ended)

    async def _left(self, way: Route) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        for place in way.left.entries:
            if len(entries) % AT_A_TIME == 0:
                await trio.lowlevel.checkpoint()
            entries.append(self.pen.view.entry(place))
        return tuple(entries)

    async def _veil(self, entries: tuple[Entry, ...]) -> Veil:
        try:
            return await self.redaction.veil([message for entry in entries for message in messages_of(entry)])
        except RedactionFailed as why:
            raise NavigationFailed(f"{FAILED}: {why}") from why

    async def _prepared(
        self, entries: tuple[Entry, ...], model: Model, veil: Veil, answered: EntryId | None
    ) -> Prepared:
        settings, paths = self.settings, self.paths()
        room = budget(model, settings)
        return await self.run_apart(
            lambda: prepared(
                entries, room, self.counts.of_message, manner=settings.manner, paths=paths, veil=veil, answered=answered
            )
        )

    async def _converted(self, messages: Sequence[Message]) -> Sequence[Message]:
        """As the host would have them told."""
        convert = self.settings.convert
        if convert is None:
            return messages
        try:
            given = tuple(await self.run_apart(lambda: convert(messages)))
            strange = next((one for one in given if not isinstance(one, get_args(Message))), None)
        except Exception as fault:
            raise NavigationFailed(f"{FAILED}: the host's converter of messages failed: {words_of(fault)}") from fault
        if strange is not None:
            raise NavigationFailed(f"{FAILED}: the host's converter gave what is no message: {in_words(strange)}")
        return given

    def _job(self, wishes: Wishes, model: Model, texts: tuple[str, ...], tokens: tuple[int, ...]) -> Job:
        asked_for = wishes.instructions
        replaces = wishes.replace_instructions or self.settings.manner == "omp"
        branch = budget(model, self.settings)
        return Job(
            kind="branch",
            texts=texts,
            tokens=tokens,
            # half of what is reserved is for the words around the branch, the other half for the answer
            room=branch + (model.window - branch) // 2,
            count=self.counts.of_text,
            words=words_for("branch", self.settings.manner),
            focus=None if replaces else asked_for,
            instructions=asked_for if replaces else None,
            retry=self.retry,
        )

    def _errand(self, asked: NavigateTo, model: Model, thinking_level: str) -> Errand:
        return Errand(
            name=f"{asked.key}/branch",
            purpose="branch_summary",
            model=model,
            thinking_level=thinking_level,
            source="branchSummary",
            metadata=self.settings.metadata,
            max_output=OMP_OUTPUT if self.settings.manner == "omp" else None,
        )

    def _billing(self, bill: Bill) -> Summarizer:
        """The summarizer, noting what its calls are billed as that is told."""

        def publish(event: Event) -> int:
            if isinstance(event, UsageReported):
                bill.usage = added(bill.usage, event.usage)
            return self.publish(event)

        return attrs.evolve(self.summarizer, publish=publish)

    def unsummed(self, asked: NavigateTo, bill: Bill, why: str) -> tuple[UsageEntry, ...]:
        """The entry of what was billed and no summary carries; none of it where nothing was."""
        if bill.usage is None or bill.usage == NO_USAGE:
            return ()
        model = self.model_for(asked) or asked.model  # None: an extension knew somebody else to ask
        entry = UsageEntry(
            id=self.pen.new_id(),
            parent_id=None,
            timestamp=self.pen.environment.timestamp(),
            kind="branch_summary",
            provider=UNKNOWN if model is None else model.provider,
            model=UNKNOWN if model is None else model.id,
            usage=bill.usage,
            note=f"no summary came of it: {why}",
        )
        return (entry,)

    async def settle(self, asked: NavigateTo, bill: Bill, why: BaseException) -> None:
        """What was paid for a move that came to nothing is in the totals all the same (T6). It moves nothing: it is bookkeeping."""
        for paid in self.unsummed(asked, bill, _in_words(why)):
            await record(self.pen, paid)


def _changed(wanted: Wishes, answer: TreeAnswer, draft: Draft | None) -> Wishes:
    """What an extension says stands over what a person asked for, field by field."""
    replaces = answer.replace_instructions
    return Wishes(
        draft=draft,
        instructions=wanted.instructions if answer.instructions is None else answer.instructions,
        replace_instructions=wanted.replace_instructions if replaces is None else replaces,
        label=wanted.label if answer.label is None else answer.label,
        usage=answer.usage,
    )


def _in_words(why: BaseException) -> str:
    return "it was stopped" if isinstance(why, trio.Cancelled) else str(why)
