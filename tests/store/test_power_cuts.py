"""What is acknowledged under durability `disk` survives a power cut at whatever call, whatever the medium makes of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import attrs
import pytest

from sapwood.events.errors import NotASession, StoreConflict
from sapwood.store.disk import Disk
from sapwood.store.jsonl import JsonlStore
from tests.store.power import Choose, PowerCut, PowerDisk, all_kept, all_lost, any_of
from tests.store.stores import file_of, header_of, line, lines_of, old_file, opened

PATH: Final = "/sessions/of/s.jsonl"
A, B = line("a"), line("b", "a")


@attrs.define
class Story:
    """What happens on a disk, and what of it was acknowledged by when the power went."""

    disk: PowerDisk
    acknowledged: list[bytes] = attrs.field(factory=list[bytes])
    where: str = PATH

    def opened(self) -> JsonlStore:
        return opened(PATH, self.disk)

    def append(self, store: JsonlStore, *lines: bytes) -> None:
        store.stage(lines)
        store.sync()
        store.commit()
        self.where = store.where
        self.acknowledged += lines

    def some(self, store: JsonlStore, name: str) -> None:
        """Appends of various sizes, one that is given up, and one that is hardened twice."""
        self.append(store, line(f"{name}0"))
        self.append(store, line(f"{name}1", f"{name}0", text="x" * 5_000), line(f"{name}2", f"{name}1"))
        store.stage([line(f"{name}-none", text="y" * 2_000), line(f"{name}-nor")])
        store.discard()
        self.append(store, line(f"{name}3", f"{name}2", text="z" * 700))
        store.sync()
        self.append(store, line(f"{name}4", f"{name}3"))


def a_new_session(story: Story) -> None:
    store = story.opened()
    story.some(store, "n")
    store.close()
    again = story.opened()
    story.append(again, line("again", "n4"))
    again.close()


def a_session_whose_first_append_is_given_up(story: Story) -> None:
    store = story.opened()
    store.stage([line("none", text="x" * 3_000)])
    store.discard()
    story.some(store, "n")


def a_session_that_was_there(story: Story) -> None:
    story.disk.put(PATH, file_of(A, B))
    story.acknowledged += [A, B]
    story.some(story.opened(), "n")


def a_session_that_was_torn(story: Story) -> None:
    story.disk.put(PATH, file_of(A) + b'{"type":"custom","id":"to')
    story.acknowledged.append(A)
    story.some(story.opened(), "n")


def an_empty_file(story: Story) -> None:
    story.disk.put(PATH, b"")
    story.some(story.opened(), "n")


def a_session_that_somebody_began_without_hardening_it(story: Story) -> None:
    """Their name for it may be lost still, with all that we add."""
    story.disk.put("/sessions/of/another.jsonl", file_of(A))
    store = story.opened()
    store.append([A])
    store.close()
    story.some(story.opened(), "n")


def a_version_1_session(story: Story) -> None:
    story.disk.put(PATH, old_file())
    store = story.opened()
    store.stage([line("none")])
    store.discard()
    story.some(store, "e")


def a_version_2_session(story: Story) -> None:
    story.disk.put(PATH, file_of(A, B, head=header_of(2) + b"\n"))
    story.some(story.opened(), "n")


def a_session_that_is_put_back(story: Story) -> None:
    store = story.opened()
    story.some(store, "n")
    for name, take_away in (("d", story.disk.unlink), ("r", replace_on(story.disk))):
        held, story.acknowledged = story.acknowledged, []
        take_away(PATH)  # theirs: what it loses until it is put back is not ours to keep
        with pytest.raises(StoreConflict):
            store.stage([line("none")])
        store.restore()
        story.acknowledged = held
        story.some(store, name)


def replace_on(disk: PowerDisk) -> Callable[[str], None]:
    def replace(path: str) -> None:
        descriptor = disk.create(path + ".theirs")
        disk.write(descriptor, file_of(line("theirs")))
        disk.sync(descriptor)
        disk.close(descriptor)
        disk.rename(path + ".theirs", path)

    return replace


STORIES: Final[list[Callable[[Story], None]]] = [
    a_new_session,
    a_session_whose_first_append_is_given_up,
    a_session_that_was_there,
    a_session_that_was_torn,
    an_empty_file,
    a_session_that_somebody_began_without_hardening_it,
    a_version_1_session,
    a_version_2_session,
    a_session_that_is_put_back,
]


def told(tell: Callable[[Story], None], cut_at: int | None) -> Story:
    """A story, as far as the power lasts."""
    story = Story(PowerDisk())
    story.disk.cut_at = cut_at
    try:
        tell(story)
    except PowerCut:
        assert cut_at is not None
    else:
        assert cut_at in {None, len(story.disk.calls)}
    return story


def variants(seed: int, count: int) -> Iterator[tuple[Choose, Choose, Choose]]:
    """Sizes, sectors, names: all of each as it was when it was last synced, all as it is, or as chance has it."""
    for name in (all_lost, all_kept):
        yield all_lost, all_lost, name
        yield all_kept, all_lost, name
        yield all_kept, all_kept, name
    for n in range(count):
        choose = any_of(seed * 1000 + n)
        yield choose, choose, choose
        yield all_kept, choose, all_kept


@pytest.mark.slow
@pytest.mark.parametrize("tell", STORIES)
def test_what_was_acknowledged_survives_a_cut_at_whatever_call(tell: Callable[[Story], None]) -> None:
    cut_everywhere(tell, 2)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("tell", STORIES)
def test_what_was_acknowledged_survives_whatever_the_medium_holds(tell: Callable[[Story], None]) -> None:
    cut_everywhere(tell, 5)


def cut_everywhere(tell: Callable[[Story], None], count: int) -> None:
    calls = len(told(tell, None).disk.calls)
    assert calls > 30
    for cut_at in range(calls + 1):
        story = told(tell, cut_at)
        for how in variants(cut_at, count):
            check(story, story.disk.after(*how))


def check(story: Story, disk: PowerDisk) -> None:
    """All that was acknowledged is there, and goes on being there."""
    try:
        store = opened(story.where, disk)
    except NotASession:
        assert story.acknowledged == []  # it ended before its first line was whole
        return
    assert is_within(story.acknowledged, lines_of(store))
    store.stage([line("later")])
    store.sync()
    store.commit()
    before = lines_of(store)
    assert is_within([*story.acknowledged, line("later")], before)
    again = opened(store.where, disk.after(all_lost, all_lost, all_lost))
    assert lines_of(again) == before


def is_within(some: list[bytes], all_of_them: list[bytes]) -> bool:
    """Whether these are there, in this order."""
    rest = iter(all_of_them)
    return all(one in rest for one in some)


def test_without_a_sync_a_cut_may_take_everything() -> None:
    """Else this disk would promise more than a real one."""
    story = Story(PowerDisk())
    store = story.opened()
    store.append([A])
    assert len(opened(PATH, story.disk.after(all_lost, all_lost, all_lost)).tree) == 0
    with pytest.raises(NotASession):
        opened(PATH, story.disk.after(all_kept, all_lost, all_kept))
    store.sync()
    assert lines_of(opened(PATH, story.disk.after(all_lost, all_lost, all_lost))) == [A]


@pytest.mark.parametrize("name", ["sync", "sync_folder"])
def test_a_sync_that_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def nothing(self: PowerDisk, *_arguments: object) -> None:
        self.calls.append(name)

    monkeypatch.setattr(PowerDisk, name, nothing)
    with pytest.raises((AssertionError, NotASession)):
        cut_everywhere(a_new_session, 2)


def test_the_disk_is_one() -> None:
    disk: Disk = PowerDisk()
    assert disk.make_folder("/a/b") == ["/a", "/a/b"]
