"""J: what is said to a session that is busy: nothing of it is lost, doubled, or without an outcome.

What is said around a compaction is in `test_compaction_queues.py` (J03 to J09). A prompt while a summary of a branch is asked for (G12)
waits for navigation.
"""

from __future__ import annotations

import errno
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing

from sapwood import (
    Delivered,
    Environment,
    Extension,
    Failed,
    Handle,
    ImageContent,
    Refused,
    Request,
    Returned,
    Runtime,
    SapwoodError,
    ScriptedAnswer,
    Session,
    Settings,
    UserMessage,
    Withdrawn,
    read,
    tool,
)
from sapwood.actors.kernel.tap import Phase, Receipt, Verdict
from sapwood.actors.kernel.testing import InjectedCrash
from sapwood.actors.model.providers.base import Piece
from sapwood.actors.tools.tool import Mode
from sapwood.events.entries import MessageEntry
from sapwood.events.hooks import ToolCallQuestion
from sapwood.events.requests import Append
from sapwood.store.disk import RealDisk
from tests.build import MODEL, call, words
from tests.faults.logs import assert_whole
from tests.faults.running import calling, results, strictly_talking, told
from tests.faults.strict import Strict

ONE: Final = ImageContent(data="b25l", mime_type="image/png")
TWO: Final = ImageContent(data="dHdv", mime_type="image/jpeg")


def slowly(text: str) -> ScriptedAnswer:
    return ScriptedAnswer(text=text, wait=1)


def waiting(session: Session) -> tuple[list[str], list[str]]:
    """What is queued: steering, and follow-ups."""
    queue = session.queue()
    return [one.text for one in queue.steering], [one.text for one in queue.follow_up]


class Choosy(RealDisk):
    """Has no room for what says `refused`."""

    def __init__(self) -> None:
        self.refused: bytes | None = None

    def write(self, descriptor: int, data: bytes) -> int:
        if self.refused is not None and self.refused in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(descriptor, data)


