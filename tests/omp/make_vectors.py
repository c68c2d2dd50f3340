"""Writes `tests/data/omp-branches.json`: branches of ours, and what oh-my-pi's own functions make of them.

Run it with `python -m tests.omp.make_vectors`; it takes npm and Linux on x86-64, and the same versions write the same bytes. The packages
go into `.cache/`, which git never sees. What is committed is our input and their numbers, ids and paths: no code and no prose of theirs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any, Final

Row = dict[str, Any]

HERE: Final = Path(__file__).resolve().parent
VECTORS: Final = HERE.parent / "data" / "omp-branches.json"
VERSION: Final = "18.2.11"
CACHE: Final = HERE.parents[1] / ".cache" / f"omp-{VERSION}"
PACKAGES: Final = {
    "private": True,
    "dependencies": {"@oh-my-pi/pi-agent-core": VERSION, "@oven/bun-linux-x64": "1.4.5"},
    # not every one of its packages is to be had in its own version; of these two no code runs that matters here
    "overrides": {"@oh-my-pi/pi-natives": "18.2.10", "@oh-my-pi/pi-utils": "18.2.9"},
}
CASES: Final = 30
BUDGETS: Final = (-16_384, 0, 1, 5, 12, 30, 60, 120, 600, 10**6)
START: Final = 1_767_225_600_000
TEXTS: Final = (["Q", 1_999], ["Q", 2_000], ["Q", 2_001], ["Q", 2_005], ["漢", 2_000], ["漢", 4_000], ["Q", 50_000])
FILES: Final[tuple[Row, ...]] = (
    {"text": "found", "read": [], "modified": [], "both": []},
    {"text": "found", "read": ["a.py"], "modified": ["b.py", "c.py"], "both": ["c.py"]},
    {"text": "", "read": [], "modified": ["x"], "both": []},
    {"text": "found", "read": [f"f{n:02}.py" for n in range(25)], "modified": [], "both": []},
    {
        "text": "found\n\n<read-files>\nold\n</read-files>\n\n<modified-files>\nold\n</modified-files>",
        "read": ["a.py"],
        "modified": [],
        "both": [],
    },
    {"text": "found\n\n<files>\nold (RW)\n</files>\n", "read": [], "modified": [], "both": []},
    {"text": "found\n\n<files>\nold (RW)\n</files>", "read": ["a.py"], "modified": [], "both": []},
)
"""Files all in one folder: omp draws others as a tree."""


class Branch:
    """A session that is being made up, in the kinds that omp has."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)  # noqa: S311 - the same case for the same seed is the point
        self.rows: list[Row] = []

    def words(self) -> str:
        return self.chance.choice(["", "Which rings?", "漢字 😀", "two\nlines", "word " * self.chance.randrange(1, 60)])

    def blocks(self, *more: Row) -> list[Row]:
        return self.chance.choices([_text(self.words()), _text("said"), *more], k=self.chance.randrange(1, 4))

    def add(self) -> None:
        place = len(self.rows)
        back = 1 if self.chance.random() < 0.85 else self.chance.randrange(1, place + 1) if place else 1
        kind = self.chance.choices(
            ["message", "compaction", "branch_summary", "custom_message", "label"], [70, 8, 8, 8, 6]
        )[0]
        self.rows.append(
            {
                "type": kind,
                "id": f"{place:08x}",
                "parentId": self.rows[-back]["id"] if place else None,
                "timestamp": f"2026-01-01T00:{place // 60:02}:{place % 60:02}.000Z",
                **self.payload(kind),
            }
        )

    def payload(self, kind: str) -> Row:
        at = START + 1000 * len(self.rows)
        match kind:
            case "message":
                return {"message": {**self.message(), "timestamp": at}}
            case "compaction":
                return {
                    "summary": self.words(),
                    "tokensBefore": 9,
                    "firstKeptEntryId": f"{len(self.rows):08x}",
                    **self.lists(),
                }
            case "branch_summary":
                return {"summary": self.words() or "found", "fromId": "root", **self.lists()}
            case "custom_message":
                return {"customType": "note", "content": self.words(), "display": True}
            case _:
                return {"targetId": "00000000", "label": "here"}

    def lists(self) -> Row:
        def paths() -> list[str]:
            return sorted(set(self.chance.choices("abcdef", k=self.chance.randrange(3))))

        given = {"details": {"readFiles": paths(), "modifiedFiles": paths()}}
        return {**given, "fromExtension": True} if self.chance.random() < 0.3 else given

    def message(self) -> Row:
        image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
        match self.chance.choice(["user", "assistant", "assistant", "toolResult", "toolResult", "bashExecution"]):
            case "user":
                return {"role": "user", "content": self.chance.choice([self.words(), self.blocks(image)])}
            case "toolResult":
                return {
                    "role": "toolResult",
                    "toolCallId": self.chance.choice(["call-1", "call-2"]),
                    "toolName": "read",
                    "content": [
                        _text(self.words() * self.chance.choice([1, 1, 9])),
                        *self.chance.choice([[], [image]]),
                    ],
                    "isError": self.chance.random() < 0.3,
                    **self.chance.choice([{}, {"useless": True}, {"useless": False}]),
                }
            case "bashExecution":
                return {
                    "role": "bashExecution",
                    "command": "ls",
                    "output": self.words(),
                    "cancelled": False,
                    "truncated": False,
                }
            case _:
                call = {
                    "type": "toolCall",
                    "id": self.chance.choice(["call-1", "call-2"]),
                    "name": self.chance.choice(["read", "write", "edit", "other"]),
                    "arguments": {"path": self.chance.choice("abcdef"), "n": [1]},
                }
                return {
                    "role": "assistant",
                    "content": self.blocks({"type": "thinking", "thinking": self.words()}, call, call),
                    "api": "story-api",
                    "provider": "story",
                    "model": "small",
                    "usage": {"input": 7, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 9},
                    "stopReason": self.chance.choice(["stop", "stop", "toolUse", "error", "aborted"]),
                }


