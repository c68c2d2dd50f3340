"""A section of the system prompt, as somebody asks for it: text, or a function that gives it (P6). No I/O, no awaits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

import attrs

from sapwood.actors.session_log.capping import MOST_BYTES, too_long
from sapwood.actors.session_log.hygiene import uncontrolled
from sapwood.events.content import without_surrogates
from sapwood.events.errors import Refused
from sapwood.events.ids import SessionId
from sapwood.events.models import Model


@attrs.frozen(kw_only=True)
class SectionContext:
    """What a section function is told."""

    session_id: SessionId
    cwd: str
    """The working folder that the session notes."""
    model: Model
    """What is about to be asked."""


Section = str | Callable[[SectionContext], str | Awaitable[str | None] | None]
"""Text, or a plain or an async function that gives it: None for no section. A plain one is to be quick, for the loop waits for it."""


@attrs.frozen
class Unanswered:
    """A section function that failed, and how, in words."""

    why: str


Given = str | Unanswered | None
"""What a section came to: its text, None for no section, or that nobody knows."""


def accepted(answer: object) -> Given:
    """What a section function gave, made fit to be kept (S12): text, or why it is none."""
    if answer is None:
        return None
    if not isinstance(answer, str):
        return Unanswered(without_surrogates(f"it gave {answer!r:.80}, which is neither text nor None"))
    answer = str.__add__("", answer)  # what a host derives from str is taken as the text that it is
    size = too_long(answer)
    if size is not None:
        return Unanswered(f"a section has at most {MOST_BYTES:,} bytes, and this one has {size:,}")
    return uncontrolled(answer)


def check_section(name: str, asked: object) -> Section:
    """A section's own text is checked like that of a function: it can be kept, or it is refused before anything is opened."""
    if isinstance(asked, str):
        answer = accepted(asked)
        if isinstance(answer, Unanswered):
            raise Refused("bad-input", f"the system prompt section {name!r} cannot be kept: {answer.why}")
        return asked
    if not callable(asked):
        raise Refused("bad-input", f"the system prompt section {name!r} is text or a function, not {asked!r:.80}")
    return cast("Section", asked)
