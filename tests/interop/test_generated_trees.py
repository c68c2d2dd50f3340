"""On whatever anybody may have written, our selection is the real Pi's, but where `DEPARTURES` names the rule that wants it otherwise."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import attrs
import msgspec
import pytest

from sapwood import read
from sapwood.actors.projection.fold import Fold
from sapwood.events.context import Context
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message
from sapwood.events.unknown_fields import split
from sapwood.reading import ReadSession
from tests.interop.trees import HEADER, USAGE, Row, line, lines, text, tree
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle
from tests.real import REAL, needs_real

pytestmark = pytest.mark.interop

FEW: Final = 60
MANY: Final = 2_000
BATCH: Final = 250
"""Files a question: an answer of some megabytes."""


@pytest.fixture(name="pi", scope="module")
def _pi() -> Generator[Oracle]:
    try:
        with Oracle(patience=60) as oracle:
            yield oracle
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


def pis(seen: dict[str, Any]) -> Any:
    """Pi's answer, without the fields that no version of Pi names: they stay in the log."""
    context = [(item["source"], split(item["message"], Message)[0]) for item in seen["context"]]
    model = seen["model"]
    return context, None if model is None else (model["provider"], model["modelId"]), seen["thinkingLevel"]


def ours(context: Context) -> Any:
    said = [(item.entry_id, json.loads(msgspec.json.encode(item.message))) for item in context.items]
    return said, context.model, context.thinking_level


def at(session: ReadSession, leaf: str | None) -> Context:
    fold = Fold(session._view)
    fold.select(None if leaf is None else session.tree().index(EntryId(leaf)))
    return fold.context()


def assert_alike(pi: Oracle, folder: Path, seeds: Sequence[int]) -> int:
    """Pi and we see the same in each seed's file, at its own leaf and at others. Returns the messages that were compared."""
    compared = 0
    for first in range(0, len(seeds), BATCH):
        batch = {seed: tree(seed) for seed in seeds[first : first + BATCH]}
        files: list[dict[str, object]] = []
        for seed, (rows, leaves) in batch.items():
            path = folder / f"{seed}.jsonl"
            path.write_bytes(lines(rows))
            files.append({"path": str(path), "at": leaves})
        answers = cast("list[list[dict[str, Any]]]", pi.ask({"op": "contexts", "files": files})["answers"])
        for (seed, (_, leaves)), file, seen in zip(batch.items(), files, answers, strict=True):
            with read(str(file["path"])) as session:
                for leaf, answer in zip(["its own", *leaves], seen, strict=True):
                    context = session.context() if leaf == "its own" else at(session, leaf)
                    assert ours(context) == pis(answer), f"seed {seed}, leaf {leaf}"
                    compared += len(context.items)
    return compared


@pytest.mark.slow
def test_the_selection_of_generated_trees_is_pis(pi: Oracle, tmp_path: Path) -> None:
    assert assert_alike(pi, tmp_path, range(FEW)) > FEW


