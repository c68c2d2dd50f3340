from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from sapwood.actors.kernel import (
    Actor,
    ActorCrashed,
    ActorFailed,
    Closed,
    OperationCancelled,
    OperationCrashed,
    Published,
    Reaction,
    Ref,
    Refuse,
    Reply,
    Ring,
    Start,
    System,
    Tap,
    open_system,
)
from sapwood.actors.kernel.cell import RESTARTS
from sapwood.actors.kernel.chain import innermost
from sapwood.actors.kernel.mailbox import ROOM
from sapwood.actors.kernel.testing import CrashAt, Seeded
from sapwood.events.asking import Ask
from tests.actors.kernel.puppet import Do, Note, Notes, Puppet, crash


def tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living


async def test_an_event_goes_into_the_ring_and_to_whoever_hears_its_kind() -> None:
    ring = Ring(9)
    async with open_system("s", ring=ring) as system:
        reader = ring.reader()
        text = system.spawn("text", Puppet, hears=(str,))
        number = system.spawn("number", Puppet, hears=(int, float))
        assert [system.publish(event) for event in ("a", 1, 2.5, True, b"nobody")] == [1, 2, 3, 4, 5]
        assert await text.ask(Notes()) == ["a"]
        assert await number.ask(Notes()) == [1, 2.5, True]
        assert await reader.receive() == Published(1, "a")


async def test_an_event_published_before_an_ask_is_handled_before_it() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet, hears=(int,))
        for n in range(3):
            system.publish(n)
            assert await ref.ask(Notes()) == list(range(n + 1))


async def test_an_actor_spawned_late_hears_what_comes_then() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        system.publish(1)
        ref = system.spawn("a", Puppet, hears=(int,))
        system.publish(2)
        assert await ref.ask(Notes()) == [2]


async def test_a_name_is_given_once_and_strangers_cannot_be_asked() -> None:
    async with open_system("s", ring=Ring(9)) as system, open_system("t", ring=Ring(9)) as other:
        system.spawn("a", Puppet)
        with pytest.raises(ValueError, match="already"):
            system.spawn("a", Puppet)
        with pytest.raises(ValueError, match="not of s"):
            system.spawn("b", Puppet, asks=(other.spawn("a", Puppet),))


async def test_nothing_is_left_behind() -> None:
    before = tasks()
    async with open_system("s", ring=Ring(9)) as system:
        for n in range(5):
            ref = system.spawn(f"a{n}", Puppet)
            ref.tell(Do(lambda: Start(trio.sleep_forever, "work")))
        await wait_all_tasks_blocked()
        assert tasks() > before
    assert tasks() == before
    with pytest.raises(Closed):
        system.publish(1)
    with pytest.raises(Closed):
        system.spawn("late", Puppet)


async def test_what_was_told_is_handled_before_the_system_is_left() -> None:
    puppet = Puppet()
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", lambda: puppet)
        for n in range(500):
            ref.tell(Note(n))
    assert puppet.notes == list(range(500))


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    error = KeyError("mine")

    async def block() -> None:
        async with open_system("s", ring=Ring(9)) as system:
            system.spawn("a", Puppet).tell(Do(lambda: Start(trio.sleep_forever, "work")))
            await wait_all_tasks_blocked()
            raise error

    with pytest.raises(KeyError) as caught:
        await block()
    assert caught.value is error


async def test_what_the_block_raises_goes_before_a_failed_actor() -> None:
    async def block() -> None:
        async with open_system("s", ring=Ring(9)) as system:
            ref = system.spawn("a", Puppet)
            for _ in range(RESTARTS + 1):
                ref.tell(crash())
            await wait_all_tasks_blocked()
            raise KeyError

    with pytest.raises(KeyError):
        await block()


async def test_a_failed_actor_comes_out_alone_and_the_first_of_two() -> None:
    async def block() -> None:
        async with open_system("s", ring=Ring(9)) as system:
            for name in ("a", "b"):
                ref = system.spawn(name, Puppet)
                for _ in range(RESTARTS + 1):
                    ref.tell(crash())
                await wait_all_tasks_blocked()

    with pytest.raises(ActorFailed) as caught:
        await block()
    assert caught.value.actor == "a"


async def test_the_hosts_cancellation_is_an_orderly_stop_in_which_cleanup_may_ask(autojump_clock: MockClock) -> None:
    cleaned: list[object] = []
    refused: list[object] = []
    with trio.move_on_after(5) as scope:
        async with open_system("s", ring=Ring(9)) as system:
            log = system.spawn("log", Puppet)

            async def slow_note() -> str:
                await trio.sleep(1)
                return "noted"

            async def work() -> None:
                try:
                    await trio.sleep_forever()
                finally:
                    with trio.CancelScope(shield=True):
                        cleaned.append(await log.ask(Do(lambda: Start(slow_note, "slow"))))

            run = system.spawn("run", Puppet, asks=(log,))
            run.tell(Do(lambda: Start(work, "work")))
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    refused.append(await log.ask(Notes()))
    assert scope.cancelled_caught
    assert refused == [[]]
    assert cleaned == ["noted"]
    assert trio.current_time() == pytest.approx(6)


