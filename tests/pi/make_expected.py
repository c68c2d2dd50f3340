"""Writes `tests/data/<name>.expected.json`: what Pi sees in each session file of ours, so that the tests which compare need no npm.

Run it with `python -m tests.pi.make_expected`. With the same files and the same Pi it writes the same bytes.

The answer is that of `{"op": "open", "llm": true}` in `oracle.mjs`, and beside it `at`: what the context comes from when the
leaf is moved to another entry (`selected`: the entries that Pi picks; `speaking`: one id for each message of the context).
A small file has that for every entry, a large one for each tip and one entry in `STRIDE`.
A file of version 1 has no ids, and Pi gives its entries new random ones at each opening: in its expectation they are `#1`, `#2`, …
by the place of the entry in the file, and `at` is left out.
"""

import json
from pathlib import Path
from typing import Final, cast

from tests.pi.oracle import Answer, Oracle

DATA: Final = Path(__file__).resolve().parents[1] / "data"
SESSIONS: Final = ("pi-all-kinds", "pi-ringing-v3", "v1", "v2")
SMALL: Final = 60  # entries; the lists of ids grow with the square of it
STRIDE: Final = 11  # prime to the rhythm of the story (ask, call, result, answer), so that every kind is met


def expected(pi: Oracle, session: Path) -> Answer:
    """What Pi sees in one file, from its leaf and from other entries."""
    seen = pi.ask({"op": "open", "path": str(session), "llm": True})
    entries = cast("list[dict[str, object]]", seen["entries"])
    header = json.loads(session.read_text(encoding="utf-8").splitlines()[0])
    if header.get("version", 1) == 1:
        return _numbered(seen, [str(entry["id"]) for entry in entries])
    parents = {entry["parentId"] for entry in entries}
    at: dict[str, object] = {}
    for index, entry in enumerate(entries):
        if len(entries) <= SMALL or entry["id"] not in parents or index % STRIDE == 0:
            there = pi.ask({"op": "open", "path": str(session), "at": entry["id"]})
            context = cast("list[dict[str, object]]", there["context"])
            at[str(entry["id"])] = {
                "selected": there["selected"],
                "speaking": [spoken["source"] for spoken in context],
                "model": there["model"],
                "thinkingLevel": there["thinkingLevel"],
            }
    return {**seen, "at": at}


def _numbered(seen: Answer, ids: list[str]) -> Answer:
    """The same answer with `#n` for the n-th id."""
    said = json.dumps(seen)
    for place, ident in enumerate(ids, start=1):
        said = said.replace(json.dumps(ident), json.dumps(f"#{place}"))
    return cast("Answer", json.loads(said))


def written(answer: Answer) -> str:
    """One line for each thing that a person would look for, so that a difference shows where it is."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {_value(key, value)}" for key, value in answer.items()) + "\n}\n"


def _value(key: str, value: object) -> str:
    if key in {"entries", "context", "llm"}:
        return "[\n" + ",\n".join("  " + _flat(item) for item in cast("list[object]", value)) + "\n]"
    if key == "at":
        members = cast("dict[str, object]", value).items()
        return "{\n" + ",\n".join(f"  {json.dumps(ident)}: {_flat(item)}" for ident, item in members) + "\n}"
    return _flat(value)


def _flat(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    with Oracle() as pi:
        for name in SESSIONS:
            target = DATA / f"{name}.expected.json"
            target.write_text(written(expected(pi, DATA / f"{name}.jsonl")), encoding="utf-8")


if __name__ == "__main__":
    main()
