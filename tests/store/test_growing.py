"""A file that only grows, on a disk that fails at every call that there is."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from sapwood.events.errors import SessionInUse, StoreConflict
from sapwood.store.disk import RealDisk
from sapwood.store.growing import GrowingFile
from sapwood.store.known import TAIL
from sapwood.store.lock import WriterLock
from tests.store.faults import ERRNOS, FaultyDisk, error
from tests.store.stores import me


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.let_go()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def whole(file: GrowingFile) -> bytes | None:
    """What is in it when it is opened; None of nothing."""
    return b"".join(window.data for window in file.windows(1)) if file.open() else None


def file_at(path: Path, disk: FaultyDisk, content: bytes | None = None) -> GrowingFile:
    if content is not None:
        path.write_bytes(content)
    file = GrowingFile(str(path), disk, WriterLock(disk, me))
    assert whole(file) == (content or None)
    file.open_for_writing()
    return file


def assert_conflict(file: GrowingFile, what: str, data: bytes = b"three\n") -> None:
    """The append is refused, however often, and whether somebody looked before or not."""

    def append_after_looking() -> None:
        file.news()
        file.append(data)

    for act in (lambda: file.append(data), append_after_looking, lambda: file.append(data)):
        with pytest.raises(StoreConflict) as caught:
            act()
        assert (caught.value.path, caught.value.what) == (file.path, what)


def test_an_append_tells_where_it_begins(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk)

    assert [file.append(b"one\n"), file.append(b"two\nthree\n"), file.append(b"four\n")] == [0, 4, 14]
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\n"
    assert (file.read(4, 3), file.read(8, 5)) == (b"two", b"three")


def test_an_append_is_one_write(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk)
    file.append(b"one\ntwo\n")
    first = disk.calls.count("write")
    file.append(b"three\nfour\n")
    file.append(b"five\n")

    assert disk.calls.count("write") == first + 2


@pytest.mark.parametrize("tail", [b"torn", b'{"whole":1}', b"\0\0\0", b"\r"])
def test_an_append_begins_on_a_fresh_line(path: Path, disk: FaultyDisk, tail: bytes) -> None:
    file = file_at(path, disk, b"one\n" + tail)

    assert file.append(b"two\n") == len(tail) + 5
    assert path.read_bytes() == b"one\n" + tail + b"\ntwo\n"


def test_it_knows_how_long_the_file_is_behind_a_torn_line(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"torn")
    file.append(b"two\n")
    os.truncate(path, len(b"torn\ntwo"))

    assert_conflict(file, "shortened")


def test_a_write_that_is_taken_in_parts_is_gone_on_with(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    disk.takes = 3

    assert file.append(b"two\nthree\n") == 4
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_a_write_that_takes_nothing_is_a_full_disk(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    disk.takes = 0

    with pytest.raises(OSError, match="No space") as caught:
        file.append(b"two\n")
    assert caught.value.errno == errno.ENOSPC


def test_a_write_that_is_interrupted_is_gone_on_with(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    disk.takes = 3
    # every other call, as a handler that ends makes it
    disk.plan = lambda number, name: errno.EINTR if name == "write" and number % 2 else None

    assert file.append(b"two\nthree\n") == 4
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert disk.calls.count("write") > 4


@pytest.mark.parametrize("taken", [0, 1, 5, 10])
@pytest.mark.parametrize("number", ERRNOS)
def test_a_failed_write_is_cut_off_again(path: Path, disk: FaultyDisk, number: int, taken: int) -> None:
    file = file_at(path, disk, b"one\n")
    disk.takes_before_failing = taken

    with disk.failing(number, names=("write",)), pytest.raises(OSError, match=os.strerror(number)) as caught:
        file.append(b"two\nthree\n")

    assert caught.value.errno == number
    assert path.read_bytes() == b"one\n"
    assert file.append(b"four\n") == 4


def test_a_write_that_fails_after_a_part_is_cut_off_whole(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    disk.takes = 3
    disk.plan = lambda number, name: errno.EIO if name == "write" and disk.calls[:number].count("write") else None

    with pytest.raises(OSError, match="Input/output"):
        file.append(b"two\nthree\n")

    assert path.read_bytes() == b"one\n"


def test_what_cannot_be_cut_off_now_is_cut_off_before_the_next_append(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    disk.takes_before_failing = 6

    with disk.failing(errno.EIO, names=("write", "truncate")):
        for _ in range(2):
            with pytest.raises(OSError, match="Input/output"):
                file.append(b"two\nthree\n")
            # the disk refuses even this: the rest stays, told to nobody
            assert path.read_bytes() == b"one\ntwo\nth"

    assert file.append(b"four\n") == 4
    assert path.read_bytes() == b"one\nfour\n"


def test_an_interrupt_in_a_write_is_cut_off_as_well(
    path: Path, disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = file_at(path, disk, b"one\n")

    def interrupted(descriptor: int, data: bytes) -> int:
        os.write(descriptor, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(disk, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        file.append(b"two\n")

    assert path.read_bytes() == b"one\n"


def test_a_new_file_that_cannot_be_filled_is_taken_away(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk)
    disk.takes_before_failing = 3

    with disk.failing(errno.ENOSPC, names=("write",)), pytest.raises(OSError, match="No space"):
        file.append(b"one\ntwo\n")
    assert not path.exists()
    assert disk.open_descriptors == set()

    assert file.append(b"three\n") == 0
    assert path.read_bytes() == b"three\n"


def test_a_new_file_that_cannot_be_taken_away_stays_ours_and_empty(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk)
    disk.takes_before_failing = 3

    with disk.failing(errno.EIO, names=("write", "unlink")), pytest.raises(OSError, match="Input/output"):
        file.append(b"one\ntwo\n")
    assert path.read_bytes() == b""

    assert file.append(b"three\n") == 0
    assert path.read_bytes() == b"three\n"


def test_a_new_file_that_can_neither_be_filled_nor_emptied_nor_taken_away_is_emptied_later(
    path: Path, disk: FaultyDisk
) -> None:
    file = file_at(path, disk)
    disk.takes_before_failing = 3

    with disk.failing(errno.EIO, names=("write", "unlink", "truncate", "open_read")):
        with pytest.raises(OSError, match="Input/output"):
            file.append(b"one\ntwo\n")
        with pytest.raises(OSError, match="Input/output"):
            file.append(b"one\ntwo\n")

    assert file.append(b"three\n") == 0
    assert path.read_bytes() == b"three\n"


@attrs.frozen
class Scene:
    """A file as it is before an append that is to fail."""

    content: bytes | None
    earlier: bytes | None = None

    def play(self, path: Path, disk: FaultyDisk) -> GrowingFile:
        file = file_at(path, disk, self.content)
        if self.earlier is not None:
            file.append(self.earlier)
        return file

    @property
    def before(self) -> bytes:
        return (self.content or b"") + (self.earlier or b"")


SCENES = {
    "no file": Scene(None),
    "no file, second append": Scene(None, b"one\n"),
    "empty file": Scene(b""),
    "file": Scene(b"one\n"),
    "file, second append": Scene(b"one\n", b"two\n"),
    "torn file": Scene(b"one\ntw"),
}
BATCH = b"three\nfour\n"


CALLS = 16
"""That a first append makes; no other makes as many."""


def test_the_first_append_makes_the_most_calls(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk)
    first = len(disk.calls)
    file.append(BATCH)
    names = [
        "make_folder",
        "create",
        "open_read",
        "lock",
        "real_path",
        "process",
        "open_read",
        "create",
        "write",
        "close",
    ]
    assert disk.calls[first:] == [*names, "status", "status", "status_at", "status", "write", "position"]
    assert len(disk.calls) - first == CALLS

    disk.calls.clear()
    file.append(BATCH)
    assert disk.calls == ["status_at", "read", "write", "position"]
    disk.calls.clear()
    file.news()
    file.append(BATCH)
    assert disk.calls == ["status_at", "read", "write", "position"]


@pytest.mark.parametrize("undo_fails", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("nth", range(CALLS))
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_whatever_call_fails_the_append_is_there_or_is_not(
    scene: Scene, nth: int, undo_fails: bool, tmp_path: Path, disk: FaultyDisk
) -> None:
    for number in ERRNOS:
        path = tmp_path / str(number) / "log"
        path.parent.mkdir()
        file = scene.play(path, disk)
        disk.takes_before_failing = 7
        with disk.failing(number, only=nth, and_on=undo_fails):
            told, start = tried(file, BATCH)
        if told is None:
            assert path.read_bytes()[start:] == BATCH
        else:
            assert told == number
            assert_something_of_nothing(path, scene.before, undone=not undo_fails)

        start = file.append(b"five\n")
        content = path.read_bytes()
        assert content[start:] == b"five\n"
        assert content.startswith(scene.before)
        assert content[len(scene.before) : start] in {b"", b"\n", BATCH, b"\n" + BATCH}
        file.close()
        assert disk.open_descriptors == set()
        assert not path.with_name("log.lock").exists()


def tried(file: GrowingFile, data: bytes) -> tuple[int | None, int]:
    """The errno that an append raises, if any, and where it begins."""
    try:
        return None, file.append(data)
    except OSError as error:
        return error.errno, -1


def assert_something_of_nothing(path: Path, before: bytes, *, undone: bool) -> None:
    """Nothing of the append stands in the file; or, where even undoing it failed, some first part of it, until the next append."""
    content = path.read_bytes() if path.exists() else b""
    assert content.startswith(before)
    rest = content[len(before) :]
    assert rest == b"" or (not undone and (BATCH.startswith(rest) or (b"\n" + BATCH).startswith(rest)))


def test_a_file_that_was_deleted_is_not_written_to(path: Path, disk: FaultyDisk) -> None:
    for earlier in (None, b"two\n"):
        file = Scene(b"one\n", earlier).play(path, disk)
        path.unlink()

        assert_conflict(file, "deleted")
        assert not path.exists()
        file.close()


def test_a_file_that_was_replaced_is_not_written_to(path: Path, disk: FaultyDisk, tmp_path: Path) -> None:
    for earlier in (None, b"two\n"):
        file = Scene(b"one\n", earlier).play(path, disk)
        ours = path.rename(tmp_path / "moved")
        path.write_bytes(b"another\n")

        assert_conflict(file, "replaced")
        assert path.read_bytes() == b"another\n"

        ours.rename(path)
        file.append(b"three\n")
        assert path.read_bytes() == b"one\n" + (earlier or b"") + b"three\n"
        file.close()


@pytest.mark.parametrize("left", [0, 3])
def test_a_file_that_was_made_shorter_is_not_written_to(path: Path, disk: FaultyDisk, left: int) -> None:
    file = Scene(b"one\n", b"two\n").play(path, disk)
    os.truncate(path, left)

    assert_conflict(file, "shortened")
    assert path.stat().st_size == left
    with pytest.raises(OSError, match="made the file shorter"):
        file.read(4, 3)


@pytest.mark.parametrize("longer", [0, 1, 100])
def test_a_file_that_was_made_shorter_and_grew_again_is_not_written_to(
    path: Path, disk: FaultyDisk, longer: int
) -> None:
    ours = b"".join(b"%d\n" % n for n in range(100))
    file = Scene(ours, b"two\n").play(path, disk)
    theirs = ours[:50] + b"x" * (len(ours) - 47 + longer) + b"\n"
    with path.open("r+b") as other:
        other.truncate(50)
        other.seek(0)
        other.write(theirs)

    assert_conflict(file, "changed")
    assert path.read_bytes() == theirs


def test_the_end_is_compared_and_no_more(path: Path, disk: FaultyDisk) -> None:
    """What it costs must not depend on the file's length."""
    file = file_at(path, disk, b"x" * 5000 + b"\n")
    disk.read_lengths.clear()
    file.append(b"two\n")

    assert disk.read_lengths == [TAIL]


