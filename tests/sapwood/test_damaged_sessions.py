"""Files damaged by chance, as a host meets them: opened, projected, appended to, opened again (S7, S8)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sapwood.actors.outgoing import marked
from sapwood.actors.projection.fold import Fold
from sapwood.actors.session_log.view import View
from sapwood.events.errors import NewerVersion, NotASession
from sapwood.reading import read
from tests.store.damaging import mutated
from tests.store.stores import DATA, Watched, ids_of, line, lines_of, opened

ALL: bytes = (DATA / "pi-all-kinds.jsonl").read_bytes()


def go_on(path: Path, data: bytes) -> bool:
    """What a host does with a file; whether it is a session."""
    path.write_bytes(data)
    watched = Watched(path)
    try:
        with read(path) as session:
            session.entries()
            session.context()
            session.labels()
    except NotASession:
        return False
    finally:
        watched.assert_untouched()
    store = opened(path)
    before = lines_of(store)
    new = [line("new-1", ids_of(store)[-1] if before else None), line("new-2", "new-1")]
    try:
        store.append(new)
    except NewerVersion:  # as the damaged header says
        store.close()
        return True
    assert lines_of(store)[: len(before) + 2] == [*before, *new]
    assert Path(store.where).read_bytes().startswith(data) or path.read_bytes() == data, "version 1, as the header says"
    store.close()
    again = opened(store.where)
    assert (ids_of(again), lines_of(again)[: len(before)]) == (ids_of(store), before)
    fold = Fold(View(again))
    fold.pull()
    marked(fold.context(explained=True))
    again.close()
    return True


def sessions(tmp_path: Path, seeds: range) -> int:
    gone_on = 0
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        gone_on += go_on(folder / "s.jsonl", mutated(seed, ALL))
        shutil.rmtree(folder)
    return gone_on


def test_a_hundred_damaged_sessions_go_on(tmp_path: Path) -> None:
    assert sessions(tmp_path, range(100)) > 80


@pytest.mark.full
@pytest.mark.parametrize("part", range(4))
def test_two_thousand_damaged_sessions_go_on(part: int, tmp_path: Path) -> None:
    assert sessions(tmp_path, range(100 + part * 475, 100 + (part + 1) * 475)) > 400
