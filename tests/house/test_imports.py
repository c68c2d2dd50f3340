"""What `import sapwood` brings along, and what it leaves for when it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

LATER = ["httpx", "httpx_sse", "tiktoken", "click", "rich", "yaml", "cattrs", "structlog", "opentelemetry"]


def test_heavy_libraries_are_imported_only_when_used() -> None:
    probe = f"""
import sapwood, sys
for name in sapwood.__all__:
    getattr(sapwood, name)
print([name for name in {LATER} if name in sys.modules])
"""

    seen = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout

    assert seen.strip() == "[]"


def test_importing_the_front_door_imports_nothing_behind_it() -> None:
    probe = "import sapwood, sys; print([name for name in ('trio', 'msgspec', 'attr') if name in sys.modules])"

    assert (
        subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_the_checkers_and_the_interpreter_find_the_same_names_in_the_same_homes() -> None:
    import sapwood
    from sapwood.homes import HOMES

    tree = ast.parse(Path(sapwood.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert seen == HOMES
    assert sorted(sapwood.__all__) == sorted(seen)


def test_every_name_in_the_shop_window_is_there() -> None:
    import sapwood

    for name in sapwood.__all__:
        assert getattr(sapwood, name) is not None
    assert dir(sapwood) == sapwood.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sapwood.nothing


def test_a_session_is_read_without_trio() -> None:
    path = Path(__file__).parents[1] / "data" / "v2.jsonl"
    probe = f"import sapwood, sys; print(len(sapwood.read({str(path)!r}).context().items), 'trio' in sys.modules)"

    seen = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout

    assert seen.split()[1] == "False"


def test_a_session_is_read_without_a_tokenizer_until_something_is_counted() -> None:
    path = Path(__file__).parents[1] / "data" / "v2.jsonl"
    probe = f"""
import sapwood, sys
session = sapwood.read({str(path)!r})
session.entries(), session.tree(), session.stats()
before = "tiktoken" in sys.modules
session.context()
print(before, "tiktoken" in sys.modules)
"""

    seen = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout

    assert seen.split() == ["False", "True"]
