"""The house keeps its rules, and each rule can be broken."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sapwood import Runtime, Scripted
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Ref
from tests.build import MODEL
from tests.house import layout

Rule = Callable[[Path], Iterator[str]]
RULES: list[Rule] = [
    layout.outward_imports,
    layout.circles,
    layout.second_identities,
    layout.impure_imports,
    layout.without_test,
    layout.homeless_names,
    layout.too_long,
    layout.unimported,
    layout.borrowed_from_tests,
    layout.places,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule) -> None:
    assert list(rule(layout.ROOT)) == []


def test_the_modules_that_are_pure_or_not_by_name_are_there() -> None:
    """Two used to be named that there never were."""
    assert [name for name in sorted(layout.SHELLS | layout.PURE) if not (layout.ROOT / name).exists()] == []


def test_what_begins_something_is_there_and_is_imported_by_no_other_source(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = dict(layout.BEGINNINGS)
    monkeypatch.setattr(layout, "BEGINNINGS", {})

    assert sorted(complaint.split()[0] for complaint in layout.unimported(layout.ROOT)) == sorted(listed)


def house(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


A_HERE_AND_THERE = {"events/a.py": "class A: ...", "store/b.py": "A = 1"}
BROKEN: list[tuple[Rule, dict[str, str], str]] = [
    (layout.outward_imports, {"events/a.py": "import sapwood.store.tree"}, "events stands below store"),
    (layout.outward_imports, {"events/a.py": "from sapwood import actors"}, "events stands below sapwood"),
    (layout.outward_imports, {"store/a.py": "from sapwood import Session"}, "store stands below sapwood"),
    (layout.outward_imports, {"store/a.py": "import sapwood.actors.kernel"}, "store stands below actors"),
    (layout.outward_imports, {"actors/a.py": "import sapwood.session"}, "actors stands below sapwood"),
    (layout.outward_imports, {"actors/kernel/a.py": "import sapwood.events.entries"}, "no domain word"),
    (layout.outward_imports, {"actors/kernel/a.py": "import sapwood.events.errors_of_ours"}, "no domain word"),
    (
        layout.circles,
        {
            "actors/a/x.py": "import sapwood.actors.b",
            "actors/b.py": "from sapwood.actors.c.y import D",
            "actors/c/y.py": "def f():\n    import sapwood.actors.a.z",
        },
        "in a circle: ",
    ),
    (layout.second_identities, {"actors/a.py": "from . import b"}, "imports relatively"),
    (layout.second_identities, {"actors/a.py": "def f():\n    import events.ids"}, "say sapwood.events.ids"),
    (layout.second_identities, {"tests/test_a.py": "from store import tree"}, "say sapwood.store"),
    (layout.impure_imports, {"events/a.py": "from time import time"}, "is told what time it is"),
    (layout.impure_imports, {"events/__init__.py": "import uuid"}, "a pure module"),
    (layout.impure_imports, {"store/tree.py": "def f():\n    import random"}, "a pure module"),
    (layout.impure_imports, {"actors/agent/run.py": "import trio.lowlevel"}, "a pure module"),
    (layout.impure_imports, {"actors/kernel/errors.py": "from trio import Event"}, "a pure module"),
    (layout.without_test, {"store/tree.py": "def grow(): ..."}, "tests/store/test_tree.py"),
    (layout.without_test, {"sapwood/cli/main.py": "class A: ..."}, "tests/sapwood/cli/test_main.py"),
    (layout.homeless_names, {"events/__init__.py": "__all__ = ['A']", **A_HERE_AND_THERE}, "has one home"),
    (
        layout.homeless_names,
        {
            "a.py": "",
            **dict.fromkeys(("events/__init__.py", "store/__init__.py"), "__all__ = ['A']"),
            "events/a.py": "A = 1",
        },
        "has one shop window",
    ),
    (layout.homeless_names, {"events/__init__.py": "__all__ = ['A']"}, "defined nowhere"),
    (layout.homeless_names, {"events/__init__.py": "A: int = 1\ndef b(): ...\n__all__ = ['b', 'A']"}, "out of order"),
    (layout.too_long, {"events/a.py": "x = 1\n" * 351}, "two ideas"),
    (layout.unimported, {"store/a.py": "import sapwood.store.a", "tests/b.py": "import sapwood.store.a"}, "is dead"),
    (layout.unimported, {"events/a.py": "", "events/__init__.py": "from sapwood.events import b"}, "events/a.py is"),
    (layout.borrowed_from_tests, {"tests/a/test_b.py": "from tests.a.test_c import D"}, "in a module of its own"),
]
ALLOWED: list[tuple[Rule, dict[str, str]]] = [
    (layout.outward_imports, {"store/a.py": "import sapwood.events", "actors/a.py": "import sapwood.store"}),
    (layout.outward_imports, {"sapwood/a.py": "import sapwood.actors", "events/a.py": "import time"}),
    (
        layout.outward_imports,
        {"actors/kernel/a.py": "from sapwood.events.errors import A\nimport sapwood.actors.kernel.b"},
    ),
    (
        layout.circles,
        {
            "actors/a/x.py": "import sapwood.actors.a.y\nimport sapwood.actors.b",
            "actors/a/y.py": "import sapwood.actors.a.x",
            "actors/b.py": "import sapwood.events",
        },
    ),
    (layout.second_identities, {"actors/a.py": "import sapwood.events.ids", "store/a.py": "import eventsourcing"}),
    (layout.impure_imports, {"store/disk.py": "import time", "actors/agent/actor.py": "import trio"}),
    (layout.impure_imports, {"actors/kernel/ring.py": "import trio", "sapwood/session.py": "import trio"}),
    (layout.impure_imports, {"events/a.py": "import timeit_of_ours"}),
    (
        layout.without_test,
        {"store/a.py": "def f(): ...", "tests/store/test_a.py": "", "store/__init__.py": "def g(): ..."},
    ),
    (layout.without_test, {"store/words.py": "WORDS = {'a': 1}"}),
    (layout.homeless_names, {"events/a.py": "class A: ...", "store/b.py": "class A: ..."}),  # not public
    (
        layout.homeless_names,
        {
            **dict.fromkeys(("events/__init__.py", "sapwood/__init__.py"), "__all__ = ['A']"),
            "events/a.py": "class A: ...",
            "store/b.py": "import x\nA = x.A",
        },
    ),
    (layout.too_long, {"events/a.py": "x = 1\n" * 350}),
    (layout.unimported, {"events/a.py": "", "store/__init__.py": "def f():\n    from sapwood.events import a"}),
    (layout.unimported, {"sapwood/cli/a.py": "", "sapwood/__main__.py": "from sapwood.cli.a import main"}),
    (layout.unimported, {"store/testing.py": ""}),
    (layout.borrowed_from_tests, {"tests/test_a.py": "from tests.build import user\nimport sapwood.store.testing"}),
]


@pytest.mark.parametrize(("rule", "files"), ALLOWED, ids=lambda value: getattr(value, "__name__", ""))
def test_what_keeps_a_rule_is_let_be(rule: Rule, files: dict[str, str], tmp_path: Path) -> None:
    assert list(rule(house(tmp_path, files))) == []


@pytest.mark.parametrize(("rule", "files", "complaint"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_a_broken_rule_is_told(rule: Rule, files: dict[str, str], complaint: str, tmp_path: Path) -> None:
    complaints = list(rule(house(tmp_path, files)))

    assert len(complaints) == 1
    assert complaint in complaints[0]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [("see /" + "root/x", "a path of a machine"), ("https://" + "pypi.org/x", "the host of a registry")],
)
def test_a_machine_and_a_registry_are_told(line: str, complaint: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    house(tmp_path, {"a.txt": f"a line\n{line}", "b.txt": "a line", ".gitignore": "c.txt", "c.txt": line})

    assert list(layout.places(tmp_path)) == [f"a.txt:2 names {complaint}"]


async def test_the_ask_graph_of_a_session_has_no_circle() -> None:
    runtime = Runtime(providers=[Scripted()], environment=Environment.scripted())
    async with runtime.open_session(None, model=MODEL) as session:
        actors = session._wiring.system.actors

        def walk(ref: Ref, above: tuple[Ref, ...]) -> None:
            assert ref not in above, f"{ref.name} asks itself through {[one.name for one in above]}"
            for asked in ref.asks:
                walk(asked, (*above, ref))

        for ref in actors.values():
            walk(ref, ())
        assert [ref.name for ref in actors["agent"].asks] == [
            "exclusion",
            "inbox",
            "session_log",
            "projection",
            "model",
            "compaction",
            "navigation",
            "tools",
            "extensions",
        ]
        writers = ["exclusion", "projection", "extensions", "model", "session_log"]
        assert [ref.name for ref in actors["compaction"].asks] == writers
        assert [ref.name for ref in actors["navigation"].asks] == writers
        assert [ref.name for ref in actors["tools"].asks] == ["session_log", "extensions"]
        assert [ref.name for ref in actors["extensions"].asks] == ["handlers"]
        assert [ref.name for ref in actors["handlers"].asks] == ["session_log"]
        assert [ref.name for ref in actors["model"].asks] == ["extensions"]
        assert [ref.name for ref in actors["companions"].asks] == ["agent", "inbox", "session_log"]
        asking = {"agent", "tools", "extensions", "compaction", "navigation", "handlers", "model", "companions"}
        assert all(ref.asks == () for name, ref in actors.items() if name not in asking)