def test_a_file_that_somebody_else_made_is_left_to_them(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk)
    path.write_bytes(b"theirs\n")

    assert_conflict(file, "begun")
    assert path.read_bytes() == b"theirs\n"
    assert disk.open_descriptors == set()


def test_a_file_that_somebody_else_made_and_writes_is_in_use(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk)
    theirs = file_at(path, disk)
    theirs.append(b"theirs\n")

    for _ in range(2):
        with pytest.raises(SessionInUse) as caught:
            file.append(b"ours\n")
        assert (caught.value.path, caught.value.owner) == (str(path), me())
    assert path.read_bytes() == b"theirs\n"
    theirs.append(b"more\n")
    theirs.close()
    assert disk.open_descriptors == set()
    assert_conflict(file, "begun")


def test_a_file_that_somebody_else_begins_as_soon_as_we_have_made_it_is_theirs(path: Path, disk: FaultyDisk) -> None:
    """Made by us, empty, and locked by who opened it first."""
    file, theirs = file_at(path, disk), GrowingFile(str(path), RealDisk(), WriterLock(RealDisk(), me))
    make = disk.create

    def create(text: str) -> int:
        descriptor = make(text)
        assert not theirs.open()
        return descriptor

    setattr(disk, "create", create)  # noqa: B010 - a method is not to be assigned, for the type checkers
    with pytest.raises(SessionInUse):
        file.append(b"ours\n")

    assert theirs.append(b"theirs\n") == 0
    assert path.read_bytes() == b"theirs\n"
    file.close()
    assert disk.open_descriptors == set()
    theirs.close()


