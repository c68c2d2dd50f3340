"""The rules of the house, as functions over a tree: each gives what breaks it, as sentences.

1. Imports point inwards: events ← store ← actors ← sapwood; the kernel knows no domain.
2. A module has one identity: imports are absolute and say sapwood.
3. Pure modules import no clock, no chance, no network, no scheduler.
4. A source file has its test file at the same path.
5. A public name has one home and one shop window; the front door may show it again.
6. No source is longer than one idea (350 lines), no file speaks of a machine or a registry.
7. A source is imported by another one, or begins something: what nobody imports is dead.
8. What tests share stands in a module of its own: nobody imports from a file of tests.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
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
KERNEL_KNOWS: Final = ("sapwood.actors.kernel.", "sapwood.events.asking.", "sapwood.events.errors.")
FRONT_DOOR: Final = "sapwood/__init__.py"
IMPURE: Final = {
    "asyncio",
    "httpx",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "tiktoken",
    "time",
    "trio",
    "uuid",
}
SHELLS: Final = {
    # stores, their files and their system calls
    "store/beside.py",
    "store/catalog.py",
    "store/disk.py",
    "store/folders.py",
    "store/growing.py",
    "store/jsonl.py",
    "store/lock.py",
    "store/memory.py",
    "store/new_file.py",
    "store/restoring.py",
    "store/testing.py",
    # actors that live, and the world outside
    "actors/agent/checkpoints.py",
    "actors/agent/compacting.py",
    "actors/agent/hearing.py",
    "actors/agent/one_run.py",
    "actors/agent/sections.py",
    "actors/agent/under_way.py",
    "actors/compaction/writing.py",
    "actors/environment.py",
    "actors/extensions/attendance.py",
    "actors/extensions/companions.py",
    "actors/extensions/context.py",
    "actors/extensions/handling.py",
    "actors/exclusion/lease.py",
    "actors/foreign.py",
    "actors/inbox/shelf.py",
    "actors/navigation/writing.py",
    "actors/session_log/committing.py",
    "actors/session_log/run_log.py",
    "actors/model/patience.py",
    "actors/stoppable.py",
    "actors/summarizing.py",
    "actors/tools/batch.py",
    "actors/model/credentials.py",
    "actors/model/answering.py",
    "actors/model/http.py",
    "actors/model/outbound.py",
    "actors/model/providers/scripted.py",
    "actors/model/vendors.py",
    "actors/tools/bash.py",
    "actors/tools/processes.py",
    # what a process has once
    "actors/projection/encoding.py",
    "actors/projection/tokenizer.py",
}
"""Not pure, besides every `actor.py`, the kernel and the front door."""
PURE: Final = {
    "actors/kernel/actor.py",
    "actors/kernel/errors.py",
    "sapwood/scenario/language.py",
    "sapwood/scenario/scripts.py",
    "sapwood/scenario/matching.py",
    "sapwood/settings.py",
    "sapwood/settings_keys.py",
}
"""Pure all the same."""
_A_COMMAND: Final = "a command, which sapwood/cli/main.py imports by its name when it is asked for"
BEGINNINGS: Final[Mapping[str, str]] = {
    "sapwood/cli/chat.py": _A_COMMAND,
    "sapwood/cli/check.py": _A_COMMAND,
    "sapwood/cli/fork.py": _A_COMMAND,
    "sapwood/cli/ls.py": _A_COMMAND,
    "sapwood/cli/follow.py": _A_COMMAND,
    "sapwood/cli/record.py": _A_COMMAND,
    "sapwood/cli/replay.py": _A_COMMAND,
    "sapwood/cli/run.py": _A_COMMAND,
    "sapwood/cli/serve_local.py": _A_COMMAND,
    "sapwood/cli/show.py": _A_COMMAND,
    "sapwood/cli/stats.py": _A_COMMAND,
    "sapwood/cli/tree.py": _A_COMMAND,
    "sapwood/pytest_plugin.py": "a plugin, which pytest imports by its entry point",
    "store/testing.py": "`check_store`, for the tests of whoever writes a store",
}
"""Modules that no other source imports, and who does, besides each `__init__` and `__main__`."""
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
            if module != "sapwood" and not module.startswith("sapwood."):
                continue
            target = [*module.split("."), "sapwood"][1]
            target = target if target in ROOMS else "sapwood"
            if target not in MAY_IMPORT[room]:
                yield f"{name}:{line} imports {module}: {room} stands below {target}"
            elif name.startswith("actors/kernel/") and not f"{module}.".startswith(KERNEL_KNOWS):
                yield f"{name}:{line} imports {module}: the kernel has no domain word in it"


def circles(root: Path) -> Iterator[str]:
    """Rooms of the actors, and modules beside them, that import each other, whoever is between."""
    graph: dict[str, set[str]] = {}
    for path in sources(root):
        match name_of(root, path).split("/"):
            case ["actors", room, *_]:
                targets = (module.split(".") for module, _ in imports(path) if module.startswith("sapwood.actors."))
                graph.setdefault(room.removesuffix(".py"), set()).update(target[2] for target in targets)
            case _:
                pass
    for room, imported in graph.items():
        imported.discard(room)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"actors import each other in a circle: {' <- '.join(error.args[1])}"


def second_identities(root: Path) -> Iterator[str]:
    """Relative imports, and rooms under their bare names: in the rooms and in all that uses them."""
    users = [path for folder in ("tests", "benchmarks") for path in sorted((root / folder).rglob("*.py"))]
    for path in [*sources(root), *users]:
        for module, line in imports(path):
            if module.startswith("."):
                yield f"{name_of(root, path)}:{line} imports relatively: a module would get a second identity"
            elif module.split(".")[0] in {"actors", "events", "store"}:
                yield f"{name_of(root, path)}:{line} imports {module}: say sapwood.{module}"


def is_pure(name: str) -> bool:
    if name in PURE or name in SHELLS:
        return name in PURE
    match name.split("/"):
        case ["events" | "store", *_]:
            return True
        case ["actors", "kernel", *_] | ["actors", *_, "actor.py" | "__init__.py"]:
            return False
        case ["actors", *_]:
            return True
        case _:
            return False


def impure_imports(root: Path) -> Iterator[str]:
    for path in sources(root):
        name = name_of(root, path)
        if is_pure(name):
            for module, line in imports(path):
                if module.split(".")[0] in IMPURE:
                    yield f"{name}:{line} imports {module}: a pure module is told what time it is"


def only_data(path: Path) -> bool:
    """Nothing in it does anything: constants, tables, names of types."""
    return not any(
        isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def without_test(root: Path) -> Iterator[str]:
    for path in sources(root):
        name = name_of(root, path)
        test = root / "tests" / Path(name).parent / f"test_{path.name}"
        if not (path.name.startswith("__") or test.exists() or only_data(path)):
            yield f"{name} has no test file: {test.relative_to(root)}"


def homeless_names(root: Path) -> Iterator[str]:
    """Public names that two modules define or two windows show, and those that a window shows and nobody defines."""
    homes: dict[str, list[str]] = defaultdict(list)
    windows: dict[str, list[str]] = {}
    for path in sources(root):
        name = name_of(root, path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for defined in sorted(set(_defined(tree))):
            homes[defined].append(name)
        if path.name == "__init__.py":
            windows[name] = _shown(tree)
    shown: dict[str, list[str]] = defaultdict(list)
    for window, names in windows.items():
        for public in names:
            shown[public].append(window)
        if names != sorted(names, key=lambda public: (not public.isupper(), not public[0].isupper(), public)):
            yield f"{window} shows its names out of order"
    for public, where in sorted(shown.items()):
        if not homes[public]:
            yield f"{public} is shown in {where[0]} and defined nowhere"
        if len(homes[public]) > 1:
            yield f"{public} is defined in {' and in '.join(homes[public])}: a public name has one home"
        rooms = [window for window in where if window != FRONT_DOOR]
        if len(rooms) > 1:
            yield f"{public} is shown in {' and in '.join(rooms)}: a public name has one shop window"


def _defined(tree: ast.Module) -> Iterator[str]:
    """What a module makes itself; `A = b.A` only passes on what another made."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Assign(value=value, targets=targets) if not isinstance(value, ast.Name | ast.Attribute):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                yield name
            case _:
                pass


