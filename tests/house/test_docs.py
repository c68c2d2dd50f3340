"""Every example in the README and the docs runs.

1. A ```python block runs as written, in the order of its file; blocks of one file share their names.
2. The blocks of the README, and those of the page for hosts, one behind the other, are a program that mypy takes under --strict: a host's
   type checker is a reader too.
3. Each ```yaml block is a scenario: it is replayed, and ends with the exit code that the line behind it tells (`Exit code 0…`).
4. The page about scenarios names every key of their language, in backticks; those of settings too.
5. The table of actors in docs/architecture.md names all that each is sent and hears.
6. The README is 140 columns wide: it is read as text as well.
7. Each `$ uv run …` of a ```console block exits 0, and the lines shown behind it come in its output, in order; `...` stands for any.
"""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast, get_args, get_type_hints

import attrs
import msgspec
import pytest
import trio
from click.testing import CliRunner

from sapwood import settings_keys
from sapwood.actors.agent.actor import Agent
from sapwood.actors.compaction.actor import Compaction
from sapwood.actors.exclusion.actor import Exclusion
from sapwood.actors.inbox.actor import Inbox
from sapwood.actors.kernel import Actor
from sapwood.actors.model.actor import ModelActor
from sapwood.actors.navigation.actor import Navigation
from sapwood.actors.projection.actor import Projection
from sapwood.actors.session_log.actor import SessionLog
from sapwood.cli.main import sapwood
from sapwood.events.commands import SessionState
from sapwood.events.context import Unsent
from sapwood.events.messages import Usage
from sapwood.events.models import Limits, Model, Price
from sapwood.events.runtime import Event
from sapwood.scenario import language, scripts
from sapwood.scenario.patterns import Item
from tests.house.layout import ROOT

PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if page.exists()]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
STORY = re.compile(r"^```yaml\n(.*?)^```\n(?:\nExit code ([0-9]))?", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("uv run pytest", "uv sync", "make ")
"""Commands that the suite is, or is set up by, rather than runs."""


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


def workplace(folder: Path) -> Path:
    """A folder with what examples may name: the scenarios, and sessions to work on."""
    shutil.copytree(ROOT / "scenarios", folder / "scenarios")
    shutil.copytree(ROOT / "tests" / "data", folder / "tests" / "data")
    return folder


def run_all(page: Path, names: dict[str, Any]) -> None:
    for block in blocks(page, "python"):
        run(compile(block, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)


def complaints(folder: Path, **programs: str) -> list[str]:
    """What mypy --strict says of these, each a module of its own. mypy starts once: it has our whole library to read."""
    for name, source in programs.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    options = ("--strict", "--no-error-summary", "--cache-dir", str(folder / "cache"))
    command = [sys.executable, "-m", "mypy", *options, *(f"{name}.py" for name in programs)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.splitlines()


UNCHECKED = """
import sapwood


async def ask(session: sapwood.Session) -> None:
    outcome = await session.prompt("Which tree?")
    print(outcome.answer.content)
"""


@pytest.mark.slow
def test_what_hosts_read_passes_their_type_checker(tmp_path: Path) -> None:
    readme = "\n".join(blocks(ROOT / "README.md", "python"))
    embedding = "\n".join(blocks(ROOT / "docs" / "embedding.md", "python"))

    [complaint] = complaints(tmp_path, readme=readme, embedding=embedding, unchecked=UNCHECKED)

    assert complaint.startswith("unchecked.py:7: ")
    assert '"None"' in complaint


def run(code: CodeType, names: dict[str, Any]) -> None:
    if code.co_flags & inspect.CO_COROUTINE:
        trio.run(cast("Callable[[], Awaitable[object]]", FunctionType(code, names)))
    else:
        exec(code, names)  # noqa: S102 - the examples are ours


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace(tmp_path))
    run_all(page, {"__name__": "example"})


@pytest.mark.live
@pytest.mark.slow
def test_the_example_that_asks_the_local_model_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a function, so that the page runs without the extra too."""
    monkeypatch.chdir(workplace(tmp_path))
    names: dict[str, Any] = {"__name__": "example"}
    run_all(ROOT / "docs" / "providers.md", names)

    trio.run(names["ask_locally"])


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Each command of a console block, and the lines that it shows."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


COMMANDS = [
    pytest.param(
        command,
        shown,
        id=f"{page.name}: {command}",
        marks=[pytest.mark.live, pytest.mark.slow] if "--model local" in command else [],
    )
    for page in PAGES
    for block in blocks(page, "console")
    for command, shown in commands(block)
    if not command.startswith(ELSEWHERE)
]


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_commands_do_what_they_show(command: str, shown: list[str], tmp_path: Path) -> None:
    assert command.startswith("uv run sapwood "), "an example that the suite cannot run"
    words = [sys.executable, "-m", "sapwood", *shlex.split(command)[3:]]

    done = subprocess.run(words, cwd=workplace(tmp_path), capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert missing(shown, done.stdout) is None


STORIES = [
    pytest.param(text, code, id=f"{page.name}: {text.splitlines()[0]}")
    for page in PAGES
    for text, code in STORY.findall(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("text", "code"), STORIES)
def test_a_scenario_ends_as_the_page_says(text: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "story.yaml").write_text(text, encoding="utf-8")

    result = CliRunner().invoke(sapwood, ["replay", str(tmp_path / "story.yaml")])

    assert code, "an example without its exit code behind it"
    assert result.exit_code == int(code), result.output


def language_keys() -> set[str]:
    """Every key that a scenario may have on a level of its own, and the words for it."""
    modules = (language, scripts)
    kinds = [
        one
        for home in modules
        for one in vars(home).values()
        if isinstance(one, type) and one.__module__ == home.__name__
    ]
    kinds = [one for one in kinds if attrs.has(one) and one not in {language.Pattern, language.Scenario}]
    keys = {field.name.removesuffix("_") for kind in kinds for field in attrs.fields(kind)}
    wire = {field.encode_name for kind in (Model, Limits, Usage, Price, Item) for field in msgspec.structs.fields(kind)}
    words = {
        *get_args(language.OutcomeWord),
        *get_args(language.CompactionWord),
        *get_args(language.StoreWord),
        *get_args(SessionState),
        *get_args(Unsent),
    }
    return keys | words | (wire - {"extra"}) | set(setting_keys(settings_keys.KEYS))


def setting_keys(shape: Any) -> Iterator[str]:
    """Every key of a settings file, on any level."""
    if (each := getattr(shape, "each", None)) is not None:
        yield from setting_keys(each)
    for key, inner in getattr(shape, "keys", {}).items():
        yield key
        yield from setting_keys(inner)


def test_the_page_about_scenarios_names_every_key() -> None:
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")

    assert language_keys() >= {"title", "pass", "turn_prefix", "wait", "contextWindow", "entryId", "refused", "jsonl"}
    assert language_keys() >= {"steeringMode", "modelOverrides", "keepRecentTokens", "manner"}
    assert {key for key in language_keys() if f"`{key}`" not in page} == set()


def test_the_readme_is_as_wide_as_prose_may_be() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if len(line) > 140 and not line.startswith("|")] == []


ACTORS: Mapping[str, type[Actor[Any]]] = {
    "session_log": SessionLog,
    "inbox": Inbox,
    "projection": Projection,
    "exclusion": Exclusion,
    "model": ModelActor,
    "navigation": Navigation,
    "agent": Agent,
    "compaction": Compaction,
}


@pytest.mark.parametrize("actor", ACTORS)
def test_the_table_of_actors_names_all_that_each_is_sent(actor: str) -> None:
    """One message used to be in no row."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith(f"| {actor} |")]
    _, _, _, asked, hears, _, _ = row.split("|")
    taken = get_type_hints(ACTORS[actor].handle)["message"]
    kinds: set[type[msgspec.Struct]] = set(get_args(taken)) or {taken}
    news = kinds & set(get_args(Event))

    assert set(re.findall(r"`(\w+)`", asked)) == {kind.__name__ for kind in kinds - news}
    assert set(re.findall(r"`(\w+)`", hears)) == {kind.__struct_config__.tag for kind in news}


def missing(shown: list[str], output: str) -> str | None:
    """The first line that is shown and does not come, or not in this order."""
    rest = output
    for line in map(str.strip, shown):
        if line not in {"", "..."}:
            _, found, rest = rest.partition(line)
            if not found:
                return line
    return None


@pytest.mark.parametrize(
    ("shown", "first"),
    [
        (["one", "...", "three"], None),
        (["  two"], None),
        ([], None),
        (["one", "four"], "four"),
        (["two", "one"], "one"),
        (["one", "one"], "one"),
    ],
)
def test_a_line_that_does_not_come_is_told(shown: list[str], first: str | None) -> None:
    assert missing(shown, "one\n  two\nthree\n") == first


PAGE = """
```python
total = 1
```

```console
$ uv run sapwood tree a.jsonl
one
$ uv run sapwood --help
```

```python
import trio

await trio.lowlevel.checkpoint()
async with trio.open_nursery():
    total += 1
assert total == TOTAL
```
"""


@pytest.fixture(name="page")
def _page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_blocks_share_their_names_and_may_await(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "example", "TOTAL": 2}
    run_all(page, names)

    assert names["total"] == 2


def test_an_example_that_fails_is_told(page: Path) -> None:
    with pytest.raises(AssertionError):
        run_all(page, {"TOTAL": 3})


def test_commands_are_found_with_what_they_show(page: Path) -> None:
    [block] = blocks(page, "console")

    assert commands(block) == [("uv run sapwood tree a.jsonl", ["one"]), ("uv run sapwood --help", [])]
