"""Extensions from a file and from installed packages: loaded when asked for, and never a traceback of theirs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from sapwood import CannotLoadExtension, Extension, Refused, installed_extensions, load_extension

GUARD = """\
from __future__ import annotations

import attrs
import sapwood
from sapwood.events.hooks import Block, ToolCallQuestion

extension = sapwood.Extension("guard")


@attrs.define
class Count:
    calls: int = 0


count = Count()


@extension.on(ToolCallQuestion)
def block(question: ToolCallQuestion, context: sapwood.ExtensionContext) -> Block | None:
    count.calls += 1
    return Block(reason=str(count.calls))


attrs.resolve_types(Count)
"""


def written(folder: Path, text: str, name: str = "guard.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_the_extension_that_it_calls_so(tmp_path: Path) -> None:
    loaded = load_extension(written(tmp_path, GUARD))

    assert isinstance(loaded, Extension)
    assert loaded.name == "guard"
    assert [handler.event for handler in loaded.handlers] == ["tool_call"]


def test_a_file_is_run_anew_each_time(tmp_path: Path) -> None:
    path = written(tmp_path, GUARD)
    first, second = load_extension(path), load_extension(str(path))

    assert first is not second
    assert count_of(first) is not count_of(second)


def count_of(extension: Extension) -> object:
    """The variable of the file that its handler is in."""
    handler: Any = extension.handlers[0].function
    return handler.__globals__["count"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = (", "SyntaxError: '(' was never closed"),
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("x = 1", "it has no name 'extension': write extension = sapwood.Extension"),
        ("extension = 7", "what it gives is no sapwood.Extension, but a int"),
        ("import sapwood\nextension = sapwood.Extension('')", "Refused: the name of an extension"),
        ("\0", "SyntaxError"),
    ],
)
def test_a_file_that_gives_none_is_told_with_its_name(text: str, why: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)

    with pytest.raises(CannotLoadExtension) as caught:
        load_extension(path)

    assert caught.value.where == str(path)
    assert caught.value.why.startswith(why)
    assert str(caught.value) == f"the extension {path} cannot be loaded: {caught.value.why}"


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotLoadExtension, match="no such file"):
        load_extension(tmp_path / "nothing.py")
    with pytest.raises(CannotLoadExtension, match="it is a folder"):
        load_extension(tmp_path)
    with pytest.raises(Refused, match="named by a str"):
        load_extension(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - that is what is tried


def test_an_interrupt_ends_more_than_the_loading(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_extension(written(tmp_path, "raise KeyboardInterrupt"))


def installed(folder: Path, entry_points: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package in this folder, as an installer leaves it."""
    info = folder / "forest-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: forest\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[sapwood.extensions]\n{entry_points}", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])


def test_installed_packages_offer_extensions_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, GUARD, "forest_guard.py")
    written(tmp_path, GUARD.replace('"guard"', '"elm"'), "forest_elm.py")
    installed(tmp_path, "guard = forest_guard:extension\nelm = forest_elm:extension\n", monkeypatch)
    try:
        assert [one.name for one in installed_extensions()] == ["elm", "guard"]
    finally:
        sys.modules.pop("forest_guard", None)
        sys.modules.pop("forest_elm", None)


def test_an_installed_one_that_cannot_be_had_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "guard = forest_nowhere:extension\n", monkeypatch)

    with pytest.raises(CannotLoadExtension, match="guard = forest_nowhere:extension cannot be loaded: ModuleNotFound"):
        installed_extensions()