def test_a_file_is_made_where_a_symlink_leads(path: Path, disk: FaultyDisk) -> None:
    """It used to be taken for a file that somebody else had begun."""
    path.symlink_to("target")
    file = file_at(path, disk)
    disk.takes_before_failing = 2
    with disk.failing(errno.EIO, names=("write",)), pytest.raises(OSError, match="Input/output"):
        file.append(b"one\n")
    assert path.is_symlink()
    assert not path.exists()

    file.append(b"one\n")
    assert path.with_name("target").read_bytes() == b"one\n"
    assert path.with_name("target.lock").exists()
    assert path.is_symlink()


def theirs_after(path: Path, disk: FaultyDisk, name: str, theirs: bytes) -> None:
    """Somebody else writes into the file as soon as we have made this call."""
    made = getattr(disk, name)

    def call(*args: object) -> object:
        result = made(*args)
        if name != "create" or args == (str(path),):
            with path.open("ab") as other:
                other.write(theirs)
        return result

    setattr(disk, name, call)


def test_a_file_that_we_made_and_somebody_else_began_is_left_to_them(path: Path, disk: FaultyDisk) -> None:
    """It used to be unlinked, with the other writer's session in it."""
    file = file_at(path, disk)
    theirs_after(path, disk, "create", b"theirs\n")

    with pytest.raises(StoreConflict, match="somebody else has begun"):
        file.append(b"ours\n")

    assert path.read_bytes() == b"theirs\n"
    assert disk.open_descriptors == set()
    del disk.create
    assert_conflict(file, "begun")
    assert path.read_bytes() == b"theirs\n"


