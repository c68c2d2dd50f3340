"""The only way to the clock, to chance, to threads, to the disk and to the network.

1. Nothing in the rooms reads the time, draws a number, enters a thread, opens a socket or touches a file but through this.
   Two things do. `projection/encoding.py` loads an encoding from data of this package; one that does not come with it is looked for in
   tiktoken's own cache, by the two environment variables that tiktoken has for that (E3). And the built-in tools in `tools/` (`bash`,
   `processes`, `spool`, `files`, `replacing`, `reading`, `editing`) start processes and touch files by themselves: what they are for is the
   machine as it is, with its groups of processes, links, modes and owners, and a session without them is the same every time.
2. So a scenario, a test and a replay see the same world every time: `Environment.scripted(seed)`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING, Protocol, TypeVar

import attrs

from sapwood.events.times import iso
from sapwood.store.disk import Disk, RealDisk
from sapwood.store.folders import Folders, RealFolders

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

EPOCH_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z: where scripted time begins, so that files made in tests bear believable dates."""


class RunSync(Protocol):
    """Runs a plain function where it may block."""

    def __call__(self, function: Callable[[], T], /) -> Awaitable[T]: ...


async def _in_thread(function: Callable[[], T], /) -> T:
    import trio  # noqa: PLC0415 - who only reads sessions does not pay for it

    return await trio.to_thread.run_sync(function)


async def _left_on_cancel(function: Callable[[], T], /) -> T:
    import trio  # noqa: PLC0415 - as above

    # a limiter of its own: what hangs for ever must not use up the threads that the disk needs
    return await trio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))


async def _in_place(function: Callable[[], T], /) -> T:
    import trio  # noqa: PLC0415 - as above

    await trio.lowlevel.checkpoint()
    return function()


class NewHttpClient(Protocol):
    """Makes a client. `connections`: how many it has at most; `secure`: whether it is for https.

    A connection that is not is closed after its answer: servers on one's own machine close theirs without a word, and the next request
    would meet that. Opening another one costs them nothing.
    """

    def __call__(
        self, *, trust_env: bool = False, connections: int | None = None, secure: bool = True
    ) -> httpx.AsyncClient: ...


def _new_http_client(
    *, trust_env: bool = False, connections: int | None = None, secure: bool = True
) -> httpx.AsyncClient:
    import httpx  # noqa: PLC0415 - 0.1 s of import that a session without a provider on the network need not pay

    # trust_env: an embedded session reads no environment variable unless asked to (E3)
    # timeout: silence is measured by who reads, from event to event; a server that cannot be reached is told after 30 s
    return httpx.AsyncClient(
        trust_env=trust_env,
        http2=False,
        verify=secure,  # what is read for it takes 0.1 s and more, and is for nothing where there is no TLS
        follow_redirects=False,  # the key would go along
        timeout=httpx.Timeout(None, connect=30),
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=20 if secure else 0),
    )


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


@attrs.frozen(kw_only=True)
class Environment:
    """What the outside world is, for one runtime."""

    now_ms: Callable[[], int] = _wall_ms
    """Unix milliseconds."""
    random: Callable[[int], bytes] = os.urandom
    """n random bytes."""
    run_sync: RunSync = _in_thread
    """Where blocking work goes: a thread; in place when time is virtual, since virtual time would jump over a thread."""
    run_foreign: RunSync = _left_on_cancel
    """For a host's plain functions, long texts, and what may hang at a file that is not ours: who is cancelled leaves it to its thread."""
    disk: Disk = attrs.field(factory=RealDisk)
    folders: Folders = attrs.field(factory=RealFolders)
    http: NewHttpClient = _new_http_client
    """Makes a client; one a provider, for the runtime's life."""

    @classmethod
    def scripted(cls, seed: int = 0, *, disk: Disk | None = None) -> Environment:
        """The same world every time: ids from `seed`, time from trio's clock (a virtual one in tests), work done in place."""
        import trio  # noqa: PLC0415 - as above

        source = Random(seed)  # noqa: S311 - ids that are the same each time are the point

        def now_ms() -> int:
            return EPOCH_MS + round(trio.current_time() * 1000)

        return cls(
            now_ms=now_ms, random=source.randbytes, run_sync=_in_place, run_foreign=_in_place, disk=disk or RealDisk()
        )

    def fraction(self) -> float:
        """A number drawn from 0 up to 1."""
        return int.from_bytes(self.random(2), "big") / 2**16

    def timestamp(self) -> str:
        """Now, as entries bear it: ISO 8601, UTC, milliseconds."""
        return iso(self.now_ms())
