"""One story under many orders, and with each actor crashed and the memory dropped wherever that can be (Z4).

1. Under each seeded order all is as expected, and the log is the same, byte for byte but for the ids.
2. Where an actor crashes at a message, or an operation at its start or its end, the session lives on: each input has the outcome that the
   log tells, the log holds nothing but what the story could have brought, and the next prompt takes it up.
3. Where the process dies behind an append, what was stored is opened again, stays as it is, and the next prompt takes it up.
4. A story whose end no prompt could take up (its window is full for good) is not asked for more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from sapwood.actors.kernel import Receipt, Tap, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.kernel.testing import Counting, CrashAt, InjectedCrash, Seeded, StrikeAt
from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.entries import Entry, Header
from sapwood.scenario.beginning import Kept
from sapwood.scenario.language import Expect, Prompt, Said, Scenario
from sapwood.scenario.logs import pairing_fault, renamed, strange_text, unlike
from sapwood.scenario.played import Played
from sapwood.scenario.running import in_virtual_time, play, run
from sapwood.scenario.scripting import Script
from sapwood.scenario.scripts import Answers
from sapwood.scenario.taking_up import TakenUp, take_up
from sapwood.session import Session
from sapwood.store.memory import MemoryStore


@attrs.frozen
class Fault:
    """Something that does not hold."""

    under: str
    """What was done to the story, so that it can be done again: `seed 3`, `a crash of agent at its message 4`."""
    what: str


@attrs.frozen(kw_only=True)
class Swept:
    """What came of one story."""

    orders: int = 0
    crashes: int = 0
    same: int = 0
    """Of the crashes, those that left the log of the undisturbed story."""
    deaths: int = 0
    faults: tuple[Fault, ...] = ()


def orders(scenario: Scenario, seeds: int) -> Swept:
    """Play it under as many seeded orders. Raises `ScenarioError` for one that cannot be played."""
    whole = renamed(play(scenario).entries)
    faults: list[Fault] = []
    for seed in range(seeds):
        played = play(scenario, tap=Seeded(seed))
        what = unlike(whole, renamed(played.entries))
        if what is None and played.differences:
            first = played.differences[0]
            what = f"{first.what} ({first.path}:{first.line}) is not as expected"
        if what is not None:
            faults.append(Fault(f"seed {seed}", what))
    return Swept(orders=seeds, faults=tuple(faults))


def crashes(scenario: Scenario) -> Swept:
    """Crash each actor at each message, each operation at each end, and drop the memory behind each append. `ScenarioError` as above."""
    counting = Counting()
    whole = _strike(scenario, counting)
    if whole.played.broken is not None:
        return Swept(faults=(Fault("nothing at all", whole.played.broken),))
    if whole.taken.fault is not None:
        whole = attrs.evolve(whole, hopeless=True)
    faults: list[Fault] = []
    same = 0
    struck = counting.strikes()
    reference = renamed(whole.taken.left)
    for tap in struck:
        seen = _strike(scenario, tap)
        what = _broken(seen, whole)
        if what is not None:
            faults.append(Fault(_in_words(tap), what))
        elif renamed(seen.taken.left) == reference:
            same += 1
    deaths = list(_deaths(scenario, whole))
    faults.extend(fault for fault in deaths if fault.what)
    return Swept(crashes=len(struck), same=same, deaths=len(deaths), faults=tuple(faults))


@attrs.define
class _Once:
    """Lets a tap strike once, and not behind the story."""

    inner: Tap
    armed: bool = True

    async def receipt(self, receipt: Receipt) -> Verdict:
        if not self.armed:
            return "handle"
        try:
            return await self.inner.receipt(receipt)
        except InjectedCrash:
            self.armed = False
            raise

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        if not self.armed:
            return
        try:
            await self.inner.operation(actor, operation, phase)
        except InjectedCrash:
            self.armed = False
            raise


@attrs.frozen(kw_only=True)
class _Struck:
    """A playing, and what the next prompt found."""

    played: Played
    taken: TakenUp
    header: Header | None
    hopeless: bool = False
    """Whether no prompt takes up the end of the undisturbed story either."""


def _strike(scenario: Scenario, tap: Tap) -> _Struck:
    once = _Once(tap)
    found: list[tuple[TakenUp, Header]] = []

    async def then(session: Session, script: Script) -> None:
        once.armed = False
        found.append((await take_up(session, script), session.header))

    async def whole() -> Played:
        return await run(scenario, tap=once, then=then)

    played = in_virtual_time(whole)
    if not found:
        lost = TakenUp(left=(), entries=(), fault=f"the session is gone: {played.broken}")
        return _Struck(played=played, taken=lost, header=None)
    taken, header = found[0]
    return _Struck(played=played, taken=taken, header=header)


def _broken(seen: _Struck, whole: _Struck) -> str | None:
    """What does not hold of a struck playing."""
    taken = seen.taken
    if taken.fault is not None and not whole.hopeless:
        return taken.fault
    if seen.played.broken is not None:
        return f"the session broke: {seen.played.broken}"
    ids = [entry.id for entry in taken.entries]
    if len(set(ids)) != len(ids):
        return "an entry is in the log twice"
    for at, step in enumerate(seen.played.steps, 1):
        if isinstance(step.step, Prompt | Said) and step.entry_id is not None and step.outcome not in {None, "lost"}:
            logged = step.entry_id in ids
            if logged != (step.outcome == "delivered"):
                return f"what step {at} said is told to be {step.outcome}, and is {'' if logged else 'not '}in the log"
    strange = strange_text(taken.left, seen.played.scenario.story, whole.taken.left)
    if strange is not None:
        return f"the log holds what nobody said: {strange[:200]!r}"
    return pairing_fault(taken.left)


def _deaths(scenario: Scenario, whole: _Struck) -> Iterator[Fault]:
    """For each length of the log what is wrong with taking it up; nothing, in most."""
    entries, header = whole.taken.left, whole.header
    if header is None or whole.hopeless:
        return
    for count in range(len(entries) - len(whole.played.entries), len(entries) + 1):
        yield Fault(f"death behind entry {count}", _death(scenario, header, entries[:count]) or "")


def _death(scenario: Scenario, header: Header, entries: Sequence[Entry]) -> str | None:
    lines = [encode_entry(entry) for entry in entries]

    def laid_out(folder: Path) -> Kept:
        if scenario.story.store != "jsonl":
            return MemoryStore(header, lines)
        path = folder / "session.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in (encode_header(header), *lines)))
        return path

    found: list[TakenUp] = []

    async def then(session: Session, script: Script) -> None:
        found.append(await take_up(session, script))

    story = attrs.evolve(scenario.story, steps=(), answers=Answers(), expect=Expect())

    async def again() -> Played:
        return await run(attrs.evolve(scenario, story=story), then=then, where=laid_out)

    played = in_virtual_time(again)
    if played.broken is not None or not found:
        return f"the session cannot be gone on with: {played.broken}"
    [taken] = found
    if [encode_entry(entry) for entry in taken.entries[: len(lines)]] != lines:
        return "what was stored is not what is there now"
    return taken.fault


def _in_words(tap: CrashAt | StrikeAt) -> str:
    if isinstance(tap, CrashAt):
        return f"a crash of {tap.actor} at its message {tap.n}"
    return f"a crash of operation {tap.n} of {tap.actor}, at its {tap.phase}"