def test_a_file_that_we_made_and_somebody_else_wrote_into_with_us_is_left_to_both(path: Path, disk: FaultyDisk) -> None:
    """It used to be unlinked, with the other writer's bytes in it."""
    file = file_at(path, disk)
    written_between(path, disk, b"half a l")

    with pytest.raises(StoreConflict, match="somebody else has changed"):
        file.append(b"ours\n")

    assert path.read_bytes() == b"half a lours\n"
    assert disk.open_descriptors == set()


@pytest.mark.parametrize("after", [False, True])
def test_a_file_that_we_made_and_could_not_fill_is_left_to_who_else_wrote_into_it(
    path: Path, disk: FaultyDisk, after: bool
) -> None:
    file = file_at(path, disk)
    written_between(path, disk, b"theirs\n", then=errno.ENOSPC, after=after)

    with pytest.raises(OSError, match="No space"):
        file.append(b"ours\n")

    assert path.read_bytes() == (b"outheirs\n" if after else b"theirs\nou")
    assert disk.open_descriptors == set()


@pytest.mark.parametrize("content", [b"theirs\n", b"", None])
def test_a_file_that_took_the_place_of_the_one_we_made_is_left_to_them(
    path: Path, disk: FaultyDisk, content: bytes | None
) -> None:
    file = file_at(path, disk)
    make = disk.create

    def create(text: str) -> int:
        descriptor = make(text)
        path.rename(path.with_name("moved"))
        if content is not None:
            path.write_bytes(content)
        return descriptor

    setattr(disk, "create", create)  # noqa: B010 - a method is not to be assigned, for the type checkers
    with pytest.raises((OSError, StoreConflict), match=r"somebody else has replaced|No such file"):
        file.append(b"ours\n")

    assert (path.read_bytes() if path.exists() else None) == content
    assert disk.open_descriptors == set()


@pytest.mark.parametrize("name", ["status", "status_at", "read"])
def test_a_new_file_that_cannot_be_looked_at_is_not_taken_away_unseen(path: Path, disk: FaultyDisk, name: str) -> None:
    file = file_at(path, disk)
    disk.takes_before_failing = 3

    with disk.failing(errno.EIO, names=("write", "truncate", name)), pytest.raises(OSError, match="Input/output"):
        file.append(b"one\ntwo\n")
    assert path.exists()

    assert file.append(b"three\n") == 0
    assert path.read_bytes() == b"three\n"


