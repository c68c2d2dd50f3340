"""Extensions that a host does not import itself: from a file, and from what is installed.

1. Nothing is loaded unless somebody asks for it by name: an extension is foreign code, with the rights of the process.
2. What cannot be had is `CannotLoadExtension`, whatever its code raises; only an interrupt passes through.
3. A file is run anew each time that it is loaded: what it keeps in its variables is of that one loading.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from sapwood.actors.extensions.extension import Extension
from sapwood.actors.foreign import words_of
from sapwood.events.file_errors import CannotLoadExtension
from sapwood.taking import take_path
from sapwood.words.paths import missing

GROUP: Final = "sapwood.extensions"
"""The group of entry points by which an installed package offers its extensions."""
NAME: Final = "extension"
"""The name under which a file has its extension."""


def load_extension(path: str | os.PathLike[str]) -> Extension:
    """The extension in a Python file, which it calls `extension`. The file is run.

    `CannotLoadExtension` for a file that is not there, does not run, or has none; `Refused` for what is no path.
    """
    where = take_path(path, "the file of an extension")
    why = missing(where)
    if why is not None:
        raise CannotLoadExtension(where, why)
    full = Path(where).resolve()
    # types that are told by name are looked up in their module: so it has a name, and is found by it
    module_name = f"sapwood_extension_{hashlib.sha256(os.fsencode(full)).hexdigest()[:16]}"

    def run() -> object:
        spec = importlib.util.spec_from_loader(module_name, loader=None, origin=str(full))
        if spec is None:
            raise AssertionError("a module without a loader can always be made")
        module = importlib.util.module_from_spec(spec)
        module.__file__ = str(full)
        sys.modules[module_name] = module
        exec(compile(full.read_bytes(), str(full), "exec"), vars(module))  # noqa: S102 - it is what was asked for
        if not hasattr(module, NAME):
            raise CannotLoadExtension(where, f'it has no name {NAME!r}: write {NAME} = sapwood.Extension("…") in it')
        return getattr(module, NAME)

    return _loaded(where, run)


def installed_extensions() -> tuple[Extension, ...]:
    """The extensions that installed packages offer in the group `sapwood.extensions` of entry points, by name.

    They are imported. `CannotLoadExtension` for the first that cannot be had.
    """
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return tuple(_loaded(f"{point.name} = {point.value}", point.load) for point in found)


def _loaded(where: str, load: Callable[[], object]) -> Extension:
    try:
        loaded = load()
    except (KeyboardInterrupt, CannotLoadExtension):
        raise
    except BaseException as fault:  # foreign code: one that ends the process by SystemExit as well
        raise CannotLoadExtension(where, words_of(fault)) from fault
    if not isinstance(loaded, Extension):
        raise CannotLoadExtension(where, f"what it gives is no sapwood.Extension, but a {type(loaded).__name__}")
    return loaded