@pytest.mark.parametrize(
    ("refused", "left"),
    [("s1", (["s1", "s2"], ["f1", "f2"])), ("s2", (["s2"], ["f1", "f2"])), ("f1", (list[str](), ["f1", "f2"]))],
)
async def test_j02_what_was_taken_from_a_queue_and_not_written_waits_again_at_the_head_of_its_own(
    refused: str, left: tuple[list[str], list[str]], tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """J02: the disk is full when it is to be written, and the run is stopped while it waits for that."""
    path, disk = tmp_path / "s.jsonl", Choosy()
    answers = (slowly("1"), *"23456789")
    async with strictly_talking(*answers, where=path, environment=Environment.scripted(disk=disk)) as (session, _):
        handle = session.submit("a")
        await trio.sleep(0.5)
        handles = [session.steer("s1", images=[ONE]), session.steer("s2")]
        handles += [session.follow_up("f1", images=[TWO]), session.follow_up("f2")]
        await trio.testing.wait_all_tasks_blocked()
        assert waiting(session) == (["s1", "s2"], ["f1", "f2"])

        disk.refused = refused.encode()
        await trio.sleep(10)
        assert refused not in (*waiting(session)[0], *waiting(session)[1]), "it was taken"
        [taken] = [one for one in handles if one.input.text == refused]
        assert not await taken.cancel(), "nobody can take it back any more"
        await session.abort()
        await handle.outcome()
        assert waiting(session) == left
        assert {one.input.text for one in handles if one.outcome_nowait is None} == {*left[0], *left[1]}

        disk.refused = None
        await session.prompt("b")
        assert [type(await one.outcome()) for one in handles] == [Delivered] * 4
        said = [one.removeprefix("user: ") for one in told(session) if one.startswith("user")]
        assert sorted(said) == ["a", "b", "f1", "f2", "s1", "s2"]
        assert [one for one in said if one in {*left[0], *left[1]}] == [*left[0], *left[1]], "in their order"
        images = {words(one): images_of(one) for one in session.context().messages if isinstance(one, UserMessage)}
        assert (images["s1"], images["f1"]) == ([ONE], [TWO])
    assert_whole(path)


def images_of(message: UserMessage) -> list[ImageContent]:
    return [block for block in message.content if isinstance(block, ImageContent)]


class Barrier:
    """Holds what is to append a text, before the log has it, until it may go on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.reached, self.may_go_on = trio.Event(), trio.Event()

    async def receipt(self, receipt: Receipt) -> Verdict:
        match receipt.message:
            case Append(entries=(MessageEntry(message=UserMessage() as message),)) if words(message) == self._text:
                self.reached.set()
                await self.may_go_on.wait()
            case _:
                pass
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


@pytest.mark.parametrize("queue", ["steer", "follow_up"])
async def test_j02_of_what_is_on_its_way_into_the_log_when_the_run_is_stopped_log_and_outcome_say_the_same(
    queue: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """J02: never lost, never both in the log and waiting."""
    path, barrier = tmp_path / "s.jsonl", Barrier("queued")
    async with strictly_talking(
        calling(call("c1", "work")), "one", "two", "three", where=path, tools=[work], tap=barrier
    ) as (session, _):
        handle = session.submit("a")
        await trio.sleep(0.5)
        queued = session.steer("queued") if queue == "steer" else session.follow_up("queued")
        last = session.follow_up("last")
        await barrier.reached.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.abort)
            await trio.testing.wait_all_tasks_blocked()
            barrier.may_go_on.set()
        await handle.outcome()
        here = queued.entry_id in {entry.id for entry in session.entries()}
        assert here is isinstance(queued.outcome_nowait, Delivered)
        assert here is not ("queued" in (*waiting(session)[0], *waiting(session)[1]))
        assert waiting(session)[1][-1:] == ["last"]
        await session.prompt("b")
        assert [type(await one.outcome()) for one in (queued, last)] == [Delivered] * 2
        said = [one.removeprefix("user: ") for one in told(session) if one.startswith("user")]
        assert sorted(said) == ["a", "b", "last", "queued"]
    assert_whole(path)


async def work() -> str:
    await trio.sleep(1)
    return "worked"


@pytest.mark.parametrize("while_", ["an answer streams", "a tool runs"])
async def test_j06_images_of_what_is_queued_are_in_the_log_and_in_the_request(
    while_: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """J06: of steering and of follow-ups, in their order."""
    path = tmp_path / "s.jsonl"
    first = slowly("one") if while_ == "an answer streams" else calling(call("c1", "work"))
    async with strictly_talking(first, "two", "three", "four", where=path, tools=[work]) as (session, provider):
        handle = session.submit("go", images=[TWO])
        await trio.sleep(0.5)
        steered = session.steer("look", images=[ONE, TWO])
        later = session.follow_up("and here", images=[TWO, ONE])
        await handle.outcome()
        assert [type(await one.outcome()) for one in (steered, later)] == [Delivered] * 2
        sent = [one for one in provider.requests[-1].messages if isinstance(one, UserMessage)]
    expected = [("go", [TWO]), ("look", [ONE, TWO]), ("and here", [TWO, ONE])]
    assert [(words(one), images_of(one)) for one in sent] == expected
    with read(path) as again:
        held = [one for one in again.context().messages if isinstance(one, UserMessage)]
    assert [(words(one), images_of(one)) for one in held] == expected


BUSY: Final = ("the model is silent", "a tool runs", "a guard asks a person", "the disk is full")


@pytest.mark.parametrize("why", BUSY)
async def test_j08_what_is_said_to_a_session_that_is_busy_for_long_has_a_handle_at_once(
    why: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """J08: for ten minutes. Nobody waits for a lock, and all of it is said then."""
    disk, guard = Choosy(), Extension("guard")

    async def long() -> str:
        if why == "a tool runs":
            await trio.sleep(600)
        return "worked"

    @guard.on(ToolCallQuestion, limit=None)
    async def ask(question: ToolCallQuestion, _: object) -> None:
        if why == "a guard asks a person":
            await trio.sleep(600)

    disk.refused = b"go" if why == "the disk is full" else None
    silent = ScriptedAnswer(calls=(call("c1", "long"),), wait=600 if why == "the model is silent" else 0)
    async with strictly_talking(
        silent,
        *("one", "two", "three"),
        where=tmp_path / "s.jsonl",
        tools=[long],
        extensions=[guard],
        environment=Environment.scripted(disk=disk),
    ) as (session, _):
        handle = session.submit("go")
        await trio.sleep(300)
        assert session.state == "run"
        steered, later = session.steer("s"), session.follow_up("f")
        refused = session.submit("x")
        await trio.testing.wait_all_tasks_blocked()
        assert trio.current_time() == 300
        assert waiting(session) == (["s"], ["f"])
        assert isinstance(refused.outcome_nowait, Failed), "a prompt is told at once that somebody else has the tree"
        with pytest.raises(Refused):
            await refused.outcome()
        await trio.sleep(300)
        disk.refused = None
        assert [type(await one.outcome()) for one in (handle, steered, later)] == [Delivered] * 3
        assert [one for one in told(session) if one.startswith("user")] == ["user: go", "user: s", "user: f"]


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
async def test_j11_steering_stops_no_call_that_runs_or_is_to_run_and_comes_behind_all_results(
    mode: Mode, autojump_clock: trio.testing.MockClock
) -> None:
    """J11: said while the first of three calls runs."""
    begun: list[str] = []

    @tool(mode=mode)
    async def one(text: str) -> str:
        begun.append(text)
        await trio.sleep(2)
        return f"did {text}"

    calls = [call(f"c{nth}", "one", text=text) for nth, text in enumerate("abc", 1)]
    async with strictly_talking(calling(*calls), "well", tools=[one]) as (session, provider):
        handle = session.submit("go")
        await trio.sleep(1)
        steered = session.steer("rather not")
        await handle.outcome()
        assert isinstance(await steered.outcome(), Delivered)
        in_order = list if mode == "sequential" else sorted  # those that run together are recorded as they come
        assert in_order(begun) == ["a", "b", "c"]
        assert in_order(results(session)) == [("c1", "did a"), ("c2", "did b"), ("c3", "did c")]
        assert [*told(session)[:2], *in_order(told(session)[2:5]), *told(session)[5:]] == [
            *("user: go", "assistant:", "c1", "c2", "c3", "user: rather not", "assistant: well"),
        ]
        assert trio.current_time() == (6 if mode == "sequential" else 2)
        assert [one.role for one in provider.requests[-1].messages[-4:]] == [*["toolResult"] * 3, "user"]


# J10


class Restless(Strict):
    """Answers at random: at once or late, with calls, with an error that may pass, with one that does not."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self._draw = draw
        self._calls = count()
        self.complained: list[str] = []

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        self.complained += self.complaints(request)
        self.add("turn", self._next())
        async with super().stream(request) as pieces:
            yield pieces

    def _next(self) -> ScriptedAnswer:
        draw, wait = self._draw, self._draw.choice((0, 0, 0.5, 2))
        match draw.randrange(8):
            case 0:
                return ScriptedAnswer(text="half", error="529 overloaded", wait=wait)
            case 1:
                return ScriptedAnswer(text="half", error="400 never", wait=wait)
            case 2 | 3 | 4:
                calls = [
                    call(f"c{next(self._calls)}", "some", seconds=draw.random()) for _ in range(draw.randint(1, 3))
                ]
                return ScriptedAnswer(calls=tuple(calls), wait=wait)
            case _:
                return ScriptedAnswer(text="well", wait=wait)


class Striking:
    """Crashes whoever receives something, now and then."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._left, self._chance = draw.choice(((0, 0.0), (1, 0.01), (4, 0.02)))  # fewer than break a session

    async def receipt(self, receipt: Receipt) -> Verdict:
        if self._left and self._draw.random() < self._chance:
            self._left -= 1
            raise InjectedCrash(f"{receipt.actor} at receipt {receipt.n}")
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


async def some(seconds: float) -> str:
    await trio.sleep(seconds)
    return "done"


SAID_A_SESSION: Final = 40
"""Inputs, with about as many aborts, withdrawals and waits between them."""


class Talk:
    """Inputs to one session at random, with what came of each."""

    def __init__(self, seed: int, path: Path) -> None:
        self.path = path
        self._seed = seed
        self._draw = random.Random(seed)  # noqa: S311 - any will do
        self._disk = Choosy()
        self.provider = Restless(self._draw)
        self.handles: list[Handle] = []
        self.came: dict[str, object] = {}
        """What whoever waited was told first."""

    async def run(self) -> None:
        draw = self._draw
        settings = Settings(
            steering_mode=draw.choice(("all", "one-at-a-time")), follow_up_mode=draw.choice(("all", "one-at-a-time"))
        )
        tap = Striking(draw)
        environment = Environment.scripted(self._seed, disk=self._disk)
        runtime = Runtime(providers=[self.provider], environment=environment, counter="heuristic")
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope, suppress(SapwoodError):
                async with runtime.open_session(
                    self.path, model=MODEL, tools=[some], settings=settings, tap=tap
                ) as session:
                    for number in range(SAID_A_SESSION):
                        self._say(session, f"{self._seed}/{number}", nursery)
                        for _ in range(draw.choice((0, 1, 1, 2))):
                            await self._meddle(session, nursery)
                    await self._end(session, scope)

    def _say(self, session: Session, text: str, nursery: trio.Nursery) -> None:
        say = self._draw.choice((session.submit, session.steer, session.follow_up))
        handle = say(text, images=[ONE] if self._draw.random() < 0.1 else [])
        self.handles.append(handle)
        nursery.start_soon(self._wait, handle)

    async def _wait(self, handle: Handle) -> None:
        assert handle.entry_id not in self.came
        try:
            self.came[handle.entry_id] = await handle.outcome()
        except SapwoodError as error:
            self.came[handle.entry_id] = error

    async def _meddle(self, session: Session, nursery: trio.Nursery) -> None:
        match self._draw.randrange(8):
            case 0:
                nursery.start_soon(quietly, session.abort)
            case 1 | 2:
                waiting = [one for one in self.handles if one.outcome_nowait is None]
                nursery.start_soon(quietly, self._draw.choice(waiting or self.handles).cancel)
            case 3:
                self._disk.refused = None if self._disk.refused else b"/"  # no room for any of the inputs
            case 4 | 5:
                await trio.sleep(self._draw.random() * 2)
            case _:
                await trio.lowlevel.checkpoint()

    async def _end(self, session: Session, scope: trio.CancelScope) -> None:
        match self._draw.randrange(4):
            case 0:
                await session.close()
            case 1:
                scope.cancel()
                await trio.lowlevel.checkpoint()
            case 2:
                self._disk.refused = None
                await session.wait_idle()
            case _:
                pass

    def check(self) -> Counter[str]:
        """Each has one outcome, and the log says the same."""
        in_the_log: list[tuple[str, str]] = []
        if self.path.exists():
            with read(self.path, counter="heuristic") as session:
                in_the_log = [
                    (entry.id, words(entry.message))
                    for entry in session.entries()
                    if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
                ]
        outcomes: Counter[str] = Counter()
        delivered: list[tuple[str, str]] = []
        for handle in self.handles:
            outcome, came = handle.outcome_nowait, self.came[handle.entry_id]
            match outcome:
                case Delivered(entry_id=entry_id):
                    assert came is outcome
                    assert entry_id == handle.entry_id
                    delivered.append((entry_id, handle.input.text))
                case Returned(text=text, images=images) | Withdrawn(text=text, images=images):
                    assert came is outcome
                    assert (text, images) == (handle.input.text, handle.input.images)
                case Failed(text=text, images=images):
                    assert isinstance(came, SapwoodError)
                    assert (text, images) == (handle.input.text, handle.input.images)
                case None:
                    raise AssertionError(f"{handle} has no outcome")
            outcomes[type(outcome).__name__] += 1
        assert sorted(in_the_log) == sorted(delivered), self._seed
        assert self.provider.complained == []
        return outcomes


async def quietly(work: Callable[[], Awaitable[object]]) -> None:
    with suppress(SapwoodError):
        await work()


def talked(seeds: range, folder: Path) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        talk = Talk(seed, folder / f"{seed}.jsonl")
        trio.run(talk.run, clock=trio.testing.MockClock(autojump_threshold=0))
        outcomes += talk.check()
    return outcomes


@pytest.mark.slow
def test_j10_each_of_many_inputs_has_one_outcome_and_the_log_agrees(tmp_path: Path) -> None:
    """J10: with aborts, withdrawals, crashes, a full disk and closing at random moments."""
    outcomes = talked(range(10), tmp_path)
    assert outcomes.total() == 10 * SAID_A_SESSION
    assert {*outcomes} == {"Delivered", "Returned", "Withdrawn", "Failed"}


@pytest.mark.full
@pytest.mark.slow
def test_j10_each_of_2000_inputs_has_one_outcome_and_the_log_agrees(tmp_path: Path) -> None:
    """J10, as often as it asks for."""
    assert talked(range(1000, 1050), tmp_path).total() == 2000
