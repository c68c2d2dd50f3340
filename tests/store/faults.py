"""A disk that fails when it is told to: a real one, with a plan.

1. Every call is counted and named, in order; a plan says which of them fail, and how.
2. A write can take a part first and fail then, or take all of it and fail all the same.
3. What is left open is known; `let_go` closes it, so that a test that fails spoils no other.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from sapwood.store.disk import RealDisk, Status

T = TypeVar("T")

ERRNOS: Final = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT)
"""Not EINTR: a write that is interrupted is gone on with, as often as that happens."""


def error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class FaultyDisk:
    """RealDisk's calls, as long as the plan lets them through."""

    def __init__(self) -> None:
        self.real = RealDisk()
        self.calls: list[str] = []
        self.plan: Callable[[int, str], int | None] = lambda _number, _name: None
        """The errno that a call fails with, by its number (from 0) and name; None lets it through."""
        self.takes: int | None = None
        """How many bytes a write takes, at most."""
        self.takes_before_failing = 0
        """How many bytes a write that fails has taken all the same."""
        self.open_descriptors: set[int] = set()
        self.read_lengths: list[int] = []
        self.synced_folders: list[str] = []

    def _call(self, name: str, act: Callable[[], T], failing: Callable[[], object] = lambda: None) -> T:
        number = len(self.calls)
        self.calls.append(name)
        fault = self.plan(number, name)
        if fault is not None:
            failing()
            raise error(fault)
        return act()

    def _opened(self, descriptor: int) -> int:
        self.open_descriptors.add(descriptor)
        return descriptor

    def open_read(self, path: str) -> int:
        return self._opened(self._call("open_read", lambda: self.real.open_read(path)))

    def open_append(self, path: str) -> int:
        return self._opened(self._call("open_append", lambda: self.real.open_append(path)))

    def create(self, path: str) -> int:
        return self._opened(self._call("create", lambda: self.real.create(path)))

    def read(self, descriptor: int, offset: int, length: int) -> bytes:
        self.read_lengths.append(length)
        return self._call("read", lambda: self.real.read(descriptor, offset, length))

    def write(self, descriptor: int, data: bytes) -> int:
        taken = data if self.takes is None else data[: self.takes]
        early = data[: self.takes_before_failing]
        return self._call(
            "write",
            lambda: self.real.write(descriptor, taken) if taken else 0,
            lambda: self.real.write(descriptor, early) if early else 0,
        )

    def position(self, descriptor: int) -> int:
        return self._call("position", lambda: self.real.position(descriptor))

    def truncate(self, descriptor: int, size: int) -> None:
        self._call("truncate", lambda: self.real.truncate(descriptor, size))

    def status(self, descriptor: int) -> Status:
        return self._call("status", lambda: self.real.status(descriptor))

    def status_at(self, path: str) -> Status:
        return self._call("status_at", lambda: self.real.status_at(path))

    def exchange(self, descriptor: int, new: int) -> None:
        self._call("exchange", lambda: self.real.exchange(descriptor, new))
        self.open_descriptors.discard(new)

    def close(self, descriptor: int) -> None:
        # the kernel lets go of a descriptor even when close reports an error
        self.open_descriptors.discard(descriptor)
        self._call("close", lambda: self.real.close(descriptor), lambda: self.real.close(descriptor))

    def unlink(self, path: str) -> None:
        self._call("unlink", lambda: self.real.unlink(path))

    def sync(self, descriptor: int) -> None:
        # only whether it could be: the machine that runs the tests keeps its power
        self._call("sync", lambda: self.real.status(descriptor))

    def sync_folder(self, path: str) -> None:
        self._call("sync_folder", lambda: self.real.status_at(path or "."))
        self.synced_folders.append(path)

    def rename(self, path: str, new: str) -> None:
        self._call("rename", lambda: self.real.rename(path, new))

    def link(self, path: str, new: str) -> None:
        self._call("link", lambda: self.real.link(path, new))

    def make_folder(self, path: str) -> Sequence[str]:
        return self._call("make_folder", lambda: self.real.make_folder(path))

    def check_folder(self, path: str) -> None:
        self._call("check_folder", lambda: self.real.check_folder(path))

    def real_path(self, path: str) -> str:
        return self._call("real_path", lambda: self.real.real_path(path))

    def lock(self, descriptor: int) -> bool:
        return self._call("lock", lambda: self.real.lock(descriptor))

    def unlock(self, descriptor: int) -> None:
        self._call("unlock", lambda: self.real.unlock(descriptor))

    def lock_holder(self, descriptor: int) -> int | None:
        return self._call("lock_holder", lambda: self.real.lock_holder(descriptor))

    def process(self, pid: int) -> str | None:
        return self._call("process", lambda: self.real.process(pid))

    def let_go(self) -> None:
        """Close what is open."""
        for descriptor in self.open_descriptors:
            os.close(descriptor)
        self.open_descriptors.clear()

    @contextmanager
    def failing(
        self, number: int, *, names: tuple[str, ...] = (), only: int | None = None, and_on: bool = False
    ) -> Generator[None]:
        """Every call fails with this errno, or those of some names, or only the nth from now, or that one and all behind it."""
        first = len(self.calls)

        def plan(at: int, name: str) -> int | None:
            hit = (not names or name in names) and (
                only is None or at == first + only or (and_on and at > first + only)
            )
            return number if hit else None

        before, self.plan = self.plan, plan
        try:
            yield
        finally:
            self.plan = before
