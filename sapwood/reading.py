"""A session, read: the same whether it is open or only looked at. Writes nothing (S4)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import msgspec

from sapwood.actors.environment import Environment
from sapwood.actors.navigation.branches import Branch, branches
from sapwood.actors.outgoing import marked
from sapwood.actors.outgoing.comparing import Comparison
from sapwood.actors.projection.counts import Counts
from sapwood.actors.projection.fold import Fold
from sapwood.actors.projection.system_prompt import rendered, replay
from sapwood.actors.projection.tokenizer import counter_source
from sapwood.actors.session_log.totals import Totals
from sapwood.actors.session_log.view import View
from sapwood.events.context import DEFAULT_COUNTER, Context, ContextUsage, CounterName, Measured
from sapwood.events.copies import detached
from sapwood.events.damage import Damage
from sapwood.events.entries import Entry, Header
from sapwood.events.ids import EntryId
from sapwood.events.models import Model
from sapwood.events.stats import SessionStats
from sapwood.opening import open_store
from sapwood.store.port import Store
from sapwood.store.tree import Tree
from sapwood.taking import take_counter, take_flag, take_model, take_path

P = ParamSpec("P")
R = TypeVar("R", bound="Reading")
T = TypeVar("T")


def in_place(method: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
    """A method that is done where the session may be touched, whoever calls it."""

    @wraps(method)
    def done(self: R, /, *args: P.args, **named: P.kwargs) -> T:
        return self.hand_over(partial(method, self, *args, **named))

    return done


class Reading:
    """What can be read of a session. All of it is synchronous, and as it stands at the moment of the call.

    Tokens are counted once an entry: whoever asks first waits for it, a tenth of a second a megabyte.
    """

    def __init__(self, view: View, fold: Callable[[], Fold], counts: Counts) -> None:
        self._view = view
        self._totals = Totals(view)
        self._comparison = Comparison(view, counts)
        self._fold = fold
        """The present fold: that of an open session is made anew with the actor that owns it."""

    def hand_over(self, work: Callable[[], T]) -> T:
        """Do it where the session may be touched: here, where nobody else has it."""
        return work()

    @property
    def header(self) -> Header:
        """The file's first line; of a new session, as it will be written."""
        return self._view.header

    @property
    def path(self) -> str:
        """Where the session is kept: the file's path, or `:memory:`."""
        return self._view.where

    @property
    @in_place
    def name(self) -> str | None:
        """The name that a person gave it."""
        return self._view.name()

    @property
    @in_place
    def damage(self) -> Sequence[Damage]:
        """What is wrong with the file, in order; it stays as it is, and everything else in it is read (S7)."""
        return tuple(self._view.damage)

    @in_place
    def entries(self) -> tuple[Entry, ...]:
        """All entries of all branches, in file order."""
        return tuple(map(detached, self._view.entries()))

    @in_place
    def entry(self, entry_id: EntryId) -> Entry | None:
        """One entry, or None if the session has none of that id."""
        return detached(self._view.find(entry_id))

    @in_place
    def tree(self) -> Tree:
        """The index of the entries: parents, children, paths, the leaf. It grows with the session."""
        return self._view.tree

    @in_place
    def labels(self) -> Mapping[EntryId, str]:
        """Each labelled entry and its present label."""
        return self._view.labels()

    @in_place
    def branches(self) -> tuple[Branch, ...]:
        """Each position that is a tip, with what it is known by: all that can be gone on from, and the one that the session is on (N)."""
        return branches(self._view.tree, self._view)

    @in_place
    def context(self) -> Context:
        """What the model sees at the leaf: each message with its entry, its tokens, and why it is absent or not sent (P1 to P5)."""
        fold = self._fold()
        fold.pull()
        return detached(marked(fold.context(explained=True)))

    @property
    @in_place
    def system_prompt(self) -> str | None:
        """What the branch's system messages come to, as one text; None if they come to nothing (P7).

        What `open_session(system_prompt=…)` asks for is in it from the next prompt on.
        """
        fold = self._fold()
        fold.pull()
        prompt = replay(fold.selection().messages)
        return (rendered(prompt) or None) if prompt is not None else None

    @in_place
    def context_usage(self, model: Model) -> ContextUsage:
        """How full the window of `model` is, in tokens; `tokens` is None while nobody can know (T5)."""
        model = take_model(model)
        fold = self._fold()
        fold.pull()
        return fold.usage(model)

    @in_place
    def stats(self, *, counting: bool = False) -> SessionStats:
        """What the session has cost, by model and by purpose, and how much is in it: sums over the whole log (T6).

        `counting`: also how the tokens that providers reported of each request compare with those that are counted here (T4). That
        counts all that was ever sent: the first time a tenth of a second a megabyte, and the time to load the counter; later what came.
        """
        stats = self._totals.stats()
        if not take_flag(counting, "counting"):
            return stats
        return msgspec.structs.replace(stats, counting=self._comparison.counting())

    @property
    @in_place
    def counter_trouble(self) -> str | None:
        """Why tokens are estimated although an exact count was wanted. Known when something was counted; None while all is well."""
        return self._fold().counter_trouble

    @in_place
    def measured(self) -> Measured:
        """How many tokens the context has, and what that goes by: an answer's report and what came since, or a count (T3, T5)."""
        fold = self._fold()
        fold.pull()
        return fold.measure()


class ReadSession(Reading):
    """A session opened for reading alone. Leaving the `with` block closes its file."""

    def __init__(self, store: Store, counter: CounterName = DEFAULT_COUNTER) -> None:
        self._closed = False
        self._begin(store, counter)

    def _begin(self, store: Store, counter: CounterName) -> None:
        """Read this store from now on."""
        view = View(store)
        counts = Counts(counter_source(counter))
        fold = Fold(view, counts)
        super().__init__(view, lambda: fold, counts)
        self._store = store

    def close(self) -> None:
        """Close the file. Twice does nothing."""
        self._closed = True
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read(path: str | os.PathLike[str], *, counter: CounterName = DEFAULT_COUNTER) -> ReadSession:
    """Read a session file of any version, without trio and without changing a byte of it.

    `counter` counts tokens, as for `Runtime`; it is loaded when a count is asked for, and what is told says which counter it was.

    Raises `NotASession` for a file without a header and `CannotOpen` for one that cannot be read or is not there; both are the
    file's fault. `Refused` for what names no file and no counter.
    """
    counter = take_counter(counter)
    return ReadSession(open_store(take_path(path), Environment(), read_only=True), counter)
