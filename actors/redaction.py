"""Asks a host's redactor what is secret (E6): the shell of `outgoing.veil`, one a session.

What was found stays known while the session is open, so a text is looked through once, and a turn costs what it adds (P10). After a
restart all of it is found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from sapwood.actors.environment import RunSync
from sapwood.actors.foreign import words_of
from sapwood.actors.outgoing.texts import has_images, in_common, with_texts
from sapwood.actors.outgoing.veil import NOTHING, Redactor, Veil
from sapwood.events.base import Json
from sapwood.events.content import mended
from sapwood.events.errors import RedactionFailed
from sapwood.events.messages import Message

WHOSE: Final = "the host's"


class Redaction:
    """See the module. Without a redactor nothing is secret, and nothing is looked through."""

    def __init__(
        self, redactor: Redactor | None, run_apart: RunSync, report: Callable[[str, BaseException], None]
    ) -> None:
        """`report` is told of each fault in the redactor's code."""
        self._redactor = redactor
        self._run_apart = run_apart
        self._report = report
        self._veil = NOTHING
        self._looked: set[str] = set()
        """Texts that were looked through: those of the log, which are kept anyway."""
        self._last: Sequence[Message] = ()
        self.saw_images = False
        """Whether images were among what a redactor was to look through: it sees texts alone."""

    async def veil(self, messages: Sequence[Message], more: Json = None, *, once: bool = False) -> Veil:
        """What is known to be secret, once these were looked through. `RedactionFailed` where the redactor is of no use.

        `once`: they are no messages of the log, and do not come again.
        """
        redactor = self._redactor
        if redactor is None:
            return NOTHING
        known, added = self._veil, messages[in_common(self._last, messages) :]
        self.saw_images = self.saw_images or has_images(added)
        texts = [text for text in _texts_of(added, more) if text not in self._looked]
        if not texts:
            return known
        try:
            found: Mapping[str, str] = await self._run_apart(lambda: known.found(redactor, texts))
        except RedactionFailed:
            raise
        except Exception as fault:
            self._report(WHOSE, fault)
            raise RedactionFailed(f"the redactor failed: {words_of(fault)}") from fault
        self._veil = self._veil.knowing(found)  # as it is now: another request may have been looked through meanwhile
        if not once:
            self._looked.update(texts)
            self._last = messages
        return self._veil

    async def bare(self, given: Json, there: Json) -> tuple[Json, Veil]:
        """What somebody made of `there`, as it may go out, and what is known to be secret then. `there` may go out, and its texts stay as
        they are. `RedactionFailed` as above.
        """
        if self._redactor is None:
            return given, NOTHING
        known = set(_texts_of((), there))
        veil = await self.veil((), [text for text in _texts_of((), given) if text not in known], once=True)
        return mended(given, lambda text: text if text in known else veil.hide(text)), veil


def _texts_of(messages: Iterable[Message], more: Json) -> list[str]:
    """Each text once, in their order."""
    texts: dict[str, None] = {}

    def see(text: str) -> str:
        texts[text] = None
        return text

    for message in messages:
        with_texts(message, see)
    mended(more, see)
    return [text for text in texts if text]
