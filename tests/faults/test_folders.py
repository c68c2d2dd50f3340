"""N03: folders and their keys. Of Windows there are only paths here: those of its sessions, which are listed and read like any others."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import Final

import pytest

from sapwood import Runtime, Scripted
from sapwood.actors.environment import Environment
from sapwood.events.codec import encode_header
from sapwood.places import new_place
from sapwood.store.naming import LONGEST_NAME, folder_key, project_name, project_names
from tests.build import HEADER, MODEL
from tests.faults.logs import put

SAME: Final = {
    "a drive": ("c:\\x", "C:\\x", "C:/x", "C:\\X", "\\\\?\\C:\\x", "c:\\x\\", "C:/x/", "C:\\.\\x"),
    "the root of a drive": ("c:\\", "C:/", "\\\\?\\c:\\"),
    "another computer": ("\\\\Srv\\share\\x", "\\\\srv\\share\\x\\", "\\\\?\\UNC\\srv\\share\\x"),
    "a folder": ("/home/dev/x", "/home/dev/x/", "/home/dev//x", "/home/dev/./x"),
    "a folder of another person": ("/home/dev/X",),
    "a drive of another letter": ("d:\\x",),
    "a device": ("c:\\con",),
    "a long one": ("c:\\" + "y" * 240,),
    "a longer one": ("c:\\" + "y" * 241,),
    "one with a colon": ("/home/dev/a:b",),
    "one with a stroke": ("/home/dev/a-b",),
    "one with another folder in it": ("/home/dev/a/b",),
}
"""Ways to write the path of one folder each."""

NEVER_ON_WINDOWS: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]$')
DEVICES: Final = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


@pytest.mark.parametrize("ways", SAME.values(), ids=SAME)
def test_n03_a_folder_has_one_key_however_its_path_is_written(ways: tuple[str, ...]) -> None:
    assert len({*map(folder_key, ways)}) == 1
    for one, other in itertools.product(ways, ways):
        assert project_name(one).casefold() in project_names(other) or project_names(one) & project_names(other)


def test_n03_no_two_folders_have_the_same_key() -> None:
    keys = {folder_key(ways[0]) for ways in SAME.values()}

    assert len(keys) == len(SAME)


@pytest.mark.parametrize("cwd", [one for ways in SAME.values() for one in ways])
def test_n03_the_folder_of_its_sessions_has_a_name_that_every_system_takes(cwd: str) -> None:
    name = project_name(cwd)

    assert not NEVER_ON_WINDOWS.search(name)
    assert not DEVICES.match(name)
    assert len(os.fsencode(name)) <= LONGEST_NAME


async def listed(folder: Path, cwd: str) -> list[str]:
    return [one.id async for one in Runtime().sessions(folder, cwd=cwd)]


async def test_n03_a_session_is_found_from_its_folder_however_that_is_written_and_from_no_other(tmp_path: Path) -> None:
    """N03: folders with one name for their sessions are told apart by the sessions' headers."""
    for nth, cwd in enumerate(("/home/dev/a/b", "/home/dev/a-b", "/home/dev/a:b", "C:\\Work\\x", "\\\\srv\\share\\x")):
        folder = tmp_path / project_name(cwd)
        folder.mkdir(exist_ok=True)
        put(
            folder / f"{nth}.jsonl",
            [
                encode_header(HEADER)
                .replace(b'"s1"', b'"s%d"' % nth)
                .replace(b'"/home/dev"', b'"%b"' % cwd.replace("\\", "\\\\").encode())
            ],
        )

    assert await listed(tmp_path, "/home/dev/a/b/") == await listed(tmp_path, "/home/dev//a/b") == ["s0"]
    assert (await listed(tmp_path, "/home/dev/a-b"), await listed(tmp_path, "/home/dev/a:b")) == (["s1"], ["s2"])
    assert await listed(tmp_path, "/home/dev/a") == []


async def test_n03_a_session_of_a_folder_far_below_is_kept_and_found(tmp_path: Path) -> None:
    """N03: the name of the folder for its sessions was longer than a name may be, and none could be kept."""
    deep = "/" + "/".join(["a folder with a long name"] * 40)
    place = new_place(deep)
    where = tmp_path / Path(place.path).parent.name / Path(place.path).name
    runtime = Runtime(providers=[Scripted()], environment=Environment.scripted(), counter="heuristic")
    async with runtime.open_session(where, model=MODEL, cwd=deep, session_id=place.session_id) as session:
        await session.append_custom("kept", None)

    assert await listed(tmp_path, deep) == [place.session_id]
    assert await listed(tmp_path, deep + "/x") == []