def test_an_empty_file_that_somebody_else_began_is_left_to_them(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"")
    path.write_bytes(b"theirs\n")

    assert_conflict(file, "begun")
    assert path.read_bytes() == b"theirs\n"


@pytest.mark.parametrize("theirs", [b"theirs\n", b"theirs", b"theirs\nand th"])
def test_a_file_that_only_grew_is_appended_to_on_a_fresh_line(path: Path, disk: FaultyDisk, theirs: bytes) -> None:
    file = file_at(path, disk, b"one\n")
    with path.open("ab") as other:
        other.write(theirs)

    start = file.append(b"two\n")

    content = path.read_bytes()
    assert content.startswith(b"one\n" + theirs)
    assert content[start - 1 :] == b"\ntwo\n"


def written_between(
    path: Path, disk: FaultyDisk, theirs: bytes, *, then: int | None = None, after: bool = False
) -> None:
    """Somebody else writes while we do: before our bytes land, or right behind them."""

    def write(descriptor: int, data: bytes) -> int:
        if Path(f"/proc/self/fd/{descriptor}").readlink() != path:
            return os.write(descriptor, data)  # who holds the lock
        for turn in ("theirs", "ours") if not after else ("ours", "theirs"):
            if turn == "theirs":
                with path.open("ab") as other:
                    other.write(theirs)
            else:
                os.write(descriptor, data if then is None else data[:2])
        if then is not None:
            raise error(then)
        return len(data)

    disk.write = write  # type: ignore[method-assign]


@pytest.mark.parametrize("after", [False, True])
def test_where_it_landed_is_told_when_somebody_else_was_faster(path: Path, disk: FaultyDisk, after: bool) -> None:
    file = file_at(path, disk, b"one\n")
    written_between(path, disk, b"theirs\n", after=after)

    start = file.append(b"two\n")

    assert file.read(start, 4) == b"two\n"
    assert file.before_ours() == ([] if after else [(4, b"theirs\n")])
    assert file.news() == ([(8, b"theirs\n")] if after else [])
    assert file.append(b"two\n") > start
    assert path.read_bytes() in {b"one\ntheirs\ntwo\ntheirs\ntwo\n", b"one\ntwo\ntheirs\ntwo\ntheirs\n"}


def test_our_own_fresh_line_is_enough_where_somebody_else_began_one_meanwhile(path: Path, disk: FaultyDisk) -> None:
    """It used to be refused, and was there all the same."""
    file = file_at(path, disk, b"one\ntorn")
    written_between(path, disk, b"half")

    assert file.append(b"two\n") == 13
    assert path.read_bytes() == b"one\ntornhalf\ntwo\n"
    assert file.news() == [(4, b"tornhalf\n")]


