// The story that `make_session.mjs` makes happen: two people's worth of a small task, invented here.
//
// Kari rings birds and wants a logbook on the command line. The tools answer from a folder that exists in memory only; what a
// command printed is told beside its call, so nothing is ever run.

export const SYSTEM = `You help Kari with a logbook for bird ringing, a small command-line program in Python.
Change as little as the task needs, run the tests after each change, and say in a line or two what you did.`;

// --- words to tell it with -------------------------------------------------------------------------------------------------

let calls = 0;
const printed = new Map(); // call id -> what the command printed

function call(name, args) {
  calls += 1;
  return { type: "toolCall", id: `call_${String(calls).padStart(3, "0")}`, name, arguments: args };
}
const read = (path) => call("read", { path });
const write = (path, content) => call("write", { path, content });
const edit = (path, before, after) => call("edit", { path, before, after });
/** A command, and what it will have printed. */
function run(command, output, code = 0) {
  const made = call("run", { command });
  printed.set(made.id, { output, code });
  return made;
}

const text = (words) => ({ type: "text", text: words });
const thought = (thinking) => ({ type: "thinking", thinking, thinkingSignature: `heron-${thinking.length}` });
const blocks = (parts) => parts.map((part) => (typeof part === "string" ? text(part) : part));
/** A line of the model that ends in tool calls. */
const act = (...parts) => ({ content: blocks(parts), stop: "toolUse" });
/** A line that ends the run. */
const say = (...parts) => ({ content: blocks(parts), stop: "stop" });
/** A line that breaks off as a provider would break it off. */
const fail = (error, ...parts) => ({ content: blocks(parts), stop: "error", error });

// --- the tools -------------------------------------------------------------------------------------------------------------

const folder = new Map([
  ["README.md", "# Ringing\n\nA logbook for the nets at Store Færder.\n\nOne line a bird: ring, species, age, sex, wing (mm), weight (g), net, time.\n"],
  [
    "pyproject.toml",
    '[project]\nname = "ringing"\nversion = "0.1.0"\nrequires-python = ">=3.11"\n\n[project.scripts]\nringing = "ringing.cli:main"\n',
  ],
  [
    "data/species.csv",
    [
      "code,latin,norwegian,english",
      "ERIRUB,Erithacus rubecula,rødstrupe,robin",
      "TROTRO,Troglodytes troglodytes,gjerdesmett,wren",
      "CYACAE,Cyanistes caeruleus,blåmeis,blue tit",
      "PARMAJ,Parus major,kjøttmeis,great tit",
      "PHYTRO,Phylloscopus trochilus,løvsanger,willow warbler",
      "TURPHI,Turdus philomelos,måltrost,song thrush",
      "SYLATR,Sylvia atricapilla,munk,blackcap",
      "REGREG,Regulus regulus,fuglekonge,goldcrest",
      "PRUMOD,Prunella modularis,jernspurv,dunnock",
      "FICHYP,Ficedula hypoleuca,svarthvit fluesnapper,pied flycatcher",
      "",
    ].join("\n"),
  ],
]);

function at(path) {
  const content = folder.get(path);
  if (content === undefined) throw new Error(`${path}: no such file`);
  return content;
}

const words = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});
const told = (output, details) => ({ content: [text(output)], details });