def case(seed: int) -> Row:
    """A session, moves in it, and budgets."""
    branch = Branch(seed)
    for _ in range(branch.chance.randrange(4, 16)):
        branch.add()
    ids = [row["id"] for row in branch.rows]
    moves = [
        [ids[-1], branch.chance.choice(ids)],
        [ids[-1], None],
        [branch.chance.choice(ids), branch.chance.choice(ids)],
    ]
    return {"entries": branch.rows, "moves": moves, "budgets": [*BUDGETS]}


def _line(value: Row) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(words: str) -> Row:
    return {"type": "text", "text": words}


def answered(question: Row) -> Row:
    """What omp says to it."""
    bun = CACHE / "node_modules" / "@oven" / "bun-linux-x64" / "bin" / "bun"
    if not bun.is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise FileNotFoundError("npm is not on PATH")
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "package.json").write_text(json.dumps(PACKAGES), encoding="utf-8")
        subprocess.run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=CACHE, check=True)
    bun.chmod(0o755)
    for script in ("prepare.ts", "without_natives.ts"):  # beside its packages, so that it finds them
        shutil.copy(HERE / script, CACHE / script)
    done = subprocess.run(
        [bun, "--preload", "./without_natives.ts", "prepare.ts"],
        cwd=CACHE,
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: Row = json.loads(done.stdout)
    return answers


def main() -> None:
    question: Row = {"cases": [case(seed) for seed in range(CASES)], "texts": [*TEXTS], "files": [*FILES]}
    answers = answered(question)
    lines = [f'"version": {json.dumps(VERSION)}']
    for name in question:
        pairs = zip(question[name], answers[name], strict=True)
        told = [_line({"asked": asked, "answer": answer}) for asked, answer in pairs]
        lines.append(f"{json.dumps(name)}: [\n" + ",\n".join(told) + "\n]")
    VECTORS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
