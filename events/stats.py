"""What a session has cost and how large it is: sums over its whole log, all branches (T6)."""

from __future__ import annotations

from sapwood.events.base import Number, Wire
from sapwood.events.context import CounterName


class Spent(Wire, frozen=True, kw_only=True):
    """What some calls were billed with, as their providers reported it. `a + b` is what both were."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Number | None = None
    """The sum of the costs that are known; None if none is."""
    unpriced: int = 0
    """Calls whose cost nobody knows (M8): `cost` lacks them."""

    @property
    def total(self) -> int:
        """Tokens of all four kinds."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            cost=other.cost if self.cost is None else self.cost + (other.cost or 0),
            unpriced=self.unpriced + other.unpriced,
        )


NOTHING = Spent()


class Billed(Wire, frozen=True, kw_only=True):
    """What some entries of a session were billed. `a + b` is what both were."""

    spent: Spent = NOTHING
    by_model: dict[str, Spent] = {}  # noqa: RUF012 - msgspec copies an empty one
    """By `provider/model`; `unknown` where an entry does not say whom it paid."""
    by_purpose: dict[str, Spent] = {}  # noqa: RUF012 - as above
    """By what it was for: `turn`, `tool`, `compaction`, `branch_summary`, or what a usage entry calls itself."""

    def __add__(self, other: Billed) -> Billed:
        return Billed(
            spent=self.spent + other.spent,
            by_model=_joined(self.by_model, other.by_model),
            by_purpose=_joined(self.by_purpose, other.by_purpose),
        )


def _joined(some: dict[str, Spent], more: dict[str, Spent]) -> dict[str, Spent]:
    return some | {key: some.get(key, NOTHING) + spent for key, spent in more.items()}


NO_BILL = Billed()


class Compared(Wire, frozen=True, kw_only=True):
    """What a provider reported of some requests, beside what was counted of them here. `a + b` is both."""

    answers: int = 0
    """How many requests that were."""
    reported: int = 0
    """Tokens of these requests as the provider counted them, those of a cache too."""
    counted: int = 0
    """Tokens of the same by the session's counter."""

    @property
    def ratio(self) -> float | None:
        """Reported to counted: above 1 where the counter says too little. None where nothing was counted."""
        return self.reported / self.counted if self.counted else None

    def __add__(self, other: Compared) -> Compared:
        return Compared(
            answers=self.answers + other.answers,
            reported=self.reported + other.reported,
            counted=self.counted + other.counted,
        )


class CounterCheck(Wire, frozen=True, kw_only=True):
    """How near a counter comes to what providers report (T4)."""

    counter: CounterName | None = None
    """Who counted; None where there was nothing to compare."""
    by_model: dict[str, Compared] = {}  # noqa: RUF012 - as above
    """By `provider/model`."""


class SessionStats(Wire, frozen=True, kw_only=True):
    """Every billed call once, failed ones too; what is summarised away or left on another branch stays in it."""

    entries: int = 0
    messages: int = 0
    """Message entries, whoever spoke."""
    user_messages: int = 0
    answers: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    compactions: int = 0
    spent: Spent = NOTHING
    by_model: dict[str, Spent] = {}  # noqa: RUF012 - as above
    by_purpose: dict[str, Spent] = {}  # noqa: RUF012 - as above
    own: Billed = NO_BILL
    """What this session was billed itself. Over a session and its forks, these come to what was paid: nothing is in two of them (S15)."""
    inherited: Billed = NO_BILL
    """What a fork has from its parent, and the parent paid for."""
    counting: CounterCheck | None = None
    """Requests as providers reported them, beside our own counts; None where nobody asked for it: `stats(counting=True)`."""
