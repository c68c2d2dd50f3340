"""Stories under many orders and with crashes: shared out among processes, and told one line a story."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import attrs

from sapwood.cli.cases import Case, on_store
from sapwood.cli.trouble import fault_of_ours
from sapwood.scenario import ScenarioError, load
from sapwood.scenario.language import StoreWord
from sapwood.scenario.sweeping import Swept, crashes, orders
from sapwood.words.wording import Line, Piece, counted, cut, line, named

SHOWN_FAULTS: Final = 10
"""Of one story: the first few explain the others."""


@attrs.frozen(kw_only=True)
class Sweep:
    """What is to be done to one story. Goes to another process, and so does what comes of it."""

    path: str
    store: StoreWord | None
    seeds: int
    crash: bool

    @property
    def name(self) -> str:
        return f"{named(self.path)}{f' [{self.store}]' if self.store else ''}"


@attrs.frozen(kw_only=True)
class SweptStory:
    """What came of it."""

    sweep: Sweep
    swept: Swept
    seconds: float
    error: tuple[str, ...] = ()
    """Why it cannot be played, if it cannot."""

    def case(self) -> Case:
        """As a case of a report."""
        return Case(
            name=self.sweep.name,
            seconds=self.seconds,
            failures=tuple(f"{fault.under}: {fault.what}" for fault in self.swept.faults),
            error="; ".join(self.error) or None,
        )


def sweep_all(sweeps: Sequence[Sweep], jobs: int | None) -> Iterator[SweptStory]:
    """Each, in order, in as many processes as there are processors, or in this one."""
    jobs = min(jobs or os.cpu_count() or 1, len(sweeps))
    if jobs < 2:
        yield from map(_do, sweeps)
        return
    # spawned: what this process has open is none of theirs
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_do, sweeps)


def told(done: SweptStory) -> Iterator[Line]:
    """A line for a story, and one for each thing that does not hold."""
    if done.error:
        return
    swept, found = done.swept, done.swept.faults
    parts: list[str] = []
    if swept.orders:
        parts.append(counted(swept.orders, "order"))
    if done.sweep.crash:
        interrupted = swept.crashes - swept.same
        parts.append(f"{counted(swept.crashes, 'crash', 'crashes')} ({interrupted} left another log)")
        parts.append(counted(swept.deaths, "death"))
    verdict = Piece("as expected", "good") if not found else Piece(counted(len(found), "fault"), "bad")
    yield line(
        Piece(done.sweep.name, "name"), ": ", verdict, f": {', '.join(parts)}", Piece(f"  {done.seconds:.1f} s", "dim")
    )
    for fault in found[:SHOWN_FAULTS]:
        yield line("    ", Piece(fault.under, "accent"), f": {cut(fault.what, 400)}")
    if len(found) > SHOWN_FAULTS:
        yield line(f"    and {len(found) - SHOWN_FAULTS} more")


def to_json(done: SweptStory) -> dict[str, object]:
    """The same as plain values."""
    swept = done.swept
    return {
        "path": done.sweep.path,
        "store": done.sweep.store,
        "ok": not (swept.faults or done.error),
        "orders": swept.orders,
        "crashes": swept.crashes,
        "same": swept.same,
        "deaths": swept.deaths,
        "faults": [{"under": fault.under, "what": fault.what} for fault in swept.faults],
    }


def _do(sweep: Sweep) -> SweptStory:
    began = time.monotonic()
    swept = Swept()
    error: tuple[str, ...] = ()
    try:
        scenario = on_store(load(Path(sweep.path)), sweep.store)
        if sweep.seeds:
            swept = orders(scenario, sweep.seeds)
        if sweep.crash:
            broken = crashes(scenario)
            swept = attrs.evolve(broken, orders=swept.orders, faults=(*swept.faults, *broken.faults))
    except ScenarioError as wrong:
        error = tuple(map(str, (wrong, *wrong.others)))
    except Exception as fault:  # noqa: BLE001 - a fault of ours in one story does not keep the others from being played
        error = (f"{sweep.name}: {fault_of_ours(fault)}",)
    return SweptStory(sweep=sweep, swept=swept, seconds=time.monotonic() - began, error=error)