def test_a_line_that_somebody_else_wrote_into_is_not_acknowledged(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    written_between(path, disk, b"half a l")

    with pytest.raises(StoreConflict, match="somebody else has changed"):
        file.append(b"two\n")

    assert path.read_bytes() == b"one\nhalf a ltwo\n"
    del disk.write
    assert file.news() == [(4, b"half a ltwo\n")]
    assert file.append(b"two\n") == 16


@pytest.mark.parametrize("after", [False, True])
def test_what_somebody_else_wrote_is_never_cut(path: Path, disk: FaultyDisk, after: bool) -> None:
    file = file_at(path, disk, b"one\n")
    written_between(path, disk, b"theirs\n", then=errno.ENOSPC, after=after)

    with pytest.raises(OSError, match="No space"):
        file.append(b"two\n")

    content = path.read_bytes()
    assert content == (b"one\ntwtheirs\n" if after else b"one\ntheirs\ntw")
    del disk.write
    start = file.append(b"three\n")
    assert path.read_bytes()[: len(content)] == content
    assert path.read_bytes()[start - 1 :] == b"\nthree\n"


def test_closing_never_fails_and_twice_does_nothing(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    file.append(b"two\n")

    with disk.failing(errno.EIO):
        file.close()
        file.close()

    assert disk.open_descriptors == set()
    disk.calls.clear()
    file.close()
    assert disk.calls == []


def test_a_file_that_cannot_be_opened_raises_what_the_disk_says(path: Path, disk: FaultyDisk) -> None:
    path.write_bytes(b"one\n")
    for number in ERRNOS:
        for name in ("open_read", "status", "read"):
            file = GrowingFile(str(path), disk)
            with disk.failing(number, names=(name,)), pytest.raises(OSError, match=os.strerror(number)) as caught:
                whole(file)
            assert caught.value.errno == number
            file.close()
    assert disk.open_descriptors == set()


def test_what_somebody_else_appended_is_news_once_and_in_whole_lines(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    assert file.news() == []
    with path.open("ab", buffering=0) as other:
        other.write(b"two\nthree\nfo")
        assert file.news() == [(4, b"two\nthree\n")]
        assert file.news() == []
        other.write(b"ur\n")
        assert file.news() == [(14, b"four\n")]
        assert file.append(b"five\n") == 19
        assert file.news() == []
        other.write(b"six")
        assert file.news() == []
        assert file.append(b"seven\n") == 28
        assert file.news() == [(24, b"six\n")]
        other.write(b"rest\n")
        assert file.news() == [(34, b"rest\n")]
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\nfive\nsix\nseven\nrest\n"


def test_a_line_that_was_not_ended_when_the_file_was_opened_is_news_whole(path: Path, disk: FaultyDisk) -> None:
    """Its rest used to be taken for a line of its own."""
    for rest, news in ((b"o\nthree\n", [(4, b"two\nthree\n")]), (b"\nthree\n", [(7, b"three\n")]), (b"\n", [])):
        file = file_at(path, disk, b"one\ntw")
        with path.open("ab") as other:
            other.write(rest)
        assert file.news() == news
        assert file.append(b"four\n") == 6 + len(rest)
        assert file.news() == []
        file.close()


def test_what_the_disk_does_not_give_is_news_later(path: Path, disk: FaultyDisk) -> None:
    file = file_at(path, disk, b"one\n")
    with path.open("ab") as other:
        other.write(b"two\n")
    for nth in range(3):
        with disk.failing(errno.EIO, only=nth), pytest.raises(OSError, match="Input/output"):
            file.news()

    assert file.news() == [(4, b"two\n")]


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_what_is_taken_back_was_never_there(scene: Scene, path: Path, disk: FaultyDisk) -> None:
    file = scene.play(path, disk)
    before = path.read_bytes() if path.exists() else None
    for _ in range(2):
        file.append(BATCH)
        file.take_back()
        assert (path.read_bytes() if path.exists() else None) == before
        file.take_back()
    assert file.news() == []
    start = file.append(b"five\n")
    assert path.read_bytes()[start:] == b"five\n"
    assert path.read_bytes()[:start].strip(b"\n") == scene.before.strip(b"\n")


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_what_cannot_be_taken_back_now_is_cut_before_the_next_append_or_when_it_is_closed(
    scene: Scene, tmp_path: Path, disk: FaultyDisk
) -> None:
    for nth, close in ((nth, close) for nth in range(4) for close in (False, True)):
        path = tmp_path / f"{nth}-{close}" / "log"
        path.parent.mkdir()
        file = scene.play(path, disk)
        file.append(BATCH)
        with disk.failing(errno.EIO, only=nth, and_on=True):
            file.take_back()
        if not close:
            start = file.append(b"five\n")
            assert path.read_bytes()[start:] == b"five\n"
            assert path.read_bytes()[:start].strip(b"\n") == scene.before.strip(b"\n")
        file.close()
        if close:
            assert (path.read_bytes() if path.exists() else b"") == scene.before
        assert disk.open_descriptors == set()


def test_what_somebody_else_wrote_around_what_is_taken_back_is_news_once(path: Path, disk: FaultyDisk) -> None:
    """What stood before it used to be news twice."""
    file = file_at(path, disk, b"one\n")
    written_between(path, disk, b"theirs\n")
    file.append(b"two\n")
    file.take_back()
    assert path.read_bytes() == b"one\ntheirs\n"
    assert file.news() == [(4, b"theirs\n")]

    written_between(path, disk, b"more\n", after=True)
    file.append(b"three\n")
    file.take_back()
    # they wrote behind it: it stays, and is as good as theirs
    assert path.read_bytes() == b"one\ntheirs\nthree\nmore\n"
    assert file.news() == [(11, b"three\nmore\n")]


def test_what_is_taken_back_too_late_is_news(path: Path, disk: FaultyDisk) -> None:
    """Somebody wrote behind it, and that was listened to already."""
    file = file_at(path, disk, b"one")
    file.append(b"two\n")
    with path.open("ab") as other:
        other.write(b"theirs\n")
    assert file.news() == [(8, b"theirs\n")]
    file.take_back()

    assert path.read_bytes() == b"one\ntwo\ntheirs\n"
    assert file.news() == [(4, b"two\n")]
    assert file.append(b"three\n") == 15


def test_an_empty_file_that_was_there_is_not_taken_away(path: Path, disk: FaultyDisk) -> None:
    """It used to be, when what stood in it was taken back."""
    file = file_at(path, disk, b"")
    inode = path.stat().st_ino
    file.append(b"one\n")
    file.take_back()

    assert (path.read_bytes(), path.stat().st_ino) == (b"", inode)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_refused_append_is_cut_at_the_end_where_the_disk_lets_us(scene: Scene, path: Path, disk: FaultyDisk) -> None:
    """A look that fails behind a write that went well, and a cut that fails: the entry used to be there for the next reader."""
    file = scene.play(path, disk)

    def plan(number: int, name: str) -> int | None:
        written = path.exists() and path.stat().st_size > len(scene.before)
        return errno.EIO if written and name != "write" else None

    disk.plan = plan
    with pytest.raises(OSError, match="Input/output"):
        file.append(BATCH)
    assert path.read_bytes().endswith(BATCH)

    disk.plan = lambda _number, _name: None
    file.close()
    assert path.read_bytes() == scene.before
    assert disk.open_descriptors == set()


def test_a_sync_is_of_the_file_and_once_of_each_name_that_is_new(tmp_path: Path, disk: FaultyDisk) -> None:
    synced = disk.synced_folders
    path = tmp_path / "a" / "b" / "log"
    file = file_at(path, disk)
    file.sync()
    assert synced == []
    file.append(b"one\n")
    for _ in range(2):
        file.sync()
    assert synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    assert disk.calls.count("sync") == 2
    file.close()

    # who made it may not have synced its name
    synced.clear()
    file = file_at(path, disk, b"one\n")
    file.append(b"two\n")
    for _ in range(2):
        file.sync()
    assert synced == [str(tmp_path / "a" / "b")]


def test_a_name_that_could_not_be_synced_is_synced_later(tmp_path: Path, disk: FaultyDisk) -> None:
    """Those of folders that a failed append had made used to be forgotten."""
    path = tmp_path / "a" / "b" / "log"
    file = file_at(path, disk)
    with disk.failing(errno.ENOSPC, names=("write",)), pytest.raises(OSError, match="No space"):
        file.append(b"one\n")
    file.append(b"one\n")
    synced = disk.synced_folders
    for done in range(3):
        # the file, and each time one more
        with disk.failing(errno.EIO, only=2 if done else 1), pytest.raises(OSError, match="Input/output"):
            file.sync()
        assert len(synced) == done
    file.sync()
    assert synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]


@pytest.mark.parametrize("number", ERRNOS)
def test_a_failed_sync_is_told_and_what_was_not_hardened_is_taken_back(
    path: Path, disk: FaultyDisk, number: int
) -> None:
    file = file_at(path, disk, b"one\n")
    for name in ("sync", "sync_folder"):
        file.append(b"two\n")
        with disk.failing(number, names=(name,)), pytest.raises(OSError, match=os.strerror(number)):
            file.sync()
        file.take_back()
        assert path.read_bytes() == b"one\n"
    file.append(b"three\n")
    file.sync()
    assert path.read_bytes() == b"one\nthree\n"


def test_a_new_file_that_was_taken_away_is_forgotten_with_its_inode(path: Path, disk: FaultyDisk) -> None:
    """It used to be looked for ever after, wherever the file system does not give its number out again at once."""
    file = file_at(path, disk)
    unlink, places = disk.unlink, iter(["gone-1", "gone-2"])

    def keep(text: str) -> None:
        if text == str(path):
            path.rename(path.with_name(next(places)))  # so that no new file can have its number
        else:
            unlink(text)

    setattr(disk, "unlink", keep)  # noqa: B010 - a method is not to be assigned, for the type checkers
    for _ in range(2):
        with disk.failing(errno.ENOSPC, names=("write",)), pytest.raises(OSError, match="No space"):
            file.append(b"one\n")

    assert file.append(b"two\n") == 0
    assert path.read_bytes() == b"two\n"
