"""`check_store` goes red for a store that breaks a promise, and says which."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import pytest

from sapwood.events.codec import decode_envelope
from sapwood.events.entries import Header
from sapwood.events.errors import CannotWrite, SessionInUse, StoreClosed
from sapwood.store.memory import MemoryStore
from sapwood.store.port import Store
from sapwood.store.testing import StoreMaker, check_store
from tests.build import HEADER
from tests.store.faults import error
from tests.store.stores import lines_of, memory_maker


class Sound(MemoryStore):
    """A memory store that can be made to fail, and is right when it does."""

    broken = False

    def append(self, lines: Sequence[bytes]) -> None:
        if self.broken:
            self.break_down(lines)
            raise CannotWrite(self.where, error(28))
        super().append(lines)

    def break_down(self, lines: Sequence[bytes]) -> None:
        pass


class Reorders(Sound):
    def append(self, lines: Sequence[bytes]) -> None:
        super().append(list(reversed(lines)))


class LosesTheLastLine(Sound):
    def append(self, lines: Sequence[bytes]) -> None:
        super().append(lines if len(lines) < 2 else lines[:-1])


class IndexesFirst(Sound):
    def break_down(self, lines: Sequence[bytes]) -> None:
        self.tree.extend([*map(decode_envelope, lines)])


class ChangesBytes(Sound):
    def line(self, index: int) -> bytes:
        return super().line(index).replace(b"\\u00e9", "é".encode())


class TrimsBytes(Sound):
    def append(self, lines: Sequence[bytes]) -> None:
        super().append([line.strip(b" \t") for line in lines])


class AppendsOneByOne(Sound):
    def append(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            super().append([line])


class KeepsWhatFailed(Sound):
    def break_down(self, lines: Sequence[bytes]) -> None:
        MemoryStore.append(self, lines[:1])


class KeepsWhatFailedOutOfSight(Sound):
    def __init__(self, header: Header, lines: Sequence[bytes] = ()) -> None:
        super().__init__(header, lines)
        self.hidden: list[bytes] = []

    def break_down(self, lines: Sequence[bytes]) -> None:
        self.hidden = list(lines)


class SwallowsFailures(Sound):
    def append(self, lines: Sequence[bytes]) -> None:
        if not self.broken:
            super().append(lines)


class TakesAnyLine(Sound):
    def append(self, lines: Sequence[bytes]) -> None:
        super().append([line.replace(b"\n", b"").rstrip(b"\r") for line in lines])


class TakesAnIdTwice(Sound):
    def append(self, lines: Sequence[bytes]) -> None:
        super().append([line for line in lines if decode_envelope(line).id not in self.tree])


class StaysOpen(Sound):
    def close(self) -> None:
        pass


class ClosesOnce(Sound):
    def close(self) -> None:
        if self._closed:
            raise StoreClosed(self.where)
        super().close()


class IsFull(Sound):
    @property
    def read_only(self) -> bool:
        return True


class BeginsWithSomething(Sound):
    def __init__(self, header: Header, lines: Sequence[bytes] = ()) -> None:
        super().__init__(header, lines or [b'{"type":"custom","id":"here","parentId":null}'])


class WalksBackwards(Sound):
    def line(self, index: int) -> bytes:
        return super().line(len(self.tree) - 1 - index)


class CountsFromTheEnd(Sound):
    def line(self, index: int) -> bytes:
        return super().line(index % len(self.tree) if index < 0 and len(self.tree) else index)


class ShowsWhatIsStaged(Sound):
    def stage(self, lines: Sequence[bytes]) -> None:
        super().stage(lines)
        self.commit()


class KeepsWhatIsDiscarded(Sound):
    def discard(self) -> None:
        self.commit()


class GrowsByItself(Sound):
    def refresh(self) -> None:
        self.append([b'{"type":"custom","id":"here%d","parentId":null}' % len(self.tree)])


BROKEN: list[tuple[type[Sound], str]] = [
    (Reorders, "appended was"),
    (LosesTheLastLine, "appended was"),
    (IndexesFirst, "no line for one of them"),
    (ChangesBytes, "appended was"),
    (TrimsBytes, "appended was"),
    (AppendsOneByOne, "in it raised, and the store shows"),
    (KeepsWhatFailed, "a write that fails raised, and the store shows"),
    (KeepsWhatFailedOutOfSight, "a failed append is there after reopening"),
    (SwallowsFailures, "a write that fails raised nothing"),
    (TakesAnyLine, "a newline in a line"),
    (TakesAnIdTwice, "an id that is taken in it raised nothing"),
    (StaysOpen, "line() of a closed store raised nothing"),
    (ClosesOnce, "raised StoreClosed"),
    (IsFull, "refuses to be written"),
    (BeginsWithSomething, "holds 1 entries before the first append"),
    (CountsFromTheEnd, "line(-3) of a store of two entries raised nothing"),
    (WalksBackwards, "an append changed what was there"),
    (ShowsWhatIsStaged, "what is staged shows before it is committed"),
    (KeepsWhatIsDiscarded, "after a discard the store shows"),
    (GrowsByItself, "a refresh changed"),
]


def maker_of(kind: Callable[[Header, Sequence[bytes]], Sound]) -> StoreMaker:
    def reopen(store: Store) -> Store:
        lines = [*lines_of(store), *getattr(store, "hidden", [])]
        store.close()
        return kind(store.header, lines)

    @contextmanager
    def refusing(store: Store) -> Generator[None]:
        assert isinstance(store, Sound)
        store.broken = True
        try:
            yield
        finally:
            store.broken = False

    return StoreMaker(new=lambda: kind(HEADER, []), reopen=reopen, refusing=refusing)


def test_a_sound_store_passes() -> None:
    check_store(maker_of(Sound))


@pytest.mark.parametrize(("kind", "complaint"), BROKEN, ids=lambda value: getattr(value, "__name__", None))
def test_a_broken_store_is_told(kind: type[Sound], complaint: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_store(maker_of(kind))

    assert complaint in str(caught.value)


def broken_reopening(change: Callable[[Store], Store]) -> StoreMaker:
    sound = memory_maker()
    return StoreMaker(new=sound.new, reopen=lambda store: change(sound.reopen(store)))


def test_a_store_that_forgets_when_it_is_closed_is_told() -> None:
    with pytest.raises(AssertionError, match="reopened, the store shows"):
        check_store(broken_reopening(lambda store: MemoryStore(store.header, lines_of(store)[:-1])))


def test_a_store_that_begins_a_new_session_when_it_is_reopened_is_told() -> None:
    another = Header(version=3, id=HEADER.id, timestamp="later")

    with pytest.raises(AssertionError, match="the header is another one"):
        check_store(broken_reopening(lambda store: MemoryStore(another, lines_of(store))))


def test_a_store_that_changes_its_header_is_told() -> None:
    class Restless(MemoryStore):
        def append(self, lines: Sequence[bytes]) -> None:
            super().append(lines)
            self._header = Header(version=3, id=HEADER.id, timestamp=f"after {len(self.tree)}")

    with pytest.raises(AssertionError, match="the header changed with the first append"):
        check_store(StoreMaker(new=lambda: Restless(HEADER), reopen=memory_maker().reopen))


def second_writer(make: Callable[[Store, bool], Store]) -> StoreMaker:
    sound = memory_maker()
    return StoreMaker(new=sound.new, reopen=sound.reopen, second=make)


def test_a_store_that_lets_a_second_writer_in_is_told() -> None:
    with pytest.raises(AssertionError, match="a second writer raised nothing"):
        check_store(second_writer(lambda store, read_only: store))


def test_a_reader_that_may_write_is_told() -> None:
    def second(store: Store, read_only: bool) -> Store:
        if not read_only:
            raise SessionInUse(store.where, None)
        return store

    with pytest.raises(AssertionError, match="opened for reading alone says that it may be written"):
        check_store(second_writer(second))
