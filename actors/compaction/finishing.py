"""What a compaction's summary is made of, and what is made of the summary (C6, C8, C11, C12). No I/O: long texts, for a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from sapwood.actors.compaction.plan import Plan
from sapwood.actors.outgoing.texts import hidden
from sapwood.actors.outgoing.veil import NOTHING, Veil
from sapwood.actors.projection.counter import IMAGE_TOKENS
from sapwood.actors.projection.parts import parts_of
from sapwood.actors.summaries.contract import Kind
from sapwood.actors.summaries.fidelity import completed, fidelity, last_errors
from sapwood.actors.summaries.file_lists import Files, listed, unlisted
from sapwood.actors.summaries.flatten import flatten
from sapwood.actors.summaries.split_turn import merged
from sapwood.actors.summaries.steps import Written
from sapwood.events.base import Json
from sapwood.events.content import ImageContent
from sapwood.events.messages import Message

Stretch = tuple[tuple[str, ...], tuple[int, ...]]
"""Texts, oldest first, and the tokens of each."""
Count = Callable[[str], int]


@attrs.frozen(kw_only=True)
class Material:
    """What is summarised, as text."""

    stretches: Mapping[Kind, Stretch]
    """By the job that reads it; a job without anything to read is not done."""
    previous: str | None
    """The summary that goes along, without its lists: they are made anew."""
    tokens: int
    """Of all of it."""


@attrs.frozen(kw_only=True)
class Finished:
    """A summary as it is stored."""

    text: str
    details: dict[str, Json]
    tokens: int


def material_of(planned: Plan, count: Count, veil: Veil = NOTHING) -> Material:
    """The stretches of a plan as text, counted. What is secret is hidden before anything is cut: half of it would be known to nobody."""
    stretches: dict[Kind, Stretch] = {
        "compaction": _counted(planned.history, count, veil),
        "turn_prefix": _counted(planned.turn_prefix, count, veil),
    }
    previous = None if planned.previous is None else veil.hide(unlisted(planned.previous.summary))
    tokens = sum(sum(tokens) for _, tokens in stretches.values()) + (0 if previous is None else count(previous))
    return Material(
        stretches={kind: stretch for kind, stretch in stretches.items() if stretch[0]},
        previous=previous,
        tokens=tokens,
    )


def shown(material: Material, veil: Veil) -> Material:
    """The material as it is meant."""
    if not veil.secrets:
        return material
    previous = material.previous
    return attrs.evolve(
        material,
        stretches={kind: (tuple(map(veil.show, texts)), n) for kind, (texts, n) in material.stretches.items()},
        previous=None if previous is None else veil.show(previous),
    )


def finish(written: Mapping[Kind, Written], planned: Plan, material: Material, files: Files, count: Count) -> Finished:
    """The parts of a summary as one, with what can be counted put right."""
    history = written["compaction"].text if "compaction" in written else material.previous
    text = history or ""
    if "turn_prefix" in written:
        text = merged(history, written["turn_prefix"].text, planned.request)
    sources = [text for texts, _ in material.stretches.values() for text in texts]
    kept_to = fidelity(text, sources if material.previous is None else [*sources, material.previous])
    text = completed(text, last_errors((*planned.history, *planned.turn_prefix)))
    text = listed(text, files)
    details: dict[str, Json] = {
        **files.details,
        "fidelity": {"score": round(kept_to.score, 3), "madeUp": list(kept_to.made_up)},
    }
    lacking = [heading for one in written.values() for heading in one.lacking]
    if lacking:
        details["lacking"] = lacking
    return Finished(text=text, details=details, tokens=count(text))


def freed(planned: Plan, count: Count) -> int:
    """Tokens that leave the context with what is summarised: a request for a summary shows less of a large result than the model saw."""
    messages = (*planned.history, *planned.turn_prefix)
    parts = [part for message in messages for part in parts_of(message)]
    before = 0 if planned.previous is None else count(planned.previous.summary)
    return before + sum(IMAGE_TOKENS if isinstance(part, ImageContent) else count(part) for part in parts)


def _counted(messages: tuple[Message, ...], count: Count, veil: Veil) -> Stretch:
    texts = tuple(flatten(hidden(messages, veil)))
    return texts, tuple(map(count, texts))
