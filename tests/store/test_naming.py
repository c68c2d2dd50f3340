"""Where sessions stand and what their files are called: as Pi has it."""

from __future__ import annotations

import pytest

from sapwood.store.naming import file_name, project_name
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
