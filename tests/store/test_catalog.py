"""Which sessions there are: in which order, how much is read for it, and what cannot be listed."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.catalog import ListedSession, UnlistedFile
from sapwood.store.catalog import LONG, SHORT, TOO_LONG, Catalog, Told
from sapwood.store.folders import FolderItem, RealFolders
from sapwood.store.lock import WriterLock
from sapwood.store.searching import Needle
from tests.store.faults import FaultyDisk
from tests.store.stores import line, me

CWD = "/home/dev/project"
HOUR = 3_600


def put(  # noqa: PLR0917 - a file in one line
    folder: Path,
    name: str,
    hour: int = 0,
    said: str = "hello",
    cwd: str = CWD,
    filler: int = 0,
    written: int | None = None,
) -> Path:
    """A session in which somebody spoke at an hour of a day, and that was written then, or at another one."""
    when = f"2026-03-01T{hour:02}:00:00.000Z"
    header = {"type": "session", "version": 3, "id": f"id-{name}", "timestamp": "2026-02-01T00:00:00.000Z", "cwd": cwd}
    row = json.loads(line("a", None, "message", message={"role": "user", "content": said, "timestamp": 0}))
    fill = [line(f"f{n}", "a", "custom", data="x" * 1000) for n in range(filler)]
    last = json.dumps({**row, "id": "z", "timestamp": when}).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"\n".join([json.dumps(header).encode(), json.dumps(row).encode(), *fill, last, b""]))
    seconds = 1_772_323_200 + (hour if written is None else written) * HOUR  # 2026-03-01
    os.utime(path, (seconds, seconds))
    return path


def catalog(disk: FaultyDisk | None = None) -> Catalog:
    return Catalog(disk or FaultyDisk(), RealFolders())


def told(*roots: Path, disk: FaultyDisk | None = None, cwd: str | None = None, search: str | None = None) -> list[Told]:
    needle = None if search is None else Needle(search)
    return list(catalog(disk).sessions([*map(str, roots)], cwd=cwd, needle=needle))


def names(found: Sequence[Told]) -> list[str]:
    return [one.id.removeprefix("id-") for one in found if isinstance(one, ListedSession)]


def unlisted(found: Sequence[Told]) -> list[tuple[str, str]]:
    return [(Path(one.path).name, one.why) for one in found if isinstance(one, UnlistedFile)]


def test_sessions_of_a_folder_and_of_the_folders_in_it_the_last_active_first(tmp_path: Path) -> None:
    put(tmp_path / "--home-dev-project--", "old", 1)
    put(tmp_path, "flat", 3)
    put(tmp_path / "--other--", "new", 5)
    put(tmp_path / "--other--" / "deeper", "too-deep", 6)
    (tmp_path / "notes.txt").write_bytes(b"none")

    assert names(told(tmp_path)) == ["new", "flat", "old"]


def test_a_session_is_told_with_what_its_ends_say(tmp_path: Path) -> None:
    path = put(tmp_path, "s", 4, said="Which wood?")

    (one,) = [one for one in told(tmp_path) if one is not None]

    assert one == ListedSession(
        path=str(path),
        id=one.id,  # type: ignore[union-attr]  # the whole of it is compared
        version=3,
        cwd=CWD,
        created="2026-02-01T00:00:00.000Z",
        modified="2026-03-01T04:00:00.000Z",
        last_activity="2026-03-01T04:00:00.000Z",
        size=path.stat().st_size,
        first_message="Which wood?",
        open=False,
    )


def test_files_that_were_copied_are_in_the_order_of_what_was_said_in_them(tmp_path: Path) -> None:
    for name, hour in (("a", 3), ("b", 9), ("c", 6)):
        put(tmp_path, name, hour, written=12)

    assert names(told(tmp_path)) == ["b", "c", "a"]


@given(hours=st.lists(st.tuples(st.integers(0, 23), st.integers(0, 23)), max_size=6))
def test_whenever_they_were_written_the_order_is_that_of_activity(hours: list[tuple[int, int]], tmp_path: Path) -> None:
    for one in tmp_path.iterdir():
        one.unlink()
    for nth, (hour, later) in enumerate(hours):
        put(tmp_path, f"{nth}", hour, written=max(hour, later))

    found = [one.last_activity or "" for one in told(tmp_path) if isinstance(one, ListedSession)]

    assert found == sorted(found, reverse=True)
    assert len(found) == len(hours)


def test_the_first_is_told_before_the_second_is_looked_at(tmp_path: Path) -> None:
    for nth in range(20):
        put(tmp_path, f"{nth}", nth)
    disk = FaultyDisk()

    steps = catalog(disk).sessions([str(tmp_path)])
    first = next(one for one in steps if one is not None)

    assert names([first]) == ["19"]
    assert disk.calls.count("open_read") == 1


def test_whoever_stops_leaves_nothing_open(tmp_path: Path) -> None:
    for nth in range(3):
        put(tmp_path, f"{nth}", nth, filler=3000)
    disk = FaultyDisk()

    steps = catalog(disk).sessions([str(tmp_path)], needle=Needle("nowhere"))
    assert next(steps) is None
    assert disk.open_descriptors
    steps.close()  # type: ignore[attr-defined]  # it is a generator

    assert disk.open_descriptors == set()


def test_of_a_large_file_its_ends_are_read_alone(tmp_path: Path) -> None:
    put(tmp_path, "s", 4, filler=5_000)
    disk = FaultyDisk()

    assert names(told(tmp_path, disk=disk)) == ["s"]
    assert sum(disk.read_lengths) == 2 * SHORT


def test_what_a_short_look_does_not_show_a_longer_one_may(tmp_path: Path) -> None:
    path = put(tmp_path, "s", 4, said="x" * (2 * SHORT), filler=5_000)
    disk = FaultyDisk()

    (one,) = [one for one in told(tmp_path, disk=disk) if isinstance(one, ListedSession)]

    assert one.first_message == "x" * 1000
    assert sum(disk.read_lengths) <= 2 * SHORT + 2 * LONG < path.stat().st_size


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        ("0001-01-01T00:00:00.000+14:00", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999-14:00", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_beyond_all_years_stops_nothing(when: str, shown: str, tmp_path: Path) -> None:
    put(tmp_path, "plain", 1)
    odd = put(tmp_path, "odd", 2)
    odd.write_bytes(odd.read_bytes().replace(b"2026-03-01T02:00:00.000Z", when.encode()))

    found = [one for one in told(tmp_path) if one is not None]
    assert sorted(names(found)) == ["odd", "plain"]
    assert shown in {one.last_activity for one in found if isinstance(one, ListedSession)}


def test_one_that_nothing_tells_of_is_placed_by_when_it_was_written(tmp_path: Path) -> None:
    path = put(tmp_path, "odd", 20, written=5)
    head, *_ = path.read_bytes().splitlines(keepends=True)
    with path.open("wb") as file:
        file.write(head)
        for n in range(3_000):
            file.write(line(f"f{n}", None, "custom", data="x" * 1000) + b"\n")
    seconds = 1_772_323_200 + 5 * HOUR
    os.utime(path, (seconds, seconds))
    put(tmp_path, "before", 4)
    put(tmp_path, "behind", 6)

    found = told(tmp_path)

    assert names(found) == ["behind", "odd", "before"]
    assert [one.last_activity for one in found if isinstance(one, ListedSession) and one.id == "id-odd"] == [None]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b"hello\n", "it has no session header"),
        (b'{"type":"message"}\n', "it has no session header"),
    ],
)
def test_what_is_no_session_is_told_and_stops_nothing(content: bytes, why: str, tmp_path: Path) -> None:
    put(tmp_path, "s")
    (tmp_path / "odd.jsonl").write_bytes(content)

    found = told(tmp_path)

    assert (names(found), unlisted(found)) == (["s"], [("odd.jsonl", why)])


def test_a_first_line_beyond_all_measure_is_told_as_that(tmp_path: Path) -> None:
    """This used to be told as no header at all."""
    put(tmp_path, "s")
    header = {"type": "session", "version": 3, "id": "x", "timestamp": "2026-02-01T00:00:00.000Z", "cwd": "y" * LONG}
    (tmp_path / "odd.jsonl").write_bytes(json.dumps(header).encode() + b"\n" + line("a") + b"\n" * LONG)

    found = told(tmp_path)

    assert (names(found), unlisted(found)) == (["s"], [("odd.jsonl", TOO_LONG)])


@pytest.mark.parametrize("name", ["open_read", "read"])
def test_what_cannot_be_read_is_told_and_stops_nothing(name: str, tmp_path: Path) -> None:
    put(tmp_path, "first", 9)
    put(tmp_path, "second", 3)
    disk = FaultyDisk()

    with disk.failing(errno.EACCES, names=(name,), only=0 if name == "open_read" else 1):
        found = told(tmp_path, disk=disk)

    assert (names(found), unlisted(found)) == (["second"], [("first.jsonl", "permission denied")])
    assert disk.open_descriptors == set()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert unlisted(told(tmp_path / "gone")) == [("gone", "no such file or directory")]


class Taking(RealFolders):
    """Somebody takes something away behind each look."""

    def __init__(self, *away: Path) -> None:
        self.away = [*away]

    def look(self, path: str) -> Sequence[FolderItem]:
        found = super().look(path)
        for one in self.away:
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        self.away.clear()
        return found


def test_what_is_taken_away_in_the_middle_is_gone_and_no_fault(tmp_path: Path) -> None:
    """It used to be told as a file that cannot be listed, each of thousands that were tidied up."""
    put(tmp_path, "stays")
    gone, folder = put(tmp_path, "gone"), put(tmp_path / "folder", "gone-too").parent

    found = [*Catalog(FaultyDisk(), Taking(gone, folder)).sessions([str(tmp_path)])]

    assert (names(found), unlisted(found)) == (["stays"], [])


def test_two_names_of_a_file_are_one_session(tmp_path: Path) -> None:
    path = put(tmp_path / "a", "s")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "link.jsonl").symlink_to(path)
    (tmp_path / "b" / "hard.jsonl").hardlink_to(path)

    assert names(told(tmp_path)) == ["s"]


def test_what_omp_keeps_of_a_session_is_no_session_of_its_own(tmp_path: Path) -> None:
    put(tmp_path, "s")
    put(tmp_path / "s", "helper")

    assert names(told(tmp_path)) == ["s"]


def test_those_of_one_working_folder_are_told_by_their_headers(tmp_path: Path) -> None:
    """Two working folders may have one folder here: `/home/dev-project` would have that of `/home/dev/project`."""
    put(tmp_path / "--home-dev-project--", "ours")
    put(tmp_path / "--home-dev-project--", "theirs", cwd="/home/dev-project")
    put(tmp_path, "flat")
    put(tmp_path / "--other--", "hidden")

    assert sorted(names(told(tmp_path, cwd=CWD))) == ["flat", "ours"]


def test_a_search_finds_what_is_said_anywhere(tmp_path: Path) -> None:
    put(tmp_path, "first", said="Ash or oak?")
    path = put(tmp_path, "deep", filler=3_000)
    with path.open("ab") as file:
        said = {
            "role": "assistant",
            "content": [{"type": "text", "text": "An OAK."}],
            "stopReason": "stop",
            "timestamp": 0,
        }
        file.write(line("o", "z", "message", message={**said, "api": "x", "provider": "x", "model": "x"}) + b"\n")
    put(tmp_path, "none", said="ash")

    assert sorted(names(told(tmp_path, search="oak"))) == ["deep", "first"]
    assert names(told(tmp_path, search="elm")) == []


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("system_tells", [True, False])
def test_whether_one_is_open_is_told_by_its_lock(recorded: bool, system_tells: bool, tmp_path: Path) -> None:
    class Folders(RealFolders):
        def locked(self) -> frozenset[tuple[int, int]]:
            return super().locked() if system_tells else frozenset()

    path, disk = put(tmp_path, "s"), FaultyDisk()
    put(tmp_path, "t")
    lock = WriterLock(disk, me)
    lock.take(disk.open_read(str(path)), str(path))
    if not recorded:
        (tmp_path / "s.jsonl.lock").unlink()

    def opened() -> dict[str, bool | None]:
        found = Catalog(disk, Folders()).sessions([str(tmp_path)])
        return {one.id: one.open for one in found if isinstance(one, ListedSession)}

    assert opened() == {"id-s": recorded or (system_tells and os.path.exists("/proc/locks")), "id-t": False}  # noqa: PTH110 - it is text
    lock.give_back()
    assert opened() == {"id-s": False, "id-t": False}
    disk.let_go()


def test_a_record_that_a_dead_process_left_says_nothing(tmp_path: Path) -> None:
    path = put(tmp_path, "s")
    Path(f"{path}.lock").write_bytes(b'{"pid":1,"host":"here","since":"","process":"x"}\n')
    disk = FaultyDisk()

    assert [one.open for one in told(tmp_path, disk=disk) if isinstance(one, ListedSession)] == [False]
    assert disk.calls.count("unlock") == 1

    with disk.failing(errno.EBADF, names=("lock",)):
        assert [one.open for one in told(tmp_path, disk=disk) if isinstance(one, ListedSession)] == [None]


def test_nobody_who_opens_a_session_is_kept_out_by_a_look(tmp_path: Path) -> None:
    put(tmp_path, "s")
    disk = FaultyDisk()

    told(tmp_path, disk=disk)

    assert "lock" not in disk.calls


def test_one_is_found_by_its_id_or_by_how_that_begins(tmp_path: Path) -> None:
    put(tmp_path / "a", "one")
    put(tmp_path / "b", "one-more")
    put(tmp_path / "b", "two")
    disk = FaultyDisk()

    def find(text: str) -> list[str]:
        return [one.id for one in catalog(disk).find([str(tmp_path)], text)]

    assert find("id-one") == ["id-one"]
    assert find("id-one-") == ["id-one-more"]
    assert find("id-tw") == ["id-two"]
    assert sorted(find("id-o")) == ["id-one", "id-one-more"]
    assert find("nothing") == []


def test_a_file_that_bears_an_id_in_its_name_is_looked_at_first(tmp_path: Path) -> None:
    for nth in range(9):
        put(tmp_path, f"x{nth}")
    (tmp_path / "x5.jsonl").rename(tmp_path / "2026_id-x5.jsonl")
    disk = FaultyDisk()

    assert [one.id for one in catalog(disk).find([str(tmp_path)], "id-x5")] == ["id-x5"]
    assert disk.calls.count("open_read") == 1


def test_what_is_seen_of_a_file_is_one_value() -> None:
    assert FolderItem("p", False, 1, 2, 3, 4).file == (3, 4)
