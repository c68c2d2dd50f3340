"""What is built can be installed, and every module of it imported."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.house.layout import ROOT, name_of, sources

pytestmark = pytest.mark.slow

WALK = """
import importlib, pkgutil, sapwood
names = ["sapwood", *(m.name for m in pkgutil.walk_packages(sapwood.__path__, "sapwood.") if not m.name.endswith("__main__"))]
for name in names:
    importlib.import_module(name)
print("\\n".join(names))
"""


def uv(*arguments: str | Path) -> str:
    done = subprocess.run(["uv", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


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


@pytest.fixture(name="built", scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    uv("build", "--out-dir", out)
    return out


def wheel(folder: Path) -> Path:
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_module_and_the_marker_of_types(built: Path) -> None:
    names = zipfile.ZipFile(wheel(built)).namelist()

    assert modules(name for name in names if name.startswith("sapwood/")) == ours()
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
        ["uv", "python", "find", "--no-python-downloads", version], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.skip(f"Python {version} is not on this machine")
    environment = tmp_path / "venv"
    uv("venv", "--python", found.stdout.strip(), environment)
    python = environment / "bin" / "python"
    uv("pip", "install", "--python", python, wheel(built))

    walked = subprocess.run([python, "-I", "-c", WALK], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert walked.returncode == 0, walked.stderr
    assert set(walked.stdout.split()) == ours()
