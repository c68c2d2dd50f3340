"""The one way out: leave out, put into words, pair, keep within limits. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sapwood.actors.outgoing.limits import Limited, keep_within
from sapwood.actors.outgoing.pairing import Repair, pair
from sapwood.actors.outgoing.rendering import OutgoingMessage, render
from sapwood.actors.outgoing.sending import unsent
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
    sent = [message for message, why in zip(messages, unsent(messages), strict=True) if why is None]
    rendered = [render(message, provider=provider, model=model) for message in sent]
    paired, repairs = pair(rendered)
    whole = [
        message
        for message in paired
        if isinstance(message, SystemMessage | UserMessage | AssistantMessage | ToolResultMessage)
    ]
    outgoing, limited = (whole, ()) if limits is None else keep_within(whole, limits)
    return Outgoing(tuple(outgoing), repairs, limited)