/** Four tools on the folder above. `pause(from, to)` lets seconds go by. */
export function makeTools(pause) {
  return [
    {
      name: "read",
      label: "read",
      description: "Show a file of the project.",
      parameters: words("path"),
      execute: async (_id, { path }) => {
        pause(0.01, 0.2);
        return told(at(path), { lines: at(path).split("\n").length });
      },
    },
    {
      name: "write",
      label: "write",
      description: "Make a file, or put new content in the place of the old.",
      parameters: words("path", "content"),
      execute: async (_id, { path, content }) => {
        pause(0.01, 0.2);
        const verb = folder.has(path) ? "Replaced" : "Made";
        folder.set(path, content);
        return told(`${verb} ${path}: ${content.split("\n").length - 1} lines`, { created: verb === "Made" });
      },
    },
    {
      name: "edit",
      label: "edit",
      description: "Put one piece of text in the place of another that occurs once in a file.",
      parameters: words("path", "before", "after"),
      execute: async (_id, { path, before, after }) => {
        pause(0.01, 0.2);
        const pieces = at(path).split(before);
        if (pieces.length !== 2) throw new Error(`${path}: the text to replace occurs ${pieces.length - 1} times`);
        folder.set(path, pieces.join(after));
        return told(`Changed ${path} at line ${pieces[0].split("\n").length}`, {
          removed: before.split("\n").length,
          added: after.split("\n").length,
        });
      },
    },
    {
      name: "run",
      label: "run",
      description: "Run a command in the project's folder.",
      parameters: words("command"),
      execute: async (id, _args, _signal, onUpdate) => {
        const { output, code } = printed.get(id);
        onUpdate?.(told(output.slice(0, 40)));
        pause(0.4, 6);
        if (code !== 0) throw new Error(`${output}\n(exit code ${code})`);
        return told(output || "(no output)", { code });
      },
    },
  ];
}

// --- what gets written -----------------------------------------------------------------------------------------------------

const MODEL = `"""One bird in the hand."""

import re
from dataclasses import dataclass
from datetime import datetime

RING = re.compile(r"[A-Z]{1,2}[0-9]{4,6}")


@dataclass(frozen=True)
class Capture:
    ring: str
    species: str
    age: str
    sex: str
    wing: float  # mm
    weight: float  # g
    net: int
    time: datetime

    def __post_init__(self) -> None:
        if not RING.fullmatch(self.ring):
            raise ValueError(f"{self.ring!r} is no ring number")
`;

const STORE = `"""The logbook: one JSON object a line, only ever added to."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from ringing.model import Capture


class Logbook:
    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, capture: Capture) -> None:
        row = asdict(capture) | {"time": capture.time.isoformat()}
        with self.path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row, ensure_ascii=False) + "\\n")

    def __iter__(self) -> Iterator[Capture]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield Capture(**row | {"time": datetime.fromisoformat(row["time"])})
`;

const CLI = `"""ringing add | list | day"""

import argparse
from datetime import datetime
from pathlib import Path

from ringing.model import Capture
from ringing.store import Logbook


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="ringing")
    top.add_argument("--book", type=Path, default=Path("logbook.jsonl"))
    commands = top.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="a bird")
    add.add_argument("ring")
    add.add_argument("species")
    add.add_argument("--age", default="?")
    add.add_argument("--sex", default="?")
    add.add_argument("--wing", type=float, default=0)
    add.add_argument("--weight", type=float, default=0)
    add.add_argument("--net", type=int, default=0)
    commands.add_parser("list", help="all birds")
    return top


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    book = Logbook(args.book)
    if args.command == "add":
        fields = {k: getattr(args, k) for k in ("ring", "species", "age", "sex", "wing", "weight", "net")}
        book.add(Capture(**fields, time=datetime.now()))
    elif args.command == "list":
        for bird in book:
            print(f"{bird.time:%H:%M} {bird.ring:8} {bird.species:8} {bird.wing:5.1f} mm {bird.weight:5.1f} g")
    return 0
`;

const TEST_MODEL = `import pytest
from datetime import datetime

from ringing.model import Capture


def bird(ring: str = "AX1023") -> Capture:
    return Capture(ring, "ERIRUB", "1", "?", 73.0, 16.4, 3, datetime(2026, 3, 1, 8, 20))


@pytest.mark.parametrize("ring", ["A1234", "AX1023", "AX102345"])
def test_a_good_ring_is_taken(ring: str) -> None:
    assert bird(ring).ring == ring


@pytest.mark.parametrize("ring", ["", "1023", "ax1023", "AXX1023", "AX12", "AX1023 "])
def test_a_bad_ring_is_refused(ring: str) -> None:
    with pytest.raises(ValueError, match="no ring number"):
        bird(ring)
`;

