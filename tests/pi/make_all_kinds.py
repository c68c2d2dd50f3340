"""Writes `tests/data/pi-all-kinds.jsonl`: every kind of entry, each in Pi's own hand, in a session small enough to read.

Run it with `python -m tests.pi.make_all_kinds`, and `python -m tests.pi.make_expected` after it. Ids and times are new each
time, so it is run only when the story changes.

The tree, with the names used below (`=` marks what moved the leaf there without an entry):

    model, thinking, system, name, ask, plan (2 calls), r1, r2 (failed), bash, note, tally, warm, first (label),
    edit-r1 (replacement), edit-r2 (null), older (compaction), more, reply, thinking2, image, seen, newer (compaction that
    keeps from before `older`), after, answer
      = ask         second branch: other, reply2
      = plan        branch summary of it, under plan: back, model2, done, unlabel, edit-back, last
"""

import tempfile
from pathlib import Path
from typing import Final

from tests.pi.oracle import Oracle

TARGET: Final = Path(__file__).resolve().parents[1] / "data" / "pi-all-kinds.jsonl"
CWD: Final = "/home/dev/ringing"
START: Final = 1_772_352_000_000  # ms: 1 March 2026, 08:00 UTC; the messages follow a minute apart

# A red pixel, made by hand from the PNG specification: 1 x 1, 8 bit, RGB.
PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4YaAAAALcARkiM5KWAAAAAElFTkSuQmCC"

Json = dict[str, object]


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def call(ident: str, name: str, **arguments: object) -> Json:
    return {"type": "toolCall", "id": ident, "name": name, "arguments": arguments}


def usage(total: int, output: int) -> Json:
    cost: Json = {"input": 0.0125, "output": 0.025, "cacheRead": 0, "cacheWrite": 0, "total": 0.0375}
    fresh = total - output
    return {"input": fresh, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": total, "cost": cost}


def at(minute: int) -> int:
    return START + 60_000 * minute


def message(name: str, minute: int, role: str, **fields: object) -> Json:
    return {"what": "message", "as": name, "message": {"role": role, **fields, "timestamp": at(minute)}}


def assistant(name: str, minute: int, *content: Json, total: int, stop: str = "stop", model: str = "small") -> Json:
    return message(
        name,
        minute,
        "assistant",
        content=list(content),
        api="story-api",
        provider="story",
        model=model,
        usage=usage(total, 20),
        stopReason=stop,
    )


TRUNK: Final[list[Json]] = [
    {"what": "model", "as": "model", "provider": "story", "modelId": "small"},
    {"what": "thinking", "as": "thinking", "level": "low"},
    message(
        "system",
        0,
        "system",
        content="You help with a ringing logbook.",
        sections={"folder": f"Current folder: {CWD}", "manners": "Answer in one line."},
        toolsAdded=[{"name": "read", "description": "Read a file", "parameters": {"type": "object"}}],
    ),
    {"what": "session_info", "as": "name", "name": "Ringing\nlogbook  "},
    message("ask", 1, "user", content=[text("Which rings are in march.csv and april.csv?")]),
    assistant(
        "plan",
        2,
        {"type": "thinking", "thinking": "Two files, so two reads at once.", "thinkingSignature": "sig-1"},
        text("I will read both."),
        call("c1", "read", path="march.csv"),
        call("c2", "read", path="april.csv"),
        total=120,
        stop="toolUse",
    ),
    message(
        "r1",
        3,
        "toolResult",
        toolCallId="c1",
        toolName="read",
        content=[text("ring,species\nAX1023,robin\nAX1024,wren\n" + "AX10xx,robin\n" * 20)],
        details={"rows": 22},
        isError=False,
    ),
    message(
        "r2",
        4,
        "toolResult",
        toolCallId="c2",
        toolName="read",
        content=[text("april.csv: no such file")],
        isError=True,
    ),
    message(
        "bash",
        5,
        "bashExecution",
        command="ls *.csv",
        output="march.csv\n",
        exitCode=0,
        cancelled=False,
        truncated=False,
    ),
    {
        "what": "custom_message",
        "as": "note",
        "customType": "field.note",
        "content": "The net round ends at noon.",
        "display": True,
        "details": {"net": 3},
    },
    {"what": "custom", "as": "tally", "customType": "field.tally", "data": {"robin": 21, "wren": 1}},
    {
        "what": "usage",
        "as": "warm",
        "kind": "cache_warm",
        "provider": "story",
        "model": "small",
        "usage": usage(90, 0),
        "note": "kept warm over the tea break",
    },
    {"what": "label", "as": "first", "target": "$plan", "label": "both files"},
    {"what": "context_edit", "as": "edit-r1", "target": "$r1", "replacement": {"content": "22 rows; AX1023 to AX1044"}},
    {"what": "context_edit", "as": "edit-r2", "target": "$r2", "replacement": None},
    {
        "what": "compaction",
        "as": "older",
        "summary": "## Goal\nList the rings of two months.\n\n## Progress\n### Done\n- [x] march.csv has 22 rows",
        "firstKept": "$bash",
        "tokensBefore": 640,
        "details": {"readFiles": ["march.csv"], "modifiedFiles": []},
        "fromHook": False,
        "usage": usage(300, 60),
    },
    message("more", 6, "user", content="Is AX1024 a wren?"),
    assistant("reply", 7, text("Yes, it is."), total=210),
    {"what": "thinking", "as": "thinking2", "level": "high"},
    message(
        "image",
        8,
        "user",
        content=[text("And on this photo?"), {"type": "image", "data": PIXEL, "mimeType": "image/png"}],
    ),
    assistant("seen", 9, text("That is a robin."), total=330),
    {
        "what": "compaction",
        "as": "newer",
        "summary": "## Goal\nList the rings of two months.\n\n## Progress\n### Done\n- [x] AX1024 is a wren",
        "firstKept": "$note",  # before `older`, which then lies inside the kept range and is silent
        "tokensBefore": 700,
        "details": {"readFiles": ["march.csv"], "modifiedFiles": ["rings.txt"]},
        "fromHook": True,
    },
    message("after", 10, "user", content="Write them to rings.txt."),
    assistant("answer", 11, text("Written."), total=260),
]

SIDE: Final[list[Json]] = [
    {"what": "branch", "to": "$ask"},
    message("other", 12, "user", content="Only the wrens, please."),
    assistant("reply2", 13, text("AX1024 is the only one."), total=150),
    {"what": "label", "as": "second", "target": "$other", "label": "wrens only"},
]

RETURN: Final[list[Json]] = [
    {
        "what": "branch_summary",
        "as": "summary",
        "to": "$plan",
        "summary": "The other branch found that AX1024 is the only wren.",
        "details": {"readFiles": [], "modifiedFiles": []},
        "fromHook": False,
        "usage": usage(80, 20),
    },
    message("back", 14, "user", content="Then count the robins."),
    {"what": "model", "as": "model2", "provider": "story", "modelId": "large"},
    assistant("done", 15, text("21 robins."), total=180, model="large"),
    {"what": "label", "as": "unlabel", "target": "$plan", "label": None},
    {
        "what": "context_edit",
        "as": "edit-back",
        "target": "$back",
        "replacement": {"content": [text("Count the robins.")]},
    },
    message("last", 16, "user", content="Thanks."),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Oracle() as pi:
        made = pi.ask({"op": "create", "dir": folder, "cwd": CWD, "appends": TRUNK + SIDE + RETURN})
        TARGET.write_bytes(Path(str(made["file"])).read_bytes())


if __name__ == "__main__":
    main()