async def test_outsiders_are_refused_while_the_system_stops(autojump_clock: MockClock) -> None:
    got: list[object] = []

    async def slow_end() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)

    async def outsider(system: System) -> None:
        await trio.sleep(0.5)
        for ask in (partial(system.actors["a"].ask, Notes()), partial(system.actors["b"].ask, Notes())):
            try:
                got.append(await ask())
            except Closed as error:
                got.append(type(error))

    async with trio.open_nursery() as nursery, open_system("s", ring=Ring(9)) as system:
        system.spawn("a", Puppet).tell(Do(lambda: Start(slow_end, "work")))
        system.spawn("b", Puppet)
        await wait_all_tasks_blocked()
        nursery.start_soon(outsider, system)
    assert got == [Closed, Closed]


async def test_what_is_started_while_the_system_stops_starts_cancelled(autojump_clock: MockClock) -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("cleaned")

    async with open_system("s", ring=Ring(9)) as system:
        system.spawn("a", Puppet).tell(Do(lambda: Start(work, "work")))
    assert ended == ["cleaned"]
    assert trio.current_time() == 0


async def test_a_system_opened_inside_of_an_operation_handles_outside_of_it() -> None:
    links: list[object] = []

    def look() -> Reply:
        links.append(innermost())
        return Reply()

    async def work() -> None:
        async with open_system("inner", ring=Ring(9)) as inner:
            inner.spawn("b", Puppet).tell(Do(look))

    async with open_system("s", ring=Ring(9)) as system:
        await system.spawn("a", Puppet).ask(Do(lambda: Start(work, "work")))
    assert links == [None]


async def test_a_deaf_operation_is_waited_for_and_named(autojump_clock: MockClock) -> None:
    seen: list[tuple[str, ...]] = []
    told: list[tuple[str, ...]] = []

    async def deaf() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(10)

    async def look(system: System) -> None:
        await trio.sleep(1)
        seen.append(system.stragglers)
        await trio.sleep(4)
        seen.append(system.stragglers)

    async with trio.open_nursery() as nursery, open_system("s", ring=Ring(9), grace=2, late=told.append) as system:
        system.spawn("a", Puppet).tell(Do(lambda: Start(deaf, "deaf")))
        await wait_all_tasks_blocked()
        nursery.start_soon(look, system)
    assert seen == [(), ("a/deaf",)]
    assert told == [("a/deaf",)]
    assert system.stragglers == ()
    assert trio.current_time() == pytest.approx(10)


async def test_an_asker_of_a_deaf_operation_is_let_go_after_the_grace(autojump_clock: MockClock) -> None:
    got: list[object] = []

    async def deaf() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(10)

    async def ask(ref: Ref) -> None:
        try:
            await ref.ask(Do(lambda: Start(deaf, "deaf")))
        except Closed:
            got.append(trio.current_time())

    async with trio.open_nursery() as nursery, open_system("s", ring=Ring(9), grace=2) as system:
        nursery.start_soon(ask, system.spawn("a", Puppet))
        await wait_all_tasks_blocked()
    assert got == [pytest.approx(2)]


async def test_the_stop_is_bounded_though_an_actor_tells_itself_for_ever() -> None:
    class Echo(Actor[Ref]):
        def handle(self, message: Ref) -> None:
            message.tell(message)

    before = tasks()
    async with open_system("s", ring=Ring(9), grace=0) as system:
        ref = system.spawn("a", Echo)
        ref.tell(ref)
    assert tasks() == before