const TEST_STORE = `from pathlib import Path

from ringing.store import Logbook
from tests.test_model import bird


def test_what_is_added_comes_back(tmp_path: Path) -> None:
    book = Logbook(tmp_path / "book.jsonl")
    book.add(bird())
    assert list(book) == [bird()]


def test_a_new_book_is_empty(tmp_path: Path) -> None:
    assert list(Logbook(tmp_path / "none.jsonl")) == []
`;

const SPECIES = `"""Which species there are, from data/species.csv."""

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Species:
    code: str
    latin: str
    norwegian: str
    english: str


class SpeciesList:
    def __init__(self, path: Path) -> None:
        with path.open(encoding="utf-8", newline="") as rows:
            self._all = {row["code"]: Species(**row) for row in csv.DictReader(rows)}

    def find(self, typed: str) -> Species:
        """By code, or by the start of a name in any of the three languages."""
        wanted = typed.casefold()
        if (exact := self._all.get(typed.upper())) is not None:
            return exact
        hits = [s for s in self._all.values() if any(n.casefold().startswith(wanted) for n in (s.latin, s.norwegian, s.english))]
        if len(hits) != 1:
            raise LookupError(f"{typed!r} is {len(hits)} species")
        return hits[0]
`;

const DAY = `"""The day's tally."""

from collections import Counter
from collections.abc import Iterable
from datetime import date

from ringing.model import Capture


def tally(birds: Iterable[Capture], day: date) -> list[tuple[str, int]]:
    """Species and how many of each, the most common first, ties by code."""
    counted = Counter(bird.species for bird in birds if bird.time.date() == day)
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
`;

const RECAPTURE = `"""Birds that came back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from ringing.model import Capture


@dataclass(frozen=True)
class Recapture:
    first: Capture
    again: Capture

    @property
    def gap(self) -> timedelta:
        return self.again.time - self.first.time

    @property
    def gained(self) -> float:
        """Grams since the first time; negative if the bird got lighter."""
        return round(self.again.weight - self.first.weight, 1)


def recaptures(birds: Iterable[Capture]) -> list[Recapture]:
    first: dict[str, Capture] = {}
    found = []
    for bird in birds:
        if (earlier := first.setdefault(bird.ring, bird)) is not bird:
            found.append(Recapture(earlier, bird))
    return found
`;

const SQL_STORE = `"""The logbook in SQLite."""

import sqlite3
from pathlib import Path

from ringing.model import Capture

TABLE = """create table if not exists capture (
    ring text not null, species text not null, age text, sex text,
    wing real, weight real, net integer, time text not null
)"""


class SqlLogbook:
    def __init__(self, path: Path) -> None:
        self.base = sqlite3.connect(path)
        self.base.execute(TABLE)

    def add(self, capture: Capture) -> None:
        with self.base:
            self.base.execute("insert into capture values (?,?,?,?,?,?,?,?)", tuple(vars(capture).values()))
`;

const PASSED = (n, seconds) => `${".".repeat(n)}  [100%]\n${n} passed in ${seconds}s`;

/** A long log, as test runners print them. */
function longLog() {
  const out = ["============ test session starts ============", "collected 64 items", ""];
  for (let i = 1; i <= 64; i++) {
    const file = ["model", "store", "cli", "species"][i % 4];
    out.push(`tests/test_${file}.py::test_case_${String(i).padStart(2, "0")} PASSED  [${String(Math.round((i / 64) * 100)).padStart(3)}%]`);
  }
  out.push("", "============ 64 passed in 2.71s ============");
  return out.join("\n");
}

// A picture of 4 x 3 pixels, made by hand: a page of a logbook, so to speak.
const PAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAQAAAADCAIAAAA7ljmRAAAAGElEQVR42mP48u4uHDEAsZKSCxBBOXAEAC0cHIfrHyEVAAAAAElFTkSuQmCC";

