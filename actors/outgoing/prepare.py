"""The one way out: leave out, put into words, pair, keep within limits. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sapwood.actors.outgoing.limits import Limited, Within
from sapwood.actors.outgoing.pairing import Pairing, Repair
from sapwood.actors.outgoing.rendering import OutgoingMessage, render
from sapwood.actors.outgoing.sending import Verdicts
from sapwood.events.messages import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from sapwood.events.models import Limits


@attrs.frozen
class Outgoing:
    """What goes out, oldest first, each repair that its pairing took, and each limit that bit."""

    messages: tuple[OutgoingMessage, ...]
    repairs: tuple[Repair, ...]
    limited: tuple[Limited, ...] = ()


def prepare(messages: Sequence[Message], *, provider: str, model: str, limits: Limits | None = None) -> Outgoing:
    """A selection as it goes to this model. Never raises for what a log holds."""
    return Outbox().prepare(messages, provider=provider, model=model, limits=limits)


class Outbox:
    """Prepares one selection after the other, as `prepare` does. What begins as the one before it costs what it adds (P10)."""

    def __init__(self) -> None:
        self._last: _WayOut | None = None

    def prepare(
        self, messages: Sequence[Message], *, provider: str, model: str, limits: Limits | None = None
    ) -> Outgoing:
        """A selection as it goes to this model."""
        selected = tuple(messages)
        way, self._last = self._last, None  # where it breaks in the middle, nothing of it is used again
        if way is None or way.kind != (provider, model, limits) or not way.takes(selected):
            way = _WayOut(provider, model, limits)
        while (outgoing := way.add(selected)) is None:  # a new one takes whatever comes
            way = _WayOut(provider, model, limits)
        self._last = way
        return outgoing


class _WayOut:
    """What one selection has become, and all that the next messages depend on."""

    def __init__(self, provider: str, model: str, limits: Limits | None) -> None:
        self.kind = provider, model, limits
        self._selected: tuple[Message, ...] = ()
        self._sent: tuple[OutgoingMessage, ...] = ()
        self._repairs: tuple[Repair, ...] = ()
        self._verdicts = Verdicts()
        self._pairing = Pairing()
        self._within = Within(limits or Limits())

    def takes(self, selected: tuple[Message, ...]) -> bool:
        """Whether a selection is this one and more behind it, of which nothing changes what was sent of this one."""
        known = len(self._selected)
        return selected[:known] == self._selected and not any(
            isinstance(message, ToolResultMessage) and message.tool_call_id in self._pairing.awaited
            for message in selected[known:]
        )

    def add(self, selected: tuple[Message, ...]) -> Outgoing | None:
        """A selection that it takes. None where images that went out until now have to go: it is of no use any more."""
        provider, model, _ = self.kind
        added = selected[len(self._selected) :]
        sent = [message for message, why in zip(added, self._verdicts.of(added), strict=True) if why is None]
        paired, repairs = self._pairing.add([render(message, provider=provider, model=model) for message in sent])
        rendered = tuple(
            message
            for message in paired
            if isinstance(message, SystemMessage | UserMessage | AssistantMessage | ToolResultMessage)
        )
        kept = self._within.add(rendered)
        if kept is None:
            return None
        self._selected = selected
        self._sent += tuple(kept)
        self._repairs += repairs
        return Outgoing(self._sent, self._repairs, self._within.told())