async def test_a_message_in_a_tap_that_never_lets_go_is_answered_closed(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    got: list[object] = []

    class Stuck:
        async def receipt(self, receipt: object) -> Any:
            await trio.sleep_forever()

        async def operation(self, actor: str, operation: str, phase: object) -> None:
            pass

    async def ask(ref: Ref) -> None:
        try:
            await ref.ask(Notes())
        except Closed:
            got.append("closed")

    async with open_system("s", ring=Ring(9), tap=Stuck(), grace=2) as system:
        ref = system.spawn("a", Puppet)
        for _ in range(ROOM + 3):
            nursery.start_soon(ask, ref)
        await wait_all_tasks_blocked()
    await wait_all_tasks_blocked()
    assert got == ["closed"] * (ROOM + 3)


@pytest.mark.parametrize("where", ["handle", "operation"])
async def test_a_keyboard_interrupt_passes_through(where: str) -> None:
    def act() -> Reaction:
        if where == "handle":
            raise KeyboardInterrupt
        return Start(interrupt, "work")

    async def interrupt() -> None:
        raise KeyboardInterrupt

    async def block() -> None:
        async with open_system("s", ring=Ring(9)) as system:
            system.spawn("a", Puppet).tell(Do(act))
            await trio.sleep_forever()

    before = tasks()
    with pytest.raises(KeyboardInterrupt):
        await block()
    assert tasks() == before


async def test_a_system_opened_in_a_cancelled_scope_is_left_at_once() -> None:
    before = tasks()
    with trio.CancelScope() as scope:
        scope.cancel()
        async with open_system("s", ring=Ring(9)) as system:
            await system.spawn("a", Puppet).ask(Notes())
    assert scope.cancelled_caught
    assert tasks() == before


# An actor pair of which one appends and announces, and the other pulls.


class Append(Ask[int], frozen=True):
    item: int


class Since(Ask[list[int]], frozen=True):
    position: int


class Appended(Note, frozen=True):
    pass


class Log(Actor[Append | Since]):
    def __init__(self, items: list[int], system: System) -> None:
        self.items, self.system = items, system

    def handle(self, message: Append | Since) -> Reaction:
        match message:
            case Append(item):
                self.items.append(item)
                self.system.publish(Appended(len(self.items)))
                return Reply(len(self.items))
            case Since(position):
                return Reply(self.items[position:])


class Fold(Actor[Appended | Notes]):
    """Pulls from the log in an operation of its own; a message is only a hint."""

    def __init__(self, log: Ref) -> None:
        self.log, self.folded = log, list[int]()

    def handle(self, message: Appended | Notes) -> Reaction:
        return Start(self.pull, "pull") if isinstance(message, Notes) else None

    async def pull(self) -> list[object]:
        self.folded.extend(await self.log.ask(Since(len(self.folded))))
        return list(self.folded)


async def run_pair(seed: int | None, writers: int, each: int) -> None:
    items: list[int] = []
    async with open_system("s", ring=Ring(8), tap=None if seed is None else Seeded(seed)) as system:
        log = system.spawn("log", lambda: Log(items, system))
        fold = system.spawn("fold", lambda: Fold(log), hears=(Appended,), asks=(log,))
        turn = trio.Lock()

        async def write(writer: int) -> None:
            for n in range(each):
                item = writer * each + n
                await log.ask(Append(item))
                async with turn:
                    assert item in await fold.ask(Notes())

        async with trio.open_nursery() as nursery:
            for writer in range(writers):
                nursery.start_soon(write, writer)
        assert await fold.ask(Notes()) == items
    assert sorted(items) == list(range(writers * each))


async def test_whoever_asks_after_its_own_append_sees_it_though_mailboxes_are_full(autojump_clock: MockClock) -> None:
    with trio.fail_after(60):
        await run_pair(None, 300, 2)


def test_whoever_asks_after_its_own_append_sees_it_under_many_orders() -> None:
    for seed in range(3):
        trio.run(run_pair, seed, 3, 2)


# Programs: whatever is done to a system, every ask has exactly one outcome, and what was told is handled in order.

KINDS = ["reply", "refuse", "crash", "give", "raise", "fail", "wait", "keep", "sleep", "ask", "deaf"]
PROGRAM = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(KINDS)),
        st.tuples(st.just("tell"), st.sampled_from(["note", "crash", "sleep", "wait", "give"])),
        st.tuples(st.just("publish"), st.just("")),
        st.tuples(st.just("cancel"), st.integers(0, 9)),
        st.tuples(st.sampled_from(["settle", "step", "pass"]), st.just("")),
    ),
    max_size=40,
)


