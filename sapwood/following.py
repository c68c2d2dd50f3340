"""A session that somebody else writes, followed: read, told of what comes, and read again. Writes nothing (S4, S10).

The file is looked at again and again while somebody waits for what comes: files on every system can be looked at, and no thread is needed
that would have to be ended. Nobody waits, nobody looks.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Final, TypeAlias

import trio

from sapwood.actors.environment import Environment
from sapwood.events.context import DEFAULT_COUNTER, CounterName
from sapwood.events.entries import Unknown
from sapwood.events.errors import Refused
from sapwood.events.ids import EntryId
from sapwood.events.runtime import DamageFound, EntryAppended, SessionFileLost
from sapwood.opening import open_file
from sapwood.reading import ReadSession
from sapwood.store.following import Follower
from sapwood.taking import take_counter, take_path

EVERY: Final = 0.04
"""Seconds between two looks: what comes is told within 0.1 s, and a look costs 20 µs."""

FollowEvent: TypeAlias = EntryAppended | DamageFound | SessionFileLost


class Following(ReadSession, trio.abc.ReceiveChannel[FollowEvent]):
    """A channel of what comes to a session file, and the session as it was when the last event was received. Made by `follow`.

    1. `EntryAppended` is each entry once, in file order. A half line is none; a writer that was killed leaves one, which is told by
       `DamageFound` as soon as another line stands behind it.
    2. `SessionFileLost` is the last event, if there is an end: the file was deleted, replaced, made shorter or changed.
    """

    def __init__(self, follower: Follower, counter: CounterName, begin: int) -> None:
        super().__init__(follower.store, counter)
        self._follower = follower
        self._counter: CounterName = counter
        self._next = begin
        self._events: deque[FollowEvent] = deque()
        self._over = False
        try:
            self._look()  # what is wrong with the file is told first
        except BaseException:
            self.close()
            raise

    async def receive(self) -> FollowEvent:
        """The next event, once there is one; `EndOfChannel` behind the last. Raises `CannotOpen`: whoever asks again looks again."""
        await trio.lowlevel.checkpoint()
        while True:
            if self._closed:
                raise trio.ClosedResourceError
            if self._events:
                return self._events.popleft()
            if self._next < len(self._view):
                return self._told(self._next)
            if self._over:
                raise trio.EndOfChannel
            if not self._look():
                await trio.sleep(EVERY)

    async def aclose(self) -> None:
        """Close the file. Twice does nothing."""
        self.close()
        await trio.lowlevel.checkpoint()

    def _look(self) -> bool:
        """Whether there is something to tell."""
        seen = self._follower.look(self._next)
        if self._follower.store is not self._store:
            self._begin(self._follower.store, self._counter)
        if seen.damage:
            self._events.append(DamageFound(records=tuple(seen.damage)))
        if seen.lost is not None:
            self._events.append(SessionFileLost(path=self.path, what=seen.lost))
            self._over = True
        return bool(self._events) or self._next < len(self._view)

    def _told(self, place: int) -> EntryAppended:
        entry = self._view.entry(place)
        self._next += 1  # what the disk did not give is asked for again
        known = None if isinstance(entry, Unknown) else entry
        return EntryAppended(entry_id=entry.id, kind=self._view.tree.kind(place), entry=known)


def follow(
    path: str | os.PathLike[str],
    *,
    last: int | None = None,
    since: EntryId | None = None,
    counter: CounterName = DEFAULT_COUNTER,
) -> Following:
    """Follow a session file of any version, whoever writes it: ours, Pi, or nobody yet.

        async with sapwood.follow("work.jsonl", last=0) as following:
            async for event in following:
                ...

    The file is read once, here, as `read` does; from then on only what comes to it.

    Args:
        path: the file, which must be there; an empty one is followed from its first line on.
        last: of the entries that are there, tell only so many, the last ones; None: all of them.
        since: tell only what is behind this entry: for a program that goes on where it ended.
        counter: counts tokens, as for `read`.

    Raises `NotASession` and `CannotOpen`, the file's fault, and `Refused`: for both `last` and `since`, and for an entry that is not there.
    """
    path, counter, environment = take_path(path), take_counter(counter), Environment()
    if last is not None and since is not None:
        raise Refused("bad-input", "give last=… or since=…, not both")
    if last is not None and last < 0:
        raise Refused("bad-input", "last=… is a number of entries, 0 or more")
    follower = Follower(lambda: open_file(path, environment, read_only=True))
    entries = len(follower.store.tree)
    begin = 0 if last is None else max(0, entries - last)
    if since is not None:
        place = follower.store.tree.index(since)
        if place is None:
            follower.store.close()
            raise Refused("unknown-entry", f"there is no entry {since} to go on from: read the tree again")
        begin = place + 1
    return Following(follower, counter, begin)
