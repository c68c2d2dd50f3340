"""How a compaction's summary comes about: an extension gives it, or a model writes it in one or two jobs (C6, C8 to C12, C18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, Literal, assert_never

import attrs
import trio

from sapwood.actors.asking import Questions
from sapwood.actors.billing import added
from sapwood.actors.compaction.finishing import finish, freed, material_of, shown
from sapwood.actors.compaction.offered import misfit
from sapwood.actors.compaction.plan import TOO_SMALL, Plan
from sapwood.actors.compaction.telling import Telling
from sapwood.actors.compaction.threshold import Budget, CompactionSettings
from sapwood.actors.environment import RunSync
from sapwood.actors.model.retry import RetryPolicy
from sapwood.actors.outgoing.veil import Veil
from sapwood.actors.projection.counts import Counts
from sapwood.actors.redaction import Redaction
from sapwood.actors.session_log.run_log import Pen
from sapwood.actors.summaries.contract import LABELS, Kind
from sapwood.actors.summaries.file_lists import Files, PathArguments, files_of_entries
from sapwood.actors.summaries.prompts import words_for
from sapwood.actors.summaries.steps import GaveUp, Job, Written
from sapwood.actors.summarizing import Errand, Summarizer, record
from sapwood.events.base import Json
from sapwood.events.context import Surveyed
from sapwood.events.entries import UsageEntry
from sapwood.events.errors import CompactionFailed, RedactionFailed, Refused
from sapwood.events.hooks import Cancel, CompactionPreparation, ProvideSummary, SessionBeforeCompact
from sapwood.events.ids import EntryId
from sapwood.events.messages import NO_USAGE, Usage
from sapwood.events.models import Model
from sapwood.events.requests import CompactNow
from sapwood.events.runtime import Diagnostic, Event, Purpose

PURPOSES: Final[Mapping[Kind, Purpose]] = {"compaction": "compaction", "turn_prefix": "turn_prefix"}
"""What each job's calls are billed as."""


@attrs.frozen(kw_only=True)
class Draft:
    """What is to stand in the entry."""

    text: str
    usage: Usage | None
    details: Json
    model: Model | None = None
    """Whom it is billed to if no entry comes of it: who wrote it, or whose part an extension took."""
    from_hook: bool = False
    first_kept: EntryId | Literal["nothing"] | None = None
    """Where an extension has it begin; None: where the plan has it."""