const FIRST_SUMMARY = `## Goal
A command-line logbook for the ringing station at Store Færder, in Python 3.11, without dependencies.

## Constraints & Preferences
- Small changes, tests after each of them
- A ring is one or two capital letters and four to six digits
- Species may be typed as a code or as the start of a name in Latin, Norwegian or English

## Progress
### Done
- [x] \`ringing/model.py\`: \`Capture\`, with the ring checked
- [x] \`ringing/store.py\`: \`Logbook\`, one JSON object a line, only added to
- [x] \`ringing/cli.py\`: \`add\` and \`list\`
- [x] \`ringing/species.py\`: \`SpeciesList.find\`
### In Progress
- [ ] The day's tally
### Blocked
- (none)

## Key Decisions
- **JSON lines, not a database**: Kari wants to read the book with \`less\` when the station has no power

## Next Steps
1. Use \`SpeciesList.find\` in \`ringing add\`
2. \`ringing day\`: a tally by species

## Critical Context
- Paper page 14 (the photo) has two rings that were read wrongly: AX1032 is AX1023
- \`data/species.csv\` has ten species; blåmeis is CYACAE`;

const FIRST_PREFIX = `## Original Request
Kari asked for the next piece of the logbook.

## Progress So Far
- The files were read and the change was begun

## Context Needed to Continue
- The tests are run with \`python -m pytest -q\``;

const SECOND_SUMMARY = `## Goal
A command-line logbook for the ringing station at Store Færder, ready for the spring season.

## Constraints & Preferences
- No dependencies; small changes; tests after each
- Weights with a decimal comma must be taken

## Progress
### Done
- [x] \`add\`, \`list\`, \`day\`, \`again\` in \`ringing/cli.py\`
- [x] \`ringing/recapture.py\`: \`recaptures\`, with the gap and the grams gained
- [x] Decimal commas: \`number()\` in \`ringing/cli.py\`
### In Progress
- [ ] Export for the ringing centre
### Blocked
- The centre's list of age codes has not come yet

## Key Decisions
- **JSON lines stay**: the SQLite branch was tried and left, for \`less\` cannot read it
- **A recapture is found when it is asked for**, not stored

## Next Steps
1. \`ringing export\`: CSV with the centre's column names
2. A warning when a wing is far from the species' mean

## Critical Context
- The ring \`AX1023\` is the robin that everybody uses as the example
- An impossible net number (there are 12) is not refused yet`;

const BRANCH_SUMMARY = `## Goal
Find out whether the logbook should be a SQLite file.

## Constraints & Preferences
- (none)

## Progress
### Done
- [x] \`ringing/sql_store.py\` with \`SqlLogbook.add\`
- [x] 10 000 captures: 1.9 s against 0.3 s for JSON lines, since every bird is its own transaction
### In Progress
- [ ] Reading back: \`time\` came back as text
### Blocked
- (none)

## Key Decisions
- **Not SQLite**: slower for single birds, and the file cannot be read without a program

## Next Steps
1. Go on with JSON lines`;

// --- the story -------------------------------------------------------------------------------------------------------------

