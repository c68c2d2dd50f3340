"""Breaking a core turns its test file red."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zlib import crc32

import pytest

from tests.house.judging import HUNG, waited
from tests.house.layout import ROOT, is_pure, name_of, sources
from tests.house.mutants import Mutant, mutants

A_CORE = 3
"""Mutants a core: enough to see that a test file looks at its source, few enough to run in every full suite."""
AT_MOST = 8
"""Cores a run: half a minute of two cores. Beyond it the sources' own text chooses, so the choice moves on as they change."""
PROCESSES = 2
GREEN, RED, NOT_COLLECTED = 0, 1, 2

EQUIVALENT: Mapping[tuple[str, str], str] = {
    (
        "store/scan.py",
        'if old is None or old.id is not UNSET or old.parentId is not UNSET or old.type == "session":',
    ): "what takes the slow way of version 1 without need comes to the same entry",
}
"""(source, line of it) that no test can tell from its mutants, and why."""

Job = tuple[str, str, str]


def mirrored(source: str) -> str:
    """Where a source's tests are."""
    return f"tests/{Path(source).parent}/test_{Path(source).name}"


def cores() -> list[str]:
    """The pure sources with a test file of their own."""
    names = [name_of(ROOT, path) for path in sources(ROOT)]
    return [name for name in names if is_pure(name) and (ROOT / mirrored(name)).exists()]


def chosen(names: Sequence[str], at_most: int) -> list[str]:
    """All, or as many as fit."""
    if len(names) <= at_most:
        return list(names)
    return sorted(sorted(names, key=lambda name: crc32((ROOT / name).read_bytes()))[:at_most])


def copied(folder: Path) -> Path:
    """The rooms, the tests and the settings, links kept."""
    for name in ("actors", "events", "store", "sapwood", "tests", "scenarios"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def verdicts(jobs: Sequence[Job], tree: Path) -> list[int]:
    """What the test files say of the sources, in a copy of the tree."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tests.house.judging"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout)
    return found


def judged(jobs: Sequence[Job], folder: Path) -> list[int]:
    """The same, a share a process: each has a copy of its own."""
    trees = [copied(folder / str(number)) for number in range(PROCESSES)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        shares = list(pool.map(verdicts, [jobs[number::PROCESSES] for number in range(PROCESSES)], trees))
    return [shares[at % PROCESSES][at // PROCESSES] for at in range(len(jobs))]


def faults(name: str) -> list[Mutant]:
    leave = {line for source, line in EQUIVALENT if source == name}
    return mutants((ROOT / name).read_text(encoding="utf-8"), A_CORE, leave)


@pytest.mark.full
def test_breaking_a_core_turns_its_tests_red(tmp_path: Path) -> None:
    names = chosen(cores(), AT_MOST)
    made = [(name, fault) for name in names for fault in faults(name)]
    right = [(name, (ROOT / name).read_text(encoding="utf-8"), mirrored(name)) for name in names]

    said = judged([*right, *((name, fault.text, mirrored(name)) for name, fault in made)], tmp_path)

    unbroken = dict(zip(names, said, strict=False))
    assert {name: code for name, code in unbroken.items() if code != GREEN} == {}, "red without a fault: proves nothing"
    of_faults = list(zip(made, said[len(names) :], strict=True))
    assert {code for _, code in of_faults} <= {GREEN, RED, NOT_COLLECTED, HUNG}, "pytest itself failed"
    survivors = [
        f"{name}:{fault.line} may be changed unnoticed\n{fault.diff}" for (name, fault), code in of_faults if not code
    ]
    assert survivors == [], "\n\n".join(survivors)


@pytest.mark.full
def test_a_test_file_that_looks_at_nothing_is_found_out(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    name, test = "actors/exclusion/table.py", tree / "tests" / "house" / "test_blind.py"
    text = (ROOT / name).read_text(encoding="utf-8")
    test.write_text("def test_nothing() -> None: ...\n", encoding="utf-8")
    [fault] = mutants(text, 1)

    said = verdicts(
        [(name, fault.text, str(test)), (name, fault.text, mirrored(name)), (name, "raise", str(test))], tree
    )

    assert said == [GREEN, RED, GREEN]
    assert (tree / name).read_text(encoding="utf-8") == text


def test_a_test_file_that_does_not_end_is_ended() -> None:
    endless = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)

    assert waited(endless.pid, until=0) == HUNG
    endless.wait()


def test_a_test_file_that_goes_round_for_ever_is_ended_by_its_own_time(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "test_endless.py").write_text("def test_it() -> None:\n    while True: pass\n", encoding="utf-8")
    trying = "from tests.house import judging; judging.MOST_CPU = 2; print(judging.in_a_fork('test_endless.py'))"

    done = subprocess.run(
        [sys.executable, "-c", trying],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(done.stdout) == HUNG


def test_every_line_that_is_left_alone_is_still_there() -> None:
    for name, line in EQUIVALENT:
        assert line in [text.strip() for text in (ROOT / name).read_text(encoding="utf-8").splitlines()], name


SOURCE = '''
def f(a: int, b: int) -> bool:
    """Whether a == b."""
    if not a:
        raise ValueError("a == 0")
    if a:
        f.calls += 1
    return a == b and a > 0

def g() -> int:
    return 7

class C:
    def __repr__(self) -> str:
        return "C"
'''


def test_every_mutant_differs_and_leaves_docstrings_and_messages_alone() -> None:
    made = mutants(SOURCE, 10)

    assert [mutant.line for mutant in made] == [4, 7, 8, 8, 8, 8, 11]
    assert len({mutant.text for mutant in made}) == len(made)
    for mutant in made:
        assert '"""Whether a == b."""' in mutant.text
        assert "ValueError('a == 0')" in mutant.text
        assert "return 'C'" in mutant.text


def test_a_mutant_shows_what_was_done_to_it() -> None:
    changed = [
        [line for line in mutant.diff.splitlines() if line[0] in "+-"]
        for mutant in mutants(SOURCE, 10)
        if mutant.line in {4, 7, 11}
    ]

    assert changed == [
        ["-    if not a:", "+    if not not a:"],
        ["-        f.calls += 1", "+        pass"],
        ["-    return 7", "+    return 8"],
    ]


def test_the_choice_is_the_same_each_time_as_large_as_asked_for_and_leaves_lines_alone() -> None:
    assert mutants(SOURCE, 2) == mutants(SOURCE, 2)
    assert len(mutants(SOURCE, 2)) == 2
    assert mutants("x = 1", 3) == []
    assert 4 not in [mutant.line for mutant in mutants(SOURCE, 10, {"if not a:"})]


def test_too_many_cores_are_thinned_out_the_same_way_each_time() -> None:
    names = cores()

    assert chosen(names, len(names)) == names
    assert chosen(names, 3) == chosen(names, 3)
    assert len(set(chosen(names, 3)) & set(names)) == 3