@pytest.mark.full
@pytest.mark.slow
def test_the_selection_of_thousands_of_generated_trees_is_pis(
    pi: Oracle, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    first = FEW + int(pytestconfig.getoption("--hypothesis-seed") or 0)

    assert assert_alike(pi, tmp_path, range(first, first + MANY)) > MANY


@needs_real
def test_the_selection_of_a_real_session_is_pis_place_by_place(pi: Oracle) -> None:
    """Pi gives the entries of a version 1 file new ids at each opening: what is compared is places."""
    seen = pi.ask({"op": "open", "path": str(REAL)})
    places = {entry["id"]: place for place, entry in enumerate(cast("list[dict[str, str]]", seen["entries"]))}
    with read(REAL) as session:
        tree, context = session.tree(), session.context()
        said, model, level = ours(context)

    theirs, their_model, their_level = pis(seen)
    assert [(tree.index(entry_id), message) for entry_id, message in said] == [
        (places[source], message) for source, message in theirs
    ]
    assert (model, level, len(said) > 100) == (their_model, their_level, True)


def row(entry_id: str, parent: str | None, kind: str = "message", /, **fields: Any) -> Row:
    return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": HEADER["timestamp"], **fields}


def asks(entry_id: str, parent: str | None, words: object = None) -> Row:
    return row(entry_id, parent, message={"role": "user", "content": words or entry_id, "timestamp": 1})


def answers(entry_id: str, parent: str | None, **fields: Any) -> Row:
    said: Row = {"role": "assistant", "content": [text(entry_id)], "api": "x", "provider": "p", "model": "m"}
    said |= {"usage": USAGE, "stopReason": "stop", "timestamp": 1}
    return row(entry_id, parent, message=said | fields)


@attrs.frozen(kw_only=True)
class Departure:
    """Where our selection is another one than Pi's, and by which rule."""

    rows: list[Row | bytes]
    pi: list[str] | str
    """What Pi selects, entry and content; or how it ends."""
    we: list[str]
    rule: str
    why: str


IMAGE: Final = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
THOUGHT: Final = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
CALL: Final[Row] = {"type": "toolCall", "id": "c", "name": "read", "arguments": {}}
THREE: Final = [asks("u1", None), answers("a1", "u1"), asks("u2", "a1")]
CUT: Final = line(THREE[1]).replace(b'"role":"assistant"', b'"role":"assis')

DEPARTURES: Final[dict[str, Departure]] = {
    "an id that is there twice": Departure(
        rows=[asks("u1", None, "first"), asks("u1", None, "second"), asks("u2", "u1")],
        pi=["u1 second", "u2 u2"],
        we=["u1 first", "u2 u2"],
        rule="S7",
        why="what hangs under the first one was said to it; a second one would change a history",
    ),
    "a lost line that still shows its id and its parent": Departure(
        rows=[THREE[0], CUT, THREE[2]],
        pi=["u2 u2"],
        we=["u1 u1", "u2 u2"],
        rule="S7",
        why="a history is never shortened in silence: what hangs under the lost one is bridged, and the gap is told",
    ),
    "parents in a circle": Departure(
        rows=[asks("u1", "u3"), asks("u2", "u1"), asks("u3", "u2")],
        pi="Cycle",
        we=["u1 u1", "u2 u2", "u3 u3"],
        rule="S7",
        why="reading never loops; Pi never ends",
    ),
    "an entry that is its own parent": Departure(
        rows=[asks("u1", "u1"), asks("u2", "u1")],
        pi="Cycle",
        we=["u1 u1", "u2 u2"],
        rule="S7",
        why="reading never loops; Pi never ends",
    ),
    "a compaction without a summary": Departure(
        rows=[*THREE, row("c1", "u2", "compaction", firstKeptEntryId="u2", tokensBefore=1), asks("u3", "c1")],
        pi=["c1 None", "u2 u2", "u3 u3"],
        we=["u1 u1", "a1 a1", "u2 u2", "u3 u3"],
        rule="S7",
        why="a history is never shortened in silence: what cannot be read hides nothing",
    ),
    "a role that nobody knows": Departure(
        rows=[*THREE, row("x1", "u2", message={"role": "narrator", "content": "x", "timestamp": 1})],
        pi=["u1 u1", "a1 a1", "u2 u2", "x1 x"],
        we=["u1 u1", "a1 a1", "u2 u2"],
        rule="S2",
        why="kept, and told as unreadable; Pi leaves it out of the request as well, later on",
    ),
    "an edit with blocks that its target cannot hold": Departure(
        rows=[
            *THREE,
            row("e1", "u2", "context_edit", targetId="u1", replacement={"content": [text("x"), CALL]}),
            row("e2", "e1", "context_edit", targetId="a1", replacement={"content": [text("y"), IMAGE]}),
        ],
        pi=["u1 x+toolCall", "a1 y+image", "u2 u2"],
        we=["u1 x", "a1 y", "u2 u2"],
        rule="P4",
        why="a user does not call tools, and no provider takes an image in an answer",
    ),
    "an edit with a signed thought that the answer did not have": Departure(
        rows=[
            *THREE,
            row("e1", "u2", "context_edit", targetId="a1", replacement={"content": [text("y"), THOUGHT]}),
        ],
        pi=["u1 u1", "a1 y+thinking", "u2 u2"],
        we=["u1 u1", "a1 y", "u2 u2"],
        rule="P5",
        why="a thought goes with its signature as the model thought it, or not at all: its provider refuses it otherwise",
    ),
    "an answer whose content is a text": Departure(
        rows=[asks("u1", None), answers("a1", "u1", content="as text")],
        pi=["u1 u1", "a1 'as text'"],
        we=["u1 u1", "a1 as text"],
        rule="S1",
        why="read as the one block that it means; Pi hands the text on, and its wires fail on it",
    ),
    "a block of a type that nobody knows": Departure(
        rows=[asks("u1", None, [text("x"), {"type": "video", "data": "?"}])],
        pi=["u1 x+video"],
        we=["u1 x"],
        rule="S1",
        why="no wire could say it; the line keeps it",
    ),
}
"""By hand, and all of them: what else differs is a fault of ours. Fields of a message that are missing or of the wrong type are read as
nearly as they can be (S1, `lenient`), and fields that nobody knows stay in the log (S2): neither is another selection."""


def told(item: tuple[str, dict[str, Any]]) -> str:
    source, said = item
    content = said.get("content", said.get("summary"))
    if isinstance(content, list):
        blocks = cast("list[dict[str, Any]]", content)
        return f"{source} {'+'.join(block.get('text', block['type']) for block in blocks)}"
    return f"{source} {content!r}" if said["role"] == "assistant" else f"{source} {content}"


@pytest.mark.parametrize("departure", DEPARTURES.values(), ids=DEPARTURES)
def test_where_we_see_something_else_than_pi_a_rule_wants_it(pi: Oracle, departure: Departure, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(departure.rows))
    files: list[Row] = [{"path": str(path), "at": []}]
    seen = cast("list[Any]", pi.ask({"op": "contexts", "files": files})["answers"])[0]
    with read(path) as session:
        said, _, _ = ours(session.context())

    assert [told(item) for item in said] == departure.we
    if isinstance(departure.pi, str):
        assert seen["error"].startswith(departure.pi)
    else:
        assert [told((item["source"], item["message"])) for item in seen[0]["context"]] == departure.pi
