"""File systems of a test's own; a test that needs one is skipped where mounting is not allowed."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, *options: str) -> Generator[None]:
    """A file system of its own at this folder."""
    _mount(folder, *options)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def small_disk(folder: Path, size: str) -> Generator[None]:
    """One that is soon full, in a new folder."""
    folder.mkdir()
    with mounted(folder, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
        yield


@contextmanager
def read_only_mount(folder: Path) -> Generator[None]:
    """The folder's own content, on one that is read-only."""
    with mounted(folder, "-o", "bind", str(folder)):
        _mount(folder, "-o", "remount,bind,ro")
        yield


def _mount(folder: Path, *options: str) -> None:
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mounting is refused here: {done.stderr.strip()}")
