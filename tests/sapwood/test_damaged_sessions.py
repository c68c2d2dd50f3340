"""Files damaged by chance, as a host meets them: opened, projected, appended to, opened again (S7, S8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.actors.outgoing import marked
from sapwood.actors.projection.fold import Fold
from sapwood.actors.session_log.view import View
from sapwood.events.errors import NotASession
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
    context = marked(Fold(View(store)).context(explained=True))
    assert context.items == ()  # nothing was pulled yet
    store.append([line("new-1", store.tree.id(len(before) - 1) if before else None), line("new-2", "new-1")])
    assert lines_of(store) == [
        *before,
        line("new-1", ids_of(store)[len(before) - 1] if before else None),
        line("new-2", "new-1"),
    ]
    store.close()
    assert path.read_bytes().startswith(data)
    again = opened(path)
    assert ids_of(again) == ids_of(store)
    assert lines_of(again)[: len(before)] == before
    fold = Fold(View(again))
    fold.pull()
    fold.context(explained=True)
    again.close()
    return True


def sessions(tmp_path: Path, seeds: range) -> int:
    return sum(go_on(tmp_path / "s.jsonl", mutated(seed, ALL)) for seed in seeds)


def test_a_hundred_damaged_sessions_go_on(tmp_path: Path) -> None:
    assert sessions(tmp_path, range(100)) > 80


@pytest.mark.full
@pytest.mark.parametrize("part", range(4))
def test_two_thousand_damaged_sessions_go_on(part: int, tmp_path: Path) -> None:
    assert sessions(tmp_path, range(100 + part * 475, 100 + (part + 1) * 475)) > 400