export async function tell(world) {
  const { session, manager, extension, summaries, prefixes, turn, interrupted, find, pause, model } = world;
  const isUser = (start) => (entry) =>
    entry.type === "message" && entry.message.role === "user" && JSON.stringify(entry.message.content).includes(start);
  const resultOf = (tool) => (entry) => entry.type === "message" && entry.message.toolName === tool;
  const TESTS = "python -m pytest -q";

  await turn(
    "I want a logbook for our ringing nets, on the command line. Have a look at what is there and make the model of a bird first.",
    act(thought("Look before writing: the README tells the columns."), "Let me look.", read("README.md"), read("pyproject.toml"), read("data/species.csv")),
    act("The README names the columns. I make the model.", write("ringing/model.py", MODEL), write("ringing/__init__.py", "")),
    act(write("tests/test_model.py", TEST_MODEL), run(TESTS, PASSED(9, "0.04"))),
    say("`Capture` is in `ringing/model.py`; a ring is checked when a bird is made. Nine tests pass."),
  );
  session.setSessionName("Ringing logbook");

  await turn(
    "Good. Now somewhere to keep them. I must be able to read the file with less.",
    act(thought("Readable with less: JSON lines, appended."), write("ringing/store.py", STORE), write("tests/test_store.py", TEST_STORE)),
    act(run(TESTS, PASSED(11, "0.06"))),
    say("`Logbook` adds one JSON object a line and never rewrites. Eleven tests pass."),
  );
  extension.setLabel(manager.getLeafId(), "model and store");
  const beforeCli = manager.getLeafId();

  await turn(
    "And the command line: add and list.",
    act(read("pyproject.toml"), read("ringing/store.py")),
    act(write("ringing/cli.py", CLI)),
    act(
      run("python -m ringing.cli add AX1023 ERIRUB --wing 73 --weight 16.4 --net 3", ""),
      run("python -m ringing.cli list", "08:31 AX1023   ERIRUB    73.0 mm  16.4 g"),
    ),
    say("`ringing add` and `ringing list` work; the book is `logbook.jsonl` unless `--book` says otherwise."),
  );

  await turn(
    "There should be a config.toml with the station's name. Print it above the list.",
    act(read("config.toml")),
    say("There is no `config.toml`. Shall I make one, and with what name?"),
  );
  await turn(
    "Yes, make it. The station is Store Færder.",
    act(write("config.toml", 'station = "Store Færder"\nnets = 12\n')),
    act(
      edit("ringing/cli.py", '    elif args.command == "list":\n', '    elif args.command == "list":\n        print(station())\n'),
      edit("ringing/cli.py", "def parser()", 'def station() -> str:\n    with open("config.toml", "rb") as config:\n        return tomllib.load(config)["station"]\n\n\ndef parser()'),
      edit("ringing/cli.py", "import argparse\n", "import argparse\nimport tomllib\n"),
    ),
    act(run(TESTS, PASSED(11, "0.06")), run("python -m ringing.cli list", "Store Færder\n08:31 AX1023   ERIRUB    73.0 mm  16.4 g")),
    say("The list now begins with the station's name."),
  );

  await session.sendCustomMessage({
    customType: "weather.note",
    content: "Wind north-west 9 m/s, gusts to 14. Nets 7 to 12 are closed.",
    display: true,
    details: { wind: 9, gusts: 14, closed: [7, 8, 9, 10, 11, 12] },
  });
  extension.appendEntry("weather.state", { wind: 9, asked: "2026-03-02T08:40:00Z" });

  await turn(
    {
      text: "Here is page 14 of the paper book. Two rings look odd to me.",
      images: [{ type: "image", data: PAGE, mimeType: "image/png" }],
    },
    say(thought("Digits that change places: 1032 and 1023."), "AX1032 is AX1023 with two digits swapped, and AX10Z4 has a Z for a 2. I would enter AX1023 and AX1024."),
  );

  // The first compaction comes by itself, when the small model's window is nearly full.
  summaries.push(say(FIRST_SUMMARY), say(FIRST_SUMMARY.replace("The day's tally", "The day's tally, begun")));
  prefixes.push(say(FIRST_PREFIX), say(FIRST_PREFIX));
  await turn(
    "I type species as it comes: codes, Latin, Norwegian, English. Make that work.",
    act(read("data/species.csv"), read("ringing/model.py")),
    act(write("ringing/species.py", SPECIES)),
    act(
      run('python -c "from ringing.species import *; l = SpeciesList(Path(\'data/species.csv\')); print(l.find(\'blå\'), l.find(\'wren\'))"', "Species(code='CYACAE', latin='Cyanistes caeruleus', norwegian='blåmeis', english='blue tit') Species(code='TROTRO', latin='Troglodytes troglodytes', norwegian='gjerdesmett', english='wren')"),
    ),
    say("`SpeciesList.find` takes a code or the start of any name; two hits are an error that says so."),
  );
  manager.appendUsage(
    "cache_warm",
    "story",
    "heron-small",
    { input: 2, output: 1, cacheRead: 4100, cacheWrite: 0, totalTokens: 4103, cost: { input: 0.000001, output: 0.000002, cacheRead: 0.000205, cacheWrite: 0, total: 0.000208 } },
    "while the nets were checked",
  );

  await turn(
    "Run everything with -v once, I want to see that nothing is skipped.",
    act(run("python -m pytest -v", longLog())),
    say("64 passed, none skipped."),
  );
  await turn(
    "Use it in add, please.",
    act(read("ringing/cli.py"), read("ringing/species.py")),
    act(
      edit("ringing/cli.py", "from ringing.model import Capture\n", "from ringing.model import Capture\nfrom ringing.species import SpeciesList\n"),
      edit("ringing/cli.py", "        book.add(Capture(", '        fields["species"] = SpeciesList(Path("data/species.csv")).find(args.species).code\n        book.add(Capture('),
    ),
    act(run(TESTS, PASSED(64, "2.66")), run("python -m ringing.cli add AX1024 gjerde --weight 9.1", "")),
    say("`ringing add AX1024 gjerde` enters a wren."),
  );
  if (summaries.length === 2) throw new Error("the first compaction has not come yet");
  summaries.length = 0;
  prefixes.length = 0;

  session.setThinkingLevel("high");
  await turn(
    "Now a tally for a day.",
    act(thought("Sort by count, then by code, so that the list is the same each time."), write("ringing/day.py", DAY), read("ringing/cli.py")),
    act(
      edit("ringing/cli.py", '    commands.add_parser("list", help="all birds")\n', '    commands.add_parser("list", help="all birds")\n    commands.add_parser("day", help="the tally of today")\n'),
      edit("ringing/cli.py", "    return 0\n", '    elif args.command == "day":\n        for code, count in tally(book, date.today()):\n            print(f"{count:4} {code}")\n    return 0\n'),
    ),
    act(run(TESTS, "NameError: name 'tally' is not defined\n1 failed, 63 passed in 2.70s", 1)),
    act("The imports are missing.", edit("ringing/cli.py", "from datetime import datetime\n", "from datetime import date, datetime\n"), edit("ringing/cli.py", "from ringing.model import Capture\n", "from ringing.day import tally\nfrom ringing.model import Capture\n")),
    act(run(TESTS, PASSED(64, "2.68"))),
    say("`ringing day` prints the tally, the most common species first."),
  );
  const afterDay = manager.getLeafId();
  extension.setLabel(afterDay, "tally works");

  await turn(
    "Does it count a bird twice that I caught twice?",
    fail("overloaded: too many requests at this moment"),
    say("Yes: the tally counts captures. Say so if you want birds instead; then a ring counts once a day."),
  );
  await interrupted("Explain all of the code to me, every line.", { content: [text("Gladly. `ringing/model.py` begins with")], stop: "aborted" });
  await turn("No, never mind. Birds caught twice: show them to me.", fail("invalid request: the field `metadata.station` is not known"));
  await turn(
    "Once more: I want to see the birds that came back.",
    act(thought("A pure function over the book; nothing new is stored."), write("ringing/recapture.py", RECAPTURE), read("ringing/cli.py")),
    act(
      edit("ringing/cli.py", '    commands.add_parser("day"', '    commands.add_parser("again", help="birds that came back")\n    commands.add_parser("day"'),
      edit("ringing/cli.py", "    return 0\n", '    elif args.command == "again":\n        for found in recaptures(book):\n            print(f"{found.again.ring:8} {found.gap.days:4} d {found.gained:+.1f} g")\n    return 0\n'),
      edit("ringing/cli.py", "from ringing.model import Capture\n", "from ringing.model import Capture\nfrom ringing.recapture import recaptures\n"),
    ),
    act(run(TESTS, PASSED(64, "2.70")), run("python -m ringing.cli again", "AX1023      0 d +0.3 g")),
    say("`ringing again` lists them: ring, days since the first time, grams gained."),
  );
  const mainTip = manager.getLeafId();

  // The second branch: an idea that is tried from the store on, and left with a summary.
  pause(300, 900);
  await session.navigateTree(beforeCli);
  await turn(
    "Wait. Would SQLite not be better for this?",
    act(thought("Try it, then measure."), write("ringing/sql_store.py", SQL_STORE), read("ringing/store.py")),
    act(run("python bench.py 10000", "json lines  0.31 s\nsqlite      1.92 s")),
    say("It works, but one bird at a time it is six times slower, for every bird is a transaction of its own."),
  );
  await turn(
    "And reading back?",
    act(run("python -c \"import check\"", "TypeError: fromisoformat: argument must be str\n", 1), run("ls -l", "book.db  1 261 568\nbook.jsonl  1 489 021")),
    say("The time comes back as text and wants a converter. The file is a little smaller, and you cannot read it with less."),
  );
  pause(60, 200);
  summaries.push(say(BRANCH_SUMMARY));
  await session.navigateTree(mainTip, { summarize: true, label: "back from SQLite" });

  await turn("So we stay with lines. Go on: weights are typed with a comma here, 16,4.",
    act(read("ringing/cli.py")),
    act(
      edit("ringing/cli.py", "def station()", 'def number(typed: str) -> float:\n    return float(typed.replace(",", "."))\n\n\ndef station()'),
      edit("ringing/cli.py", '    add.add_argument("--weight", type=float, default=0)\n', '    add.add_argument("--weight", type=number, default=0)\n'),
      edit("ringing/cli.py", '    add.add_argument("--wing", type=float, default=0)\n', '    add.add_argument("--wing", type=number, default=0)\n'),
    ),
    act(run("python -m ringing.cli add AX1025 rød --weight 16,4", ""), run(TESTS, PASSED(64, "2.69"))),
    say("`16,4` and `16.4` are both taken, for wings as well."),
  );
  await session.setModel(model("heron-large"));
  await turn(
    "Show me the whole test run again.",
    act(run("python -m pytest -v", longLog())),
    say("64 passed."),
  );
  manager.appendContextEdit(find(resultOf("run")), { content: [text("64 passed in 2.71s; the list of names was left out")] });
  session.refreshContext();
  session.recordBashResult("date", { output: "Mon Mar  2 10:12:40 CET 2026\n", exitCode: 0, cancelled: false, truncated: false });

  await turn(
    "I have given you the larger model. Read everything and tell me what is missing before the season.",
    act(read("ringing/model.py"), read("ringing/store.py"), read("ringing/cli.py"), read("ringing/species.py"), read("ringing/recapture.py")),
    say(
      thought("Nets are not checked; no export; wings far from the mean go through."),
      "Three things: a net above 12 is taken, there is no export for the ringing centre, and a wing of 730 mm would go through.",
    ),
  );
  await session.sendCustomMessage({
    customType: "weather.note",
    content: "Wind west 4 m/s. All nets are open.",
    display: false,
  });
  await turn(
    "Nets first.",
    act(edit("ringing/model.py", "            raise ValueError(f\"{self.ring!r} is no ring number\")\n", "            raise ValueError(f\"{self.ring!r} is no ring number\")\n        if not 0 <= self.net <= NETS:\n            raise ValueError(f\"there is no net {self.net}\")\n")),
    act(edit("ringing/model.py", "\n\n@dataclass", "\nNETS = 12\n\n\n@dataclass"), run(TESTS, PASSED(64, "2.71"))),
    say("A net must be 0 (unknown) to 12."),
  );
  manager.appendContextEdit(find((entry) => entry.type === "custom_message"), null);
  session.refreshContext();

  pause(40, 90);
  summaries.push(say(SECOND_SUMMARY));
  prefixes.push(say(FIRST_PREFIX));
  await session.compact("Keep the decisions and the open questions.");
  prefixes.length = 0;

  const export_ = `"""What the ringing centre wants to get."""

import csv
from collections.abc import Iterable
from typing import TextIO

from ringing.model import Capture

COLUMNS = ("RingNo", "Species", "Age", "Sex", "Wing", "Mass", "Date", "Time")


def export(birds: Iterable[Capture], out: TextIO) -> None:
    rows = csv.writer(out, delimiter=";")
    rows.writerow(COLUMNS)
    for b in birds:
        rows.writerow((b.ring, b.species, b.age, b.sex, f"{b.wing:.1f}", f"{b.weight:.1f}", f"{b.time:%Y-%m-%d}", f"{b.time:%H:%M}"))
`;
  await turn(
    "Now the export.",
    act(thought("Semicolons: the centre's spreadsheets use decimal commas."), write("ringing/export.py", export_), read("ringing/cli.py")),
    act(run("python -m ringing.cli export", "RingNo;Species;Age;Sex;Wing;Mass;Date;Time\nAX1023;ERIRUB;?;?;73.0;16.4;2026-03-02;08:31")),
    say("`export` writes the centre's columns, with semicolons."),
  );
  const exported = manager.getLeafId();
  extension.setLabel(exported, "export");

  await turn(
    "Warn me when a wing is far off.",
    act(read("data/species.csv"), read("ringing/species.py")),
    act(run("python -c \"print(3 * 1.9)\"", "5.7")),
    say("I need a mean and a spread for each species. Do you have a table, or shall I take them from the book?"),
  );
  await turn(
    "From the book, but only with ten birds or more.",
    act(write("ringing/wing.py", '"""Wings that are far from what the book has seen."""\n\nfrom statistics import mean, stdev\n\nENOUGH = 10  # birds of a species before its mean means something\n\n\ndef odd(wing: float, seen: list[float]) -> bool:\n    return len(seen) >= ENOUGH and abs(wing - mean(seen)) > 3 * stdev(seen)\n')),
    act(run(TESTS, PASSED(64, "2.73")), run("python -m ringing.cli add AX1030 rød --wing 730", "wing 730.0 mm: far from 73.1 (n = 41)")),
    say("`ringing add` warns beyond three standard deviations, from ten birds on."),
  );
  const wings = manager.getLeafId();

  // The third branch: the same question answered another way, from the user's message on; then left without a summary.
  pause(100, 400);
  const { editorText } = await session.navigateTree(find(isUser("Warn me when")));
  await turn(
    `${editorText} Use the table in data/wings.csv.`,
    act(read("data/wings.csv")),
    act("The table is not there. I look for it.", run("find . -name 'wing*'", "./ringing/wing.py")),
    say("There is no table of wings in the project."),
  );
  extension.setLabel(manager.getLeafId(), "no table");
  pause(20, 60);
  await session.navigateTree(wings);

  extension.setLabel(exported, undefined);
  session.setThinkingLevel("low");
  await turn(
    "Fine, from the book it is. Write the README.",
    act(read("README.md")),
    act(write("README.md", "# Ringing\n\nA logbook for the nets at Store Færder.\n\n    ringing add AX1023 robin --wing 73 --weight 16,4 --net 3\n    ringing list\n    ringing day\n    ringing again\n    ringing export > march.csv\n\nThe book is `logbook.jsonl`: one bird a line, only ever added to.\n")),
    say("The README shows every command once."),
  );
  await turn(
    "Last thing: a change of version to 0.2.0, and we are done. Takk! 🐦",
    act(edit("pyproject.toml", 'version = "0.1.0"', 'version = "0.2.0"'), run("git tag", "v0.1.0")),
    act(run(TESTS, PASSED(64, "2.70")), run("python -m ringing.cli list", "Store Færder\n08:31 AX1023   ERIRUB    73.0 mm  16.4 g\n09:02 AX1024   TROTRO     0.0 mm   9.1 g")),
    say("0.2.0. Good ringing! 🐦"),
  );
  session.setSessionName("Ringing logbook 0.2.0");
}