class Program:
    """Runs commands against two actors, and keeps what came of each ask."""

    def __init__(self) -> None:
        self.told = 0
        self.handled: list[int] = []
        self.outcomes: list[list[str]] = []
        self.scopes = list[trio.CancelScope]()

    def act(self, kind: str, log: Ref) -> Do:
        async def fail() -> None:
            raise ValueError

        async def refuse() -> None:
            raise Closed("the world")

        async def give() -> str:
            return "given"

        async def deaf() -> None:
            with trio.CancelScope(shield=True):
                await trio.sleep(5)

        answers: dict[str, Reaction] = {
            "reply": Reply("given"),
            "refuse": Refuse(Closed("it")),
            "give": Start(give, "give", tells=True),
            "raise": Start(refuse, "raise"),
            "fail": Start(fail, "fail", tells=True),
            "wait": Start(trio.sleep_forever, "wait"),
            "keep": Start(trio.sleep_forever, "keep", owner="actor", tells=True),
            "sleep": Start(partial(trio.sleep, 1), "sleep", tells=True),
            "ask": Start(partial(log.ask, Notes()), "ask"),
            "deaf": Start(deaf, "deaf"),
        }
        return crash() if kind == "crash" else Do(lambda: answers[kind])

    def note(self) -> Do:
        self.told = n = self.told + 1
        return Do(lambda: self.handled.append(n))

    async def ask(self, ref: Ref, message: Do, outcomes: list[str], scope: trio.CancelScope) -> None:
        with scope:
            try:
                await ref.ask(message)
                outcomes.append("answered")
            except (ActorCrashed, ActorFailed, OperationCrashed, OperationCancelled, Closed) as error:
                outcomes.append(type(error).__name__)
            except trio.Cancelled:
                outcomes.append("cancelled")
                raise

    async def run(self, commands: list[tuple[str, Any]], tap: Tap | None) -> None:
        before = tasks()
        try:
            async with trio.open_nursery() as nursery, open_system("s", ring=Ring(4), tap=tap) as system:
                log = system.spawn("log", Puppet)
                ref = system.spawn("a", Puppet, hears=(Do,), asks=(log,))
                for command, what in commands:
                    await self.do(command, what, system, ref, nursery)
        except* ActorFailed:
            pass
        assert all(len(outcomes) == 1 for outcomes in self.outcomes)
        assert self.handled == sorted(self.handled)
        assert tasks() == before

    async def do(self, command: str, what: Any, system: System, ref: Ref, nursery: trio.Nursery) -> None:
        log = system.actors["log"]
        match command:
            case "ask":
                self.outcomes.append([])
                self.scopes.append(trio.CancelScope())
                nursery.start_soon(self.ask, ref, self.act(what, log), self.outcomes[-1], self.scopes[-1])
            case "tell":
                ref.tell(self.note() if what == "note" else self.act(what, log))
            case "publish":
                system.publish(self.note())
            case "cancel":
                for scope in self.scopes[what : what + 1]:
                    scope.cancel()
            case "settle":
                await wait_all_tasks_blocked()
            case "pass":
                await trio.sleep(1)
            case _:
                await trio.lowlevel.checkpoint()


def run_program(commands: list[tuple[str, Any]], tap: Tap | None) -> Program:
    program = Program()

    async def bounded() -> None:
        with trio.fail_after(600):
            await program.run(commands, tap)

    trio.run(bounded, clock=MockClock(autojump_threshold=0))
    return program


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(PROGRAM)
def test_every_ask_of_a_program_has_exactly_one_outcome(commands: list[tuple[str, Any]]) -> None:
    program = run_program(commands, None)
    if len([what for _, what in commands if what == "crash"]) <= RESTARTS:
        assert program.handled == list(range(1, program.told + 1))


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(PROGRAM, st.integers(0, 1_000))
def test_every_ask_of_a_program_has_one_outcome_under_any_order(commands: list[tuple[str, Any]], seed: int) -> None:
    run_program(commands, Seeded(seed))


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(PROGRAM, st.integers(1, 20))
def test_every_ask_of_a_program_has_one_outcome_with_a_crash_anywhere(commands: list[tuple[str, Any]], n: int) -> None:
    run_program(commands, CrashAt("a", n))


ROOT = Path(__file__).parents[3]
IDLE = """
import gc, sys, time, psutil, trio, trio.testing
from sapwood.actors.kernel import Ring, open_system
from tests.actors.kernel.puppet import Note, Puppet

gc.disable()  # the collector's share grows with the caches, not with us

async def main(count):
    memory = psutil.Process().memory_info
    before = memory().rss
    began = time.process_time()
    async with open_system("s", ring=Ring(16)) as system:
        for n in range(count):
            system.spawn(str(n), Puppet).tell(Note(n))
        await trio.testing.wait_all_tasks_blocked()
        after = memory().rss
    print((after - before) / 1e6, time.process_time() - began)

trio.run(main, int(sys.argv[1]))
"""


def idle(count: int) -> tuple[float, float]:
    """Megabytes, and CPU seconds from start to stop."""
    command = [sys.executable, "-c", IDLE, str(count)]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    megabytes, seconds = out.split()
    return float(megabytes), float(seconds)


@pytest.mark.slow
def test_ten_thousand_idle_actors_fit_into_80_megabytes_and_start_and_stop_in_linear_time() -> None:
    few, many = idle(2_500), idle(10_000)
    assert many[0] < 80
    assert many[1] < 4 * 2.5 * few[1]  # four times as many, 2.5 for a noisy machine; a square would be sixteen times
