"""What we fork, the real Pi opens, and sees there what it saw in the parent at that entry (S15, S1)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import pytest

from sapwood import EntryId, fork, read
from tests.interop.trees import lines, tree
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle

pytestmark = pytest.mark.interop

FEW: Final = 40
MANY: Final = 1_000
BATCH: Final = 250
"""Files a question: an answer of some megabytes."""


@pytest.fixture(name="pi", scope="module")
def _pi() -> Generator[Oracle]:
    try:
        with Oracle(patience=60) as oracle:
            yield oracle
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


def assert_pi_opens_every_fork(pi: Oracle, folder: Path, seeds: Sequence[int]) -> int:
    """Of each seed's tree the path to an entry and the whole tree. Returns how many messages Pi saw in them."""
    seen = 0
    for first in range(0, len(seeds), BATCH):
        parents: list[dict[str, object]] = []
        forks: list[dict[str, object]] = []
        for seed in seeds[first : first + BATCH]:
            rows, (at, *_) = tree(seed)
            path = folder / f"{seed}.jsonl"
            path.write_bytes(lines(rows))
            with read(path) as session:
                held = session.tree()
                end = held.id(held.path(held.index(EntryId(at or "")))[-1])
            parents.append({"path": str(path), "at": [at]})
            for extent in ("path", "tree"):
                to = folder / f"{seed}-{extent}.jsonl"
                fork(path, end if extent == "path" else None, whole_tree=extent == "tree", to=to)
                forks.append({"path": str(to), "at": []})
        of_parents = contexts(pi, parents)
        of_forks = contexts(pi, forks)
        for nth, (its_own, at_entry) in enumerate(of_parents):
            (path_fork,), (tree_fork,) = of_forks[2 * nth], of_forks[2 * nth + 1]
            assert path_fork == at_entry, parents[nth]
            assert tree_fork == its_own, parents[nth]
            seen += len(path_fork["context"]) + len(tree_fork["context"])
    return seen


def contexts(pi: Oracle, files: Sequence[dict[str, object]]) -> list[Any]:
    return cast("list[Any]", pi.ask({"op": "contexts", "files": files})["answers"])


@pytest.mark.slow
def test_pi_opens_every_fork_of_generated_trees(pi: Oracle, tmp_path: Path) -> None:
    assert assert_pi_opens_every_fork(pi, tmp_path, range(FEW)) > FEW


@pytest.mark.full
@pytest.mark.slow
def test_pi_opens_thousands_of_forks(pi: Oracle, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    first = FEW + int(pytestconfig.getoption("--hypothesis-seed") or 0)

    assert assert_pi_opens_every_fork(pi, tmp_path, range(first, first + MANY)) > MANY


def test_pi_tells_the_same_labels_name_and_sums(pi: Oracle, tmp_path: Path) -> None:
    """And lists the fork as the child of its parent."""
    parent = tmp_path / "parent.jsonl"
    parent.write_bytes((Path(__file__).parents[1] / "data" / "pi-all-kinds.jsonl").read_bytes())
    made = fork(parent, whole_tree=True)

    old, new = (pi.ask({"op": "open", "path": path}) for path in (str(parent), made.path))
    listed = cast(
        "list[dict[str, Any]]", pi.ask({"op": "list", "dir": str(tmp_path), "cwd": read_cwd(parent)})["sessions"]
    )

    *selected, _marker = cast("list[str]", new["selected"])
    assert (new["labels"], new["sessionName"], selected) == (old["labels"], old["sessionName"], old["selected"])
    assert (cast("dict[str, Any]", new["header"])["parentSession"], new["changed"]) == (str(parent), False)
    assert {one["id"]: one.get("parentSessionPath") for one in listed}[made.session_id] == str(parent)


def read_cwd(path: Path) -> str:
    with read(path) as session:
        return session.header.cwd
