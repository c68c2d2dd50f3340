"""What the real Pi wrote, we read as Pi does: kept answers of Pi, so that no npm is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sapwood import read
from sapwood.actors.projection.fold import Fold
from sapwood.events.ids import EntryId

DATA = Path(__file__).parents[1] / "data"
FILES = ["pi-all-kinds", "pi-ringing-v3", "v2"]


def expected(name: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((DATA / f"{name}.expected.json").read_text(encoding="utf-8"))
    return answer


def plain(message: object) -> Any:
    return json.loads(msgspec.json.encode(message))


@pytest.mark.parametrize("name", FILES)
def test_entries_parents_and_leaf_are_pis(name: str) -> None:
    pi = expected(name)
    with read(DATA / f"{name}.jsonl") as session:
        tree = session.tree()

        assert [(entry.id, entry.parent_id) for entry in session.entries()] == [
            (entry["id"], entry["parentId"]) for entry in pi["entries"]
        ]
        assert [tree.id(index) for index in tree.path(tree.leaf)] == pi["path"]
        assert session.context().leaf == pi["leaf"]
        assert session.name == pi["sessionName"]
        assert dict(session.labels()) == pi["labels"]


@pytest.mark.parametrize("name", FILES)
def test_the_context_is_pis_message_for_message(name: str) -> None:
    pi = expected(name)
    with read(DATA / f"{name}.jsonl") as session:
        context = session.context()

        assert [(item.entry_id, plain(item.message)) for item in context.items] == [
            (item["source"], item["message"]) for item in pi["context"]
        ]
        assert context.thinking_level == pi["thinkingLevel"]
        assert context.model == (pi["model"]["provider"], pi["model"]["modelId"])


@pytest.mark.parametrize("name", FILES)
def test_at_every_other_leaf_the_same_entries_speak(name: str) -> None:
    with read(DATA / f"{name}.jsonl") as session:
        fold = Fold(session._view)
        for leaf, pi in expected(name)["at"].items():
            fold.select(session.tree().index(EntryId(leaf)))
            context = fold.context()

            assert [item.entry_id for item in context.items] == pi["speaking"], leaf
            assert context.thinking_level == pi["thinkingLevel"], leaf
            model = pi["model"]
            assert context.model == (None if model is None else (model["provider"], model["modelId"])), leaf


def test_a_version_1_file_selects_what_pi_selects_place_by_place() -> None:
    pi = expected("v1")
    with read(DATA / "v1.jsonl") as session:
        tree, context = session.tree(), session.context()

        assert [entry["type"] for entry in pi["entries"]] == [tree.kind(index) for index in range(len(tree))]
        places = [f"#{(tree.index(item.entry_id) or 0) + 1}" for item in context.items]
        assert places == [item["source"] for item in pi["context"]]
        assert [plain(item.message) for item in context.items] == [item["message"] for item in pi["context"]]
