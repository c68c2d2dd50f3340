"""A file that others write: each entry once, half lines held back, and the end of it told by what happened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.errors import CannotOpen, NotASession
from sapwood.store.following import Follower, Looked
from sapwood.store.jsonl import JsonlStore
from tests.store.faults import FaultyDisk
from tests.store.stores import HEAD, file_of, ids_of, line, old_file, opened

A, B, C = line("a"), line("b", "a"), line("c", "b")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def write(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(data)


class Told:
    """Somebody who is told what a follower sees."""

    def __init__(self, path: Path, disk: FaultyDisk | None = None) -> None:
        self.follower = Follower(partial(opened, path, disk, read_only=True))
        self.ids: list[str] = []
        self.damage: list[tuple[str, int]] = []

    def look(self) -> Looked:
        seen = self.follower.look(len(self.ids))
        self.ids += ids_of(self.follower.store)[len(self.ids) :]
        self.damage += [(one.kind, one.offset) for one in seen.damage]
        return seen

    def close(self) -> None:
        self.follower.store.close()


def offsets(damage: Iterable[tuple[str, int]]) -> list[int]:
    """Where something is wrong with lines: the kind of a half one is another when it is a line, and blank ones in a row are told as one."""
    return sorted(offset for kind, offset in damage if kind not in {"blank_line", "crlf", "several_roots"})


def test_what_comes_is_seen_once(path: Path) -> None:
    path.write_bytes(file_of(A, b"rubbish"))
    told = Told(path)
    told.look()
    assert (told.ids, told.damage) == (["a"], [("garbage", len(file_of(A)))])

    assert told.look() == Looked()
    write(path, B + b"\n" + C + b"\nrub")
    told.look()
    assert told.ids == ["a", "b", "c"]
    write(path, b"bish\n")
    told.look()

    assert told.ids == ["a", "b", "c"]
    assert [kind for kind, _ in told.damage] == ["garbage", "garbage"]
    told.close()


def test_a_half_line_is_an_entry_once_it_is_whole(path: Path) -> None:
    path.write_bytes(file_of(A) + B[:20])
    told = Told(path)
    told.look()
    write(path, B[20:])
    assert (told.look(), told.ids) == (Looked(), ["a"])
    assert [one.kind for one in told.follower.store.damage] == ["torn_tail"]
    write(path, b"\n")
    told.look()

    assert (told.ids, told.damage) == (["a", "b"], [])
    assert told.follower.store.damage == ()
    told.close()


@pytest.mark.parametrize("half", [B[:20], b"\0\0" + B[:20], b"\0" * 5, b"rubbish", b"  "])
def test_a_half_line_that_its_writer_left_is_damaged_once_another_stands_behind_it(half: bytes, path: Path) -> None:
    path.write_bytes(file_of(A) + half)
    told = Told(path)
    told.look()
    assert told.damage == []
    write(path, b"\n" + C + b"\n")
    told.look()

    assert told.ids == ["a", "c"]
    assert offsets(told.damage) == offsets((one.kind, one.offset) for one in opened(path, read_only=True).damage)
    told.close()


def test_a_half_line_that_its_writer_took_back_was_never_there(path: Path) -> None:
    path.write_bytes(file_of(A) + B[:20])
    told = Told(path)
    told.look()
    os.truncate(path, len(file_of(A)))
    assert told.look() == Looked()
    write(path, C + b"\n")
    told.look()

    assert (told.ids, [kind for kind, _ in told.damage]) == (["a", "c"], ["missing_parent"])
    told.close()


def test_a_half_line_that_is_taken_back_with_more_is_a_loss(path: Path) -> None:
    path.write_bytes(file_of(A, B) + C[:20])
    told = Told(path)
    told.look()
    os.truncate(path, len(file_of(A)))

    assert told.look().lost == "shortened"
    told.close()


def test_an_empty_file_is_followed_from_its_first_line_on(path: Path) -> None:
    path.write_bytes(b"")
    told = Told(path)
    assert told.look() == Looked()
    write(path, HEAD[:10])
    assert told.look() == Looked()
    write(path, HEAD[10:] + A + b"\n")
    told.look()
    write(path, B + b"\n")
    told.look()

    assert (told.ids, told.damage, told.follower.store.header.id) == (["a", "b"], [], "s1")
    told.close()


def replace(path: Path) -> None:
    path.with_name("other").write_bytes(file_of(A, B, C))
    path.with_name("other").rename(path)


LOSSES: Final[dict[str, Callable[[Path], object]]] = {
    "deleted": Path.unlink,
    "replaced": replace,
    "shortened": lambda path: os.truncate(path, len(HEAD)),
    "changed": lambda path: path.write_bytes(file_of(line("x"), line("y", "x"), line("z"), line("zz"))),
}


@pytest.mark.parametrize("what", LOSSES)
def test_what_became_of_a_file_is_told_and_what_was_read_can_still_be_read(what: str, path: Path) -> None:
    path.write_bytes(file_of(A, B))
    told = Told(path)
    told.look()
    LOSSES[what](path)

    assert told.look() == Looked(lost=what)  # type: ignore[arg-type]  # the words are those of the type
    assert (told.ids, ids_of(told.follower.store)) == (["a", "b"], ["a", "b"])
    told.close()


def test_a_version_1_file_is_followed(path: Path) -> None:
    path.write_bytes(old_file())
    told = Told(path)
    told.look()
    write(path, b'{"type":"message","timestamp":"t","n":4}\n')
    told.look()

    assert len(told.ids) == 4
    told.close()


def test_what_is_no_session_is_refused_and_nothing_is_left_open(path: Path) -> None:
    disk = FaultyDisk()
    path.write_bytes(b"hello\n")
    with pytest.raises(NotASession):
        Told(path, disk)
    path.unlink()
    with pytest.raises(CannotOpen):
        Told(path, disk)

    assert disk.open_descriptors == set()


def test_a_file_that_is_opened_anew_leaves_nothing_open(path: Path) -> None:
    disk = FaultyDisk()
    path.write_bytes(b"")
    told = Told(path, disk)
    write(path, file_of(A))
    told.look()
    assert told.ids == ["a"]
    path.write_bytes(file_of(line("x")) + B[:9])
    assert told.look().lost in {"changed", "shortened"}
    told.close()

    assert disk.open_descriptors == set()
    disk.let_go()


def test_a_look_reads_what_came_and_no_more(path: Path) -> None:
    path.write_bytes(file_of(*(line(f"{nth:08x}", text="x" * 1000) for nth in range(1000))))
    disk = FaultyDisk()
    read = list[int]()
    before = disk.read

    def counted(descriptor: int, offset: int, length: int) -> bytes:
        read.append(length)
        return before(descriptor, offset, length)

    setattr(disk, "read", counted)  # noqa: B010 - a method is not to be assigned, for the type checkers
    told = Told(path, disk)
    told.look()
    read.clear()
    told.look()
    write(path, A + b"\n")
    told.look()

    assert told.ids[-1] == "a"
    assert sum(read) < 1000
    told.close()
    disk.let_go()


PIECES: Final = st.lists(
    st.sampled_from([A, B, C, B[:20], C[5:], b"\n", b"\r\n", b"rubbish", b"\0\0", b"", A + b"\n" + B + b"\n"]),
    max_size=14,
)


@pytest.mark.slow
@given(PIECES, PIECES)
def test_however_a_file_grows_its_entries_are_those_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, before: list[bytes], pieces: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("grows") / "s.jsonl"
    path.write_bytes(HEAD + b"".join(before))
    told = Told(path)
    told.look()
    for piece in [*pieces, b"\n", line("end") + b"\n"]:
        write(path, piece)
        told.look()
    whole: JsonlStore = opened(path, read_only=True)

    assert told.look() == Looked()
    assert told.ids == ids_of(whole)
    assert {*offsets(told.damage)} >= {*offsets((one.kind, one.offset) for one in whole.damage)}
    told.close()
    whole.close()


def test_a_huge_half_line_that_is_looked_at_again_and_again_is_not_read_again(path: Path) -> None:
    path.write_bytes(file_of(A))
    disk = FaultyDisk()
    told = Told(path, disk)
    told.look()
    begun = sum(disk.read_lengths)
    long = line("b", "a", customType="x", data="x" * 1_000_000)
    for at in range(0, len(long), 20_000):
        write(path, long[at : at + 20_000])
        told.look()
    write(path, b"\n")
    told.look()

    assert (told.ids, told.damage) == (["a", "b"], [])
    assert sum(disk.read_lengths) - begun < 2.1 * len(long)
    told.close()
