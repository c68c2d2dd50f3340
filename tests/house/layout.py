"""The rules of the house, as functions over a tree: each gives what breaks it, as sentences.

1. Imports point inwards: events ← store ← actors ← sapwood; the kernel knows no domain.
2. Pure modules import no clock, no chance, no network, no scheduler.
3. A source file has its test file at the same path.
4. A public name has one home.
5. No source is longer than one idea (350 lines), none speaks of a machine.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
ROOMS: Final = ("events", "store", "actors", "sapwood")
MAY_IMPORT: Final = {
    "events": {"events"},
    "store": {"events", "store"},
    "actors": {"events", "store", "actors"},
    "sapwood": {"events", "store", "actors", "sapwood"},
}
KERNEL_KNOWS: Final = ("sapwood.actors.kernel", "sapwood.events.asking", "sapwood.events.errors")
IMPURE: Final = {"trio", "httpx", "tiktoken", "time", "uuid", "random", "socket", "subprocess", "threading"}
SHELLS: Final = {
    # stores and their system calls
    "store/disk.py",
    "store/jsonl.py",
    "store/memory.py",
    "store/testing.py",
    # actors that live, and the world outside
    "actors/environment.py",
    "actors/inbox/shelf.py",
    "actors/model/providers/scripted.py",
}
"""Not pure, besides every `actor.py`, the kernel and the front door."""
LONGEST: Final = 350


def sources(root: Path) -> Iterator[Path]:
    """Every source file, where it really stands."""
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            parts = path.relative_to(root).parts
            if not (room == "sapwood" and len(parts) > 1 and parts[1] in ROOMS):
                yield path


def name_of(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, at its top or inside a function, and the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=module, level=level):
                yield ("." * level + (module or ""), node.lineno)
            case _:
                pass


def outward_imports(root: Path) -> Iterator[str]:
    for path in sources(root):
        name = name_of(root, path)
        room = name.split("/")[0]
        for module, line in imports(path):
            if module.startswith("."):
                yield f"{name}:{line} imports relatively: a module would get a second identity"
            elif module.split(".")[0] in {"actors", "events", "store"}:
                yield f"{name}:{line} imports {module}: say sapwood.{module}"
            elif module == "sapwood" or module.startswith("sapwood."):
                target = [*module.split("."), "sapwood"][1]
                target = target if target in ROOMS else "sapwood"
                if target not in MAY_IMPORT[room]:
                    yield f"{name}:{line} imports {module}: {room} stands below {target}"
                if name.startswith("actors/kernel/") and not module.startswith(KERNEL_KNOWS):
                    yield f"{name}:{line} imports {module}: the kernel has no domain word in it"


def is_pure(name: str) -> bool:
    return not (
        name in SHELLS or name.endswith(("/actor.py", "__init__.py")) or name.startswith(("actors/kernel/", "sapwood/"))
    ) or name in {"sapwood/scenario/language.py", "sapwood/scenario/matching.py"}


def impure_imports(root: Path) -> Iterator[str]:
    for path in sources(root):
        name = name_of(root, path)
        if is_pure(name):
            for module, line in imports(path):
                if module.split(".")[0] in IMPURE:
                    yield f"{name}:{line} imports {module}: a pure module is told what time it is"


def without_test(root: Path) -> Iterator[str]:
    for path in sources(root):
        name = name_of(root, path)
        if path.name.startswith("__"):
            continue
        test = root / "tests" / Path(name).parent / f"test_{path.name}"
        if not test.exists():
            yield f"{name} has no test file: {test.relative_to(root)}"


def homeless_names(root: Path) -> Iterator[str]:
    """Public names that two modules define, or that a shop window shows and nobody defines."""
    homes: dict[str, list[str]] = defaultdict(list)
    windows: dict[str, list[str]] = {}
    for path in sources(root):
        name = name_of(root, path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                homes[node.name].append(name)
        if path.name == "__init__.py":
            windows[name] = _shown(tree)
    shown = {public for names in windows.values() for public in names}
    for public in sorted(shown):
        if len(homes[public]) > 1:
            yield f"{public} is defined in {' and in '.join(homes[public])}: a public name has one home"
    for window, names in windows.items():
        if names != sorted(names, key=lambda public: (not public.isupper(), not public[0].isupper(), public)):
            yield f"{window} shows its names out of order"


def _shown(tree: ast.Module) -> list[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=items)):
                return [str(item.value) for item in items if isinstance(item, ast.Constant)]
            case _:
                pass
    return []


def too_long(root: Path) -> Iterator[str]:
    for path in sources(root):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > LONGEST:
            yield f"{name_of(root, path)} has {lines} lines: it is two ideas"


MACHINE: Final = re.compile(r"(?:^|[^A-Za-z0-9_.])/(?:work|farm|root|home/(?!dev\b)[a-z]+)/")
REGISTRY: Final = re.compile(r"https?://[A-Za-z0-9.-]*(?:pypi|pythonhosted|npmjs|debian)")


def places(root: Path) -> Iterator[str]:
    """Paths of a machine and hosts of a registry, in what is tracked."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        path = root / name
        if path.is_symlink() or not path.is_file() or name.startswith("tests/house/"):
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line):
                yield f"{name}:{number} names a path of a machine"
            if REGISTRY.search(line):
                yield f"{name}:{number} names the host of a registry"
