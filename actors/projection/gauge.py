"""What a growing selection comes to, at the price of what is new in it (P10). No I/O.

1. The sums of what was counted are kept; a change takes away those from its place on.
2. Where the last usage stands that a provider reported is kept as well, and the sums of what came behind it: nobody looks for it from the
   end, and what is before it need not be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sapwood.actors.projection.tokens import Report, believable
from sapwood.events.context import SelectedEntry
from sapwood.events.entries import MessageEntry
from sapwood.events.messages import FAILED, AssistantMessage, Usage

Tokens = Callable[[SelectedEntry], Sequence[int]]
"""Of each message of an entry."""


class Gauge:
    """Of one selection; it is told of each entry that comes into it, and of each that changes."""

    def __init__(self) -> None:
        self._sums = [0]
        """Tokens of the first n entries, as far as they were asked for."""
        self.said = 0
        """Messages of all entries."""
        self.reporting: int | None = None
        """The last entry with a usage that can be believed."""
        self._following = 0
        """Messages of the entries behind that one."""
        self._behind = [0]
        """Tokens of the first n entries behind it, as far as they were asked for."""

    @property
    def counted(self) -> int:
        """How many entries, from the first on, are in the sums."""
        return len(self._sums) - 1

    def came(self, selected: Sequence[SelectedEntry]) -> None:
        """The last entry of the selection is new."""
        said = len(selected[-1].messages)
        self.said += said
        self._following += said
        if _reports(selected[-1]):
            self.reporting, self._following, self._behind = len(selected) - 1, 0, [0]

    def changed(self, selected: Sequence[SelectedEntry], at: int, before: SelectedEntry) -> None:
        """The entry here was another one before."""
        more = len(selected[at].messages) - len(before.messages)
        self.said += more
        del self._sums[at + 1 :]
        reporting = -1 if self.reporting is None else self.reporting
        if at >= reporting and _reports(selected[at]):
            self._report_from(at, selected)
        elif at == reporting:
            self._report_from(
                next((place for place in range(at - 1, -1, -1) if _reports(selected[place])), None), selected
            )
        elif at > reporting:  # edits may be many, and none of them is a reason to look at all the others
            self._following += more
            del self._behind[at - reporting :]

    def _report_from(self, at: int | None, selected: Sequence[SelectedEntry]) -> None:
        self.reporting = at
        behind = [] if at is None else selected[at + 1 :]
        self._following, self._behind = sum(len(one.messages) for one in behind), [0]

    def report(self, selected: Sequence[SelectedEntry]) -> Report | None:
        """The last usage that can be believed."""
        if self.reporting is None:
            return None
        one = selected[self.reporting]
        late, usage = _late(one)
        asked = next((selected[at].place for at in range(self.reporting - 1, -1, -1) if _was_sent(selected[at])), -1)
        return Report(place=one.place, asked=asked, usage=usage, following=self._following + late)

    def total(self, selected: Sequence[SelectedEntry], tokens: Tokens) -> int:
        """Tokens of all of it."""
        for at in range(self.counted, len(selected)):
            self._sums.append(self._sums[-1] + sum(tokens(selected[at])))
        return self._sums[-1]

    def behind(self, selected: Sequence[SelectedEntry], tokens: Tokens) -> int:
        """Tokens of what follows the report, which is there."""
        own, others = self._split(selected)
        for one in others:
            self._behind.append(self._behind[-1] + sum(tokens(one)))
        late, _ = _late(own)
        return self._behind[-1] + sum(tokens(own)[-late:] if late else ())

    def uncounted_behind(self, selected: Sequence[SelectedEntry]) -> Sequence[SelectedEntry]:
        """What has to be counted for that, but for what is in its sums."""
        own, others = self._split(selected)
        return [own, *others] if _late(own)[0] else others

    def _split(self, selected: Sequence[SelectedEntry]) -> tuple[SelectedEntry, Sequence[SelectedEntry]]:
        if self.reporting is None:
            raise ValueError("nothing is reported: all of it is counted")
        return selected[self.reporting], selected[self.reporting + len(self._behind) :]


def _reports(one: SelectedEntry) -> bool:
    return any(map(believable, one.messages))


def _was_sent(one: SelectedEntry) -> bool:
    """Whether it was in a request, or had been if an edit had not hidden it: what failed never was."""
    match one.entry:
        case MessageEntry(message=AssistantMessage(stop_reason=reason)):
            return reason not in FAILED
        case _:
            return bool(one.messages) or one.edit is not None


def _late(one: SelectedEntry) -> tuple[int, Usage]:
    """How many messages of an entry are behind the one that reports, and what that does."""
    return next((late, usage) for late, message in enumerate(reversed(one.messages)) if (usage := believable(message)))
