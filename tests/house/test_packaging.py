"""What is built can be installed, and every module of it imported."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.house.layout import ROOMS, ROOT, name_of, sources

pytestmark = pytest.mark.slow

WALK = """
import importlib, pkgutil, sapwood
names = ["sapwood", *(m.name for m in pkgutil.walk_packages(sapwood.__path__, "sapwood.") if not m.name.endswith("__main__"))]
for name in names:
    if name != "sapwood.pytest_plugin":  # which pytest imports, and nobody where there is none
        importlib.import_module(name)
print("\\n".join(names))
"""


DATA = (".md", ".yaml", ".toml", ".json", ".gz", ".jinja")
"""Kinds of files that a room may keep beside its modules."""


def uv(*arguments: str | Path) -> None:
    """From uv's cache if all is in it, which needs no network; else as usual."""
    said = ""
    for where in (["--offline"], []):
        words = ["uv", *where, *map(str, arguments)]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        said += done.stderr
    pytest.fail(said)


def modules(paths: Iterable[str]) -> set[str]:
    """Module names from paths inside a wheel or a tree."""
    return {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in paths
        if path.endswith(".py") and not path.endswith("__main__.py")
    }


def ours() -> set[str]:
    names = [name_of(ROOT, path) for path in sources(ROOT)]
    return modules(name if name.startswith("sapwood/") else f"sapwood/{name}" for name in names)


def data(root: Path) -> set[str]:
    """The package data of the rooms, by their names in a wheel."""
    inside = {room: room if room == "sapwood" else f"sapwood/{room}" for room in ROOMS}
    return {
        f"{inside[room]}/{path.relative_to(root / room).as_posix()}"
        for room in ROOMS
        for path in (root / room).rglob("*")
        if path.suffix in DATA and not path.is_symlink()
    }


def test_data_of_a_room_is_named_as_in_a_wheel(tmp_path: Path) -> None:
    for name in ("actors/compaction/prompts/update.md", "sapwood/models.toml", "store/tree.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    assert data(tmp_path) == {"sapwood/actors/compaction/prompts/update.md", "sapwood/models.toml"}


@pytest.fixture(name="built", scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    uv("build", "--out-dir", out)
    return out


def wheel(folder: Path) -> Path:
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_module_the_data_and_the_marker_of_types(built: Path) -> None:
    names = zipfile.ZipFile(wheel(built)).namelist()

    assert modules(name for name in names if name.startswith("sapwood/")) == ours()
    assert {name for name in names if name.startswith("sapwood/") and name.endswith(DATA)} == data(ROOT)
    assert "sapwood/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "actors/", "events/", "store/"))]


def test_a_wheel_from_the_sdist_is_the_same(built: Path, tmp_path: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    uv("build", "--wheel", "--out-dir", tmp_path / "again", next(tmp_path.glob("sapwood-*")))

    names = [set(zipfile.ZipFile(path).namelist()) for path in (wheel(built), wheel(tmp_path / "again"))]
    assert names[0] == names[1]


def test_the_wheel_installs_and_every_module_imports(built: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    uv("venv", "--python", sys.executable, environment)
    python = environment / "bin" / "python"
    uv("pip", "install", "--python", python, wheel(built))

    walked = subprocess.run(
        [python, "-I", "-W", "error", "-c", WALK], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert walked.returncode == 0, walked.stderr
    assert set(walked.stdout.split()) == ours()
    helped = subprocess.run(
        [environment / "bin" / "sapwood", "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert helped.returncode == 0, helped.stderr
    assert "replay" in helped.stdout


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_it_installs_and_imports_under_later_pythons(version: str, built: Path, tmp_path: Path) -> None:
    found = subprocess.run(
        ["uv", "python", "find", "--no-project", version],
        env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"},
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode != 0:
        pytest.skip(f"Python {version} is not on this machine")
    environment = tmp_path / "venv"
    uv("venv", "--python", found.stdout.strip(), environment)
    python = environment / "bin" / "python"
    uv("pip", "install", "--python", python, wheel(built))

    subprocess.run(
        [python, "-I", "-m", "compileall", "-q", next(environment.glob("lib/*/site-packages/sapwood"))], check=True
    )
    walked = subprocess.run([python, "-I", "-c", WALK], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert walked.returncode == 0, walked.stderr
    assert set(walked.stdout.split()) == ours()
