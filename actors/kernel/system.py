"""A system of actors inside one `async with`.

1. Nothing runs before it is needed, and nothing runs after the block was left.
2. The host's cancellation reaches the block, not the actors: leaving, however it happens, is one orderly stop. New asks are
   refused; operations are cancelled and have `grace` seconds to clean up, which may ask; what was told is handled; then the
   actors stop, and whatever still waits gets Closed.
3. An operation that ignores its cancellation is waited for, and named: in `System.stragglers`, and to whoever wants to be told.
4. What comes out is what the block raised, as it is, or else the first ActorFailed; never a group.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from types import MappingProxyType
from typing import Any

import trio

from sapwood.actors.kernel.actor import Actor
from sapwood.actors.kernel.cell import Cell
from sapwood.actors.kernel.chain import INNERMOST
from sapwood.actors.kernel.commons import Commons
from sapwood.actors.kernel.errors import ActorFailed, Closed, alone
from sapwood.actors.kernel.loop import Loop
from sapwood.actors.kernel.ref import Ref
from sapwood.actors.kernel.ring import Ring
from sapwood.actors.kernel.tap import Tap


class System:
    """The actors, by name, and the ring that their events go to. Made by `open_system` only."""

    def __init__(self, commons: Commons, ring: Ring) -> None:
        self.name = commons.name
        self.ring = ring
        self._commons = commons
        self._refs: dict[str, Ref] = {}
        self._cells: dict[Ref, Cell] = {}
        self._hears: list[tuple[tuple[type, ...], Cell]] = []
        self._hearers: dict[type, tuple[Cell, ...]] = {}

    @property
    def actors(self) -> Mapping[str, Ref]:
        """Every actor, in the order of spawning."""
        return MappingProxyType(self._refs)

    @property
    def loop(self) -> Loop:
        """Where it lives."""
        return self._commons.loop

    @property
    def stragglers(self) -> tuple[str, ...]:
        """`actor/operation` of what still runs although the grace is over."""
        return tuple(operation.title for operation in self._commons.running) if self._commons.phase == "closed" else ()

    @property
    def failure(self) -> ActorFailed | None:
        """The first actor that crashed beyond its restart limit."""
        return self._commons.failure

    def spawn(
        self,
        name: str,
        factory: Callable[[], Actor[Any]],
        *,
        hears: tuple[type, ...] = (),
        asks: tuple[Ref, ...] = (),
        advice: str = "ask when that is over",
    ) -> Ref:
        """Name an actor. `factory` is called at its first message and after each crash; its operations may ask `asks`.

        `advice` is what `WouldDeadlock` says to code of its operations that would wait for it.

        Raises ValueError for a name that is taken or a ref of another system, Closed once the system stops.
        """
        if self._commons.phase != "open":
            raise Closed(self.name)
        if name in self._refs:
            raise ValueError(f"{self.name} already has an actor named {name}")
        if strangers := [ref.name for ref in asks if ref not in self._cells]:
            raise ValueError(f"{name} cannot ask {', '.join(strangers)}: not of {self.name}")
        cell = Cell(name, factory, [self._cells[ref] for ref in asks], self._commons, advice)
        self._refs[name] = ref = Ref(cell, asks, self._commons)
        self._cells[ref] = cell
        if hears:
            self._hears.append((hears, cell))
            self._hearers.clear()
        return ref

    def publish(self, event: object) -> int:
        """Put the event into the ring and into the mailbox of every actor that hears its kind; its number. Never waits.

        Raises Closed once the system was left, and WrongThread.
        """
        self._commons.loop.check()
        if self._commons.phase == "closed":
            raise Closed(self.name)
        seq = self.ring.publish(event)
        kind = type(event)
        if (hearers := self._hearers.get(kind)) is None:
            hearers = self._hearers[kind] = tuple(cell for hears, cell in self._hears if isinstance(event, hears))
        for cell in hearers:
            cell.tell(event)
        return seq

    async def stop(self) -> None:
        """Rule 2, for `open_system`."""
        commons = self._commons
        if commons.phase == "open":
            commons.phase = "stopping"
            for operation in tuple(commons.running):
                operation.cancel("the system stops")
            with trio.move_on_after(commons.grace):
                await commons.idle()
        self.close()

    def close(self) -> None:
        """The end of rule 2, for `open_system`: nothing waits any longer."""
        self._commons.phase = "closed"
        for operation in tuple(self._commons.running):
            operation.abandon()
        self._commons.actors.cancel_scope.cancel("the system stops")
        for cell in self._cells.values():
            cell.close()


class Keeper:
    """The task that holds a system's nurseries, out of reach of the host's cancellation."""

    def __init__(self) -> None:
        self.ready, self.gone = trio.Event(), trio.Event()
        self.system: System | None = None
        self.fatal: BaseException | None = None

    async def keep(self, make: Callable[[trio.Nursery, trio.Nursery], System], host: trio.CancelScope) -> None:
        """Keep the nurseries open until the system closes. A KeyboardInterrupt and its like cancel the host's block."""
        try:
            with trio.CancelScope(shield=True):
                async with trio.open_nursery() as operations, trio.open_nursery() as actors:
                    self.system = make(actors, operations)
                    self.ready.set()
                    await trio.sleep_forever()
        except BaseException as error:  # noqa: BLE001 - raised again by open_system, once everything has ended
            self.fatal = alone(error)
            host.cancel("an actor raised what is no Exception")
        finally:
            if self.system is not None:
                self.system.close()
            self.gone.set()


@asynccontextmanager
async def open_system(
    name: str,
    *,
    ring: Ring,
    tap: Tap | None = None,
    grace: float = 2.0,
    late: Callable[[tuple[str, ...]], None] = lambda _: None,
) -> AsyncGenerator[System, None]:
    """Open a system; `grace` is in seconds. The ring stays the caller's to close.

    `late` is told who still runs although the grace is over: the block is left when these have ended, and not before.

    Raises what the block raises, or ActorFailed for the first actor that crashed beyond its restart limit.
    """

    def make(actors: trio.Nursery, operations: trio.Nursery) -> System:
        commons = Commons(name=name, tap=tap, grace=grace, context=_unchained(), actors=actors, operations=operations)
        return System(commons, ring)

    keeper, raised = Keeper(), None
    async with trio.open_nursery() as host:
        host.start_soon(keeper.keep, make, host.cancel_scope, name=f"{name} keeper")
        with trio.CancelScope(shield=True):
            await keeper.ready.wait()
        system = keeper.system
        assert system is not None  # noqa: S101 - made before it is ready
        try:
            yield system
        except BaseException as error:  # noqa: BLE001 - raised again below, outside of the nursery, so that it stays alone
            raised = error
        with trio.CancelScope(shield=True):
            await system.stop()
            if system.stragglers:
                late(system.stragglers)
            await keeper.gone.wait()
    if keeper.fatal is not None:
        raise keeper.fatal
    if raised is not None:
        raise raised
    if system.failure is not None:
        raise system.failure


def _unchained() -> Context:
    context = copy_context()
    context.run(INNERMOST.set, None)
    return context