@attrs.frozen(kw_only=True)
class Author:
    """Whom a summary is got from, and what with."""

    questions: Questions
    summarizer: Summarizer
    counts: Counts
    run_apart: RunSync
    """Where long texts are read; who is stopped does not wait for it."""
    redaction: Redaction
    settings: CompactionSettings
    retry: RetryPolicy
    summary_model: Model | None
    """None: the session's."""
    paths: Callable[[], PathArguments]
    """Which arguments of which tool are paths."""
    pen: Pen
    publish: Callable[[Event], int]

    async def draft(
        self, asked: CompactNow, planned: Plan, surveyed: Surveyed, budget: Budget, telling: Telling
    ) -> Draft:
        """The summary. Raises `CompactionFailed`: what was billed until then is in the log."""
        files = files_of_entries((one.entry for one in planned.summarised), self.paths())
        billed: list[Usage] = []
        if asked.ask_extensions and self.questions.has(SessionBeforeCompact):
            question = _question(asked, planned, budget, files, self._branch())
            given = await self._given(question, planned, surveyed, telling, billed.append)
            if given is not None:
                telling.from_extension = True
                return Draft(
                    text=given.text,
                    usage=given.usage,
                    details=given.details,
                    model=self._model_for(asked),
                    from_hook=True,
                    first_kept=given.first_kept,
                )
        return await self._written(asked, planned, files, billed)

    def _model_for(self, asked: CompactNow) -> Model:
        return asked.model if self.summary_model is None else self.summary_model

    def _branch(self) -> tuple[EntryId, ...]:
        tree = self.pen.view.tree
        return tuple(tree.id(index) for index in tree.path(tree.leaf))

    async def _given(
        self,
        question: SessionBeforeCompact,
        planned: Plan,
        surveyed: Surveyed,
        telling: Telling,
        bill: Callable[[Usage], None],
    ) -> ProvideSummary | None:
        """What extensions say: the summary, that it shall not be (`CompactionFailed`), or nothing of use, which `bill` is told of."""
        answer = await self.questions.ask(question)
        match answer:
            case Cancel(reason=reason, by=by):
                telling.from_extension = True
                because = f": {reason}" if reason else ""
                raise CompactionFailed(f"the extension {by!r} cancelled the compaction{because}", aborted=True)
            case ProvideSummary():
                why = misfit(answer, surveyed)
                if why is None and question.reason != "manual":
                    why = await self._too_large(answer, planned)
                if why is None:
                    return answer
                if answer.usage is not None:
                    bill(answer.usage)
                told = f"the summary that an extension gave cannot be used: {why}. A model writes it"
                self.publish(Diagnostic(code="summary_refused", message=told))
                return None
            case None:
                return None
            case _:
                assert_never(answer)

    async def _too_large(self, given: ProvideSummary, planned: Plan) -> str | None:
        """Why a summary frees nothing, as of one that a model wrote (C17)."""
        tokens = await self.run_apart(lambda: self.counts.of_text(given.text))
        stood = await self.run_apart(lambda: freed(planned, self.counts.of_text))
        return None if tokens < stood else f"it is no smaller than what it stands for: {tokens} tokens of {stood}"

    async def _written(self, asked: CompactNow, planned: Plan, files: Files, billed: list[Usage]) -> Draft:
        """By a model; what was billed until it failed, or was stopped, is in the log. `billed`: what was before it is asked."""
        model = self._model_for(asked)
        try:
            return await self._summed_up(asked, planned, files, model, billed)
        except BaseException as why:
            await self.bill(
                reduce(added, billed, None), model, str(why) if isinstance(why, Exception) else "it was stopped"
            )
            raise

    async def _summed_up(
        self, asked: CompactNow, planned: Plan, files: Files, model: Model, billed: list[Usage]
    ) -> Draft:
        """One job, or two side by side for a turn that is split (C6)."""
        veil = await self._veil(planned)
        material = await self.run_apart(lambda: material_of(planned, self.counts.of_text, veil))
        if not material.stretches and material.previous is None:
            raise Refused("nothing-to-do", TOO_SMALL)  # what no model was ever sent
        jobs = {
            kind: Job(
                kind=kind,
                texts=texts,
                tokens=tokens,
                previous=material.previous if kind == "compaction" else None,
                focus=asked.instructions,
                room=self.settings.of(model).threshold,
                count=self.counts.of_text,
                words=words_for(kind),
                retry=self.retry,
            )
            for kind, (texts, tokens) in material.stretches.items()
        }
        errands = {
            kind: Errand(
                name=f"{asked.key}/{kind}",
                purpose=PURPOSES[kind],
                model=model,
                thinking_level=planned.thinking_level,
                source="compaction",
                reason=asked.reason,
                bill=billed.append,
            )
            for kind in jobs
        }
        ended = await self._side_by_side(jobs, errands)
        gave_up = next((one for one in ended.values() if isinstance(one, GaveUp)), None)
        if gave_up is not None:
            raise CompactionFailed(gave_up.reason)
        written = {kind: one for kind, one in ended.items() if isinstance(one, Written)}
        finished = await self.run_apart(
            lambda: finish(written, planned, shown(material, veil), files, self.counts.of_text)
        )
        stood = material.tokens
        if asked.reason != "manual" and finished.tokens >= stood:  # what was shown is the least that it stands for
            stood = await self.run_apart(lambda: freed(planned, self.counts.of_text))
        if asked.reason != "manual" and finished.tokens >= stood:
            raise CompactionFailed(
                f"the summary is no smaller than what it stands for: {finished.tokens} tokens of {stood}"
            )
        details = {**finished.details, "model": model.key}  # the entry has no place of its own for it (T6)
        return Draft(text=finished.text, usage=reduce(added, billed, None), details=details, model=model)

    async def _veil(self, planned: Plan) -> Veil:
        said = [message for one in planned.summarised for message in one.messages]
        try:
            return await self.redaction.veil(said)
        except RedactionFailed as why:
            raise CompactionFailed(f"{LABELS['compaction']} failed: {why}") from why

    async def _side_by_side(
        self, jobs: Mapping[Kind, Job], errands: Mapping[Kind, Errand]
    ) -> dict[Kind, Written | GaveUp]:
        """All of them; once one has given up the others are stopped: there will be no entry."""
        ended: dict[Kind, Written | GaveUp] = {}

        async def one(kind: Kind) -> None:
            ended[kind] = await self.summarizer.write(jobs[kind], errands[kind])
            if isinstance(ended[kind], GaveUp):
                nursery.cancel_scope.cancel(reason="the other half of the summary failed")

        async with trio.open_nursery() as nursery:
            for kind in jobs:
                nursery.start_soon(one, kind)
                await (
                    trio.lowlevel.checkpoint()
                )  # it has asked by then: they ask in one order, which a recording can repeat
        return ended

    async def bill(self, usage: Usage | None, model: Model, why: str) -> None:
        """What was paid for nothing is in the totals all the same (T6)."""
        if usage is None or usage == NO_USAGE:
            return
        pen = self.pen
        entry = UsageEntry(
            id=pen.new_id(),
            parent_id=None,
            timestamp=pen.environment.timestamp(),
            kind="compaction",
            provider=model.provider,
            model=model.id,
            usage=usage,
            note=f"no compaction came of it: {why}",
        )
        await record(pen, entry)


def _question(
    asked: CompactNow, planned: Plan, budget: Budget, files: Files, branch: tuple[EntryId, ...]
) -> SessionBeforeCompact:
    preparation = CompactionPreparation(
        messages_to_summarize=planned.history,
        turn_prefix_messages=planned.turn_prefix,
        is_split_turn=planned.is_split,
        previous_summary=None if planned.previous is None else planned.previous.summary,
        read_files=files.read,
        modified_files=files.modified,
        tokens_before=planned.tokens_before,
        first_kept_entry_id=planned.first_kept,
        settings={
            "enabled": budget.enabled,
            "reserveTokens": budget.reserve_tokens,
            "keepRecentTokens": budget.keep_recent_tokens,
        },
    )
    return SessionBeforeCompact(
        preparation=preparation,
        branch_entry_ids=branch,
        custom_instructions=asked.instructions,
        reason=asked.reason,
        will_retry=asked.will_retry,
    )