def _shown(tree: ast.Module) -> list[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=items) | ast.Tuple(elts=items)):
                return [str(item.value) for item in items if isinstance(item, ast.Constant)]
            case _:
                pass
    return []


def too_long(root: Path) -> Iterator[str]:
    for path in sources(root):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > LONGEST:
            yield f"{name_of(root, path)} has {lines} lines: it is two ideas"


def unimported(root: Path) -> Iterator[str]:
    """Modules that no other source imports and that begin nothing."""
    used: set[str] = set()
    for path in sources(root):
        used |= set(_used(path)) - {_dotted(root, path)}
    for path in sources(root):
        name = name_of(root, path)
        if not (path.name.startswith("__") or name in BEGINNINGS or _dotted(root, path) in used):
            yield f"{name} is imported by no other source: it is dead, or BEGINNINGS says who begins with it"


def _used(path: Path) -> Iterator[str]:
    """What may be a module: all that is imported, and each name that is imported from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case _:
                pass


def _dotted(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts if parts[0] == "sapwood" else ("sapwood", *parts))


def borrowed_from_tests(root: Path) -> Iterator[str]:
    for path in (path for folder in ("tests", "benchmarks") for path in sorted((root / folder).rglob("*.py"))):
        for module, line in imports(path):
            if module.split(".")[-1].startswith("test_"):
                yield f"{name_of(root, path)}:{line} imports {module}: what tests share stands in a module of its own"


MACHINE: Final = re.compile(r"(?:^|[^A-Za-z0-9_.])/(?:work|farm|root|Users|home/(?!dev\b)[a-z]+)/")
REGISTRY: Final = re.compile(r"https?://[A-Za-z0-9.-]*(?:pypi|pythonhosted|npmjs|debian)")
FILES: Final = ("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")


def places(root: Path) -> Iterator[str]:
    """Paths of a machine and hosts of a registry, in what is or would be tracked."""
    listed = subprocess.run(FILES, cwd=root, check=True, capture_output=True, text=True).stdout
    for name in sorted(set(listed.split("\0")) - {""}):
        path = root / name
        if path.is_symlink() or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line):
                yield f"{name}:{number} names a path of a machine"
            if REGISTRY.search(line):
                yield f"{name}:{number} names the host of a registry"
