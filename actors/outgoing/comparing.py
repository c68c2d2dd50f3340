"""What providers reported of requests, beside what our counter counts of them: how far it can be trusted, model by model (T4). No I/O.

1. A fold of the whole log, each answer once: the request of an answer is what its path selects above it, without what does not go out.
2. It counts only when it is asked, and then what came since the last time: no turn pays for it, and no trigger looks at it.
3. Left out are answers that report nothing that can be (T3), and those whose request extensions had changed: the log does not have it.
"""

from __future__ import annotations

from sapwood.actors.outgoing.sending import Verdicts
from sapwood.actors.projection.counts import Counts
from sapwood.actors.projection.tokens import believable, is_of_another_request
from sapwood.actors.projection.walking import Walk
from sapwood.actors.readable import Readable
from sapwood.events.context import SelectedEntry
from sapwood.events.entries import Compaction, ContextEdit, Entry, MessageEntry
from sapwood.events.messages import AssistantMessage, Usage, is_amount
from sapwood.events.stats import Compared, CounterCheck

_NONE = Compared()


class Comparison:
    """Reports and counts of a growing log, kept up to date by pulling."""

    def __init__(self, log: Readable, counts: Counts) -> None:
        self._log = log
        self._counts = counts
        self._begin()

    def _begin(self) -> None:
        self._rehung = self._log.tree.rehung
        self._seen = 0
        self._by_model: dict[str, Compared] = {}
        self._forget()

    def _forget(self) -> None:
        self._walk = Walk(self._log, self._counts)
        self._verdicts = Verdicts()
        self._sent = 0
        """Tokens of what goes out of the selection where the walk stands."""

    def counting(self) -> CounterCheck:
        """The sums as the log stands now. Raises what the log does when it cannot be read; whoever asks again goes on from there."""
        if (
            self._log.tree.rehung != self._rehung
        ):  # old entries have got other parents: what was above them is another history
            self._begin()
        try:
            while self._seen < len(self._log):
                self._take(self._seen)
                self._seen += 1
        except BaseException:
            self._forget()
            raise
        return CounterCheck(counter=self._counts.name() if self._by_model else None, by_model=dict(self._by_model))

    def _take(self, place: int) -> None:
        entry = self._log.entry(place)
        match entry:
            case MessageEntry(message=AssistantMessage() as answer) if reported := _reported(answer):
                self._stand_above(place)
                model, counted = f"{answer.provider}/{answer.model}", self._sent
                self._stand(place, entry)
                if counted:
                    one = Compared(answers=1, reported=reported, counted=counted)
                    self._by_model[model] = self._by_model.get(model, _NONE) + one
            case _:
                self._stand(place, entry)

    def _stand_above(self, place: int) -> None:
        parent = self._log.tree.parent(place)
        if parent is None:
            self._forget()
        elif parent != self._walk.leaf:
            self._walk.select(parent)
            self._sum_up()

    def _stand(self, place: int, entry: Entry) -> None:
        if self._walk.reach(place) and not isinstance(entry, Compaction | ContextEdit):
            self._add(self._walk.selected[-1])
        else:
            self._sum_up()

    def _sum_up(self) -> None:
        self._verdicts, self._sent = Verdicts(), 0
        for selected in self._walk.selected:
            self._add(selected)

    def _add(self, selected: SelectedEntry) -> None:
        if selected.messages:
            verdicts = self._verdicts.of(selected.messages)
            tokens = self._walk.tokens(selected)
            self._sent += sum(n for n, why in zip(tokens, verdicts, strict=True) if why is None)


def _reported(answer: AssistantMessage) -> int:
    """Tokens of its request, those of a cache too; 0 where it reports none that can be believed."""
    usage = believable(answer)
    return 0 if usage is None or is_of_another_request(answer) else _input(usage)


def _input(usage: Usage) -> int:
    parts = (usage.input, usage.cache_read, usage.cache_write)
    return sum(parts) if all(map(is_amount, parts)) else 0
