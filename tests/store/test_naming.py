"""Where sessions stand and what their files are called: as Pi has it."""

from __future__ import annotations

import os

import pytest

from sapwood.store.naming import LONGEST_NAME, file_name, folder_key, project_name, project_names
from tests.build import HEADER


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/dev/My Proj:x", "--home-dev-My Proj-x--"),
        ("/", "----"),
        ("", "----"),
        ("//net/share", "---net-share--"),
        (r"C:\logs\a", "--C--logs-a--"),
        (r"\\net\a", "---net-a--"),
        ("/a-b", "--a-b--"),
        ("/a/b", "--a-b--"),
    ],
)
def test_a_working_folder_has_the_name_that_pi_gives_it(cwd: str, name: str) -> None:
    assert project_name(cwd) == name


def test_a_file_is_named_after_its_beginning_and_its_id() -> None:
    assert file_name(HEADER) == "2026-01-01T00-00-00-000Z_s1.jsonl"


@pytest.mark.parametrize("cwd", ["/" + "x/" * 1_000, "/" + "\N{EM DASH}" * 300, "/" + "\udcff" * 300])
def test_a_name_that_would_be_too_long_is_cut_and_another_for_each_folder(cwd: str) -> None:
    """There used to be none: no session could be kept in a deep folder."""
    names = [project_name(cwd), project_name(cwd + "y")]

    assert len({*names}) == 2
    assert all(len(os.fsencode(name)) <= LONGEST_NAME for name in names)
    assert all(name.startswith("--") and name.endswith("--") for name in names)
    assert project_name("/" + "x" * (LONGEST_NAME - 4)) == f"--{'x' * (LONGEST_NAME - 4)}--"


@pytest.mark.parametrize(("one", "other"), [("/a/b/", "/a/b"), ("/a//b", "/a/b"), ("/a/./b", "/a/b"), ("/", "//"[1:])])
def test_a_folder_has_one_key_however_its_path_is_written(one: str, other: str) -> None:
    assert folder_key(one) == folder_key(other)
    assert project_names(one) & project_names(other)


def test_what_lies_behind_a_link_is_left_to_the_disk() -> None:
    assert folder_key("/a/../b") == "/a/../b"
    assert folder_key("/A") != folder_key("/a")
