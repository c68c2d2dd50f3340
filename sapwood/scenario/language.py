"""The scenario language: what a story file may say. Values only.

1. A field is the key of the same name in the file; `pass_` is `pass`, since Python keeps that word to itself.
2. A field without a default must be written, whatever else may be left out.
3. A further kind of step is one more class here and in `Step`, and one more case in `running`.
4. A call for which the script has no answer left is a difference, unless the story expects a failed answer: the step has another
   `outcome` than `delivered` or `compacted`, or an expectation of the step, or at the end, says `stopReason: error`, `errorMessage` or
   `unsent: failed`. An `error` that the script itself gives is no difference: the story says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

import attrs

from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.events.base import Json
from sapwood.events.commands import SessionState
from sapwood.events.entries import KnownEntry
from sapwood.events.models import Model
from sapwood.events.runtime import Event
from sapwood.scenario.scripts import NO_ANSWERS, Answers, ScriptedTool
from sapwood.settings import Settings

Place = tuple[str | int, ...]
"""A way into the file's value: `("steps", 0, "prompt")`."""

OutcomeWord = Literal["delivered", "returned", "cancelled", "failed", "refused", "lost"]
"""What may come of an input (R3); `refused` if it was not accepted, `lost` if the process was killed before anything had."""

CompactionWord = Literal["compacted", "failed", "refused"]
"""What may come of a compaction that a person asks for (C14, C15)."""

NavigationWord = Literal["moved", "failed", "refused"]
"""What may come of a move in the tree (N6, N9)."""

AnyWord = OutcomeWord | CompactionWord | NavigationWord

StoreWord = Literal["memory", "jsonl"]

STEP_LIMIT: Final = 86_400.0
"""Virtual seconds that one step may take, a day: longer than any limit of the runtime, and it costs nothing to wait for."""

MOST_TURNS: Final = 10_000
MOST_WORDS: Final = 5_000_000
"""Of a whole session that is made for a story: some 30 MB, a second's work."""

LONGEST_WAIT: Final = 366 * 86_400.0
"""Virtual seconds that a `pass` or a `wait` may take, a leap year: no limit of the runtime is near it, and dates stay believable."""


@attrs.frozen(kw_only=True)
class FromFile:
    """Go on with a copy of this session; the file itself is never touched."""

    file: str
    """Relative to the scenario's folder."""


@attrs.frozen(kw_only=True)
class FromEntries:
    """Go on with these entries. `id`, `parentId` (else the entry before) and `timestamp` may be left out."""

    entries: tuple[KnownEntry, ...]


@attrs.frozen(kw_only=True)
class Generated:
    """Turns of a question, calls of a tool and an answer, of words that a seed draws. No usage is reported."""

    turns: int
    """Of the path that the session stands on; at most `MOST_TURNS`."""
    calls: int = 0
    """In each turn, at most 100; each has a result."""
    words: int = 12
    """Of each question, result and answer, at most 10,000."""
    branches: int = 0
    """Branches of one to three turns that were left, somewhere on the way; at most as many as there are turns."""
    seed: int = 0


@attrs.frozen(kw_only=True)
class FromSeed:
    """Go on with a session that is made for the story."""

    generated: Generated


Beginning = FromFile | FromEntries | FromSeed


@attrs.frozen
class Pattern:
    """What an event, an entry or a message must look like: a JSON value that `matching` understands."""

    value: Json
    """`...` for any run; else a mapping."""


@attrs.frozen(kw_only=True)
class Expect:
    """What must be seen. What is not mentioned is not looked at."""

    events: tuple[Pattern, ...] | None = None
    """All of them, in order. Pieces of answers (`message_update`) are passed over unless one is mentioned."""
    entries: tuple[Pattern, ...] | None = None
    """All that are new, in order."""
    projection: tuple[Pattern, ...] | None = None
    """What the model sees at the end, in order. A message is expected to be sent, unless `unsent` gives the reason."""
    usage: str | None = None
    """As `41.2%/200000`; text that ends in `...` for what begins like it."""
    state: SessionState | None = None


NOTHING_EXPECTED: Final = Expect()


@attrs.frozen(kw_only=True)
class Prompt:
    """Say this to the model, and wait until all has settled."""

    prompt: str
    outcome: OutcomeWord = "delivered"
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Submit:
    """Say this to the model, and go on with the story at once."""

    submit: str
    outcome: OutcomeWord = "delivered"
    """What has come of it when the session is closed, behind the last step."""
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Steer:
    """Say this to the run that is on, or to the next one, and go on at once."""

    steer: str
    outcome: OutcomeWord = "delivered"
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class FollowUp:
    """Say this when the run would end, and go on at once."""

    follow_up: str
    outcome: OutcomeWord = "delivered"
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Abort:
    """Stop what runs, and wait until that has settled."""

    abort: Literal[True]
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Compact:
    """Summarise the past now, and wait until that is done."""

    compact: Literal[True] | str
    """What is to be kept above all, if something is."""
    outcome: CompactionWord = "compacted"
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Navigate:
    """Go on from another entry, and wait until the session stands there."""

    navigate: str | None
    """The entry's id; null: before the first one."""
    summarize: bool = False
    """Whether what is left is summed up."""
    instructions: str | None = None
    """What is wanted of the summary."""
    label: str | None = None
    """A mark on the summary, or else on the entry."""
    outcome: NavigationWord = "moved"
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Settle:
    """Wait until nothing runs: a virtual day at most."""

    settle: Literal[True]
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class ChangeModel:
    """Go on with another model of the same provider."""

    model: Model
    expect: Expect = NOTHING_EXPECTED


ActorWord = Literal[
    "agent",
    "compaction",
    "exclusion",
    "extensions",
    "handlers",
    "inbox",
    "model",
    "navigation",
    "projection",
    "session_log",
    "tools",
]
"""Each actor of a session."""


@attrs.frozen(kw_only=True)
class CrashNext:
    """Crash this actor at the next message that it is to handle, and go on at once."""

    crash: ActorWord
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Kill:
    """Kill the process, and open what is stored of the session in another one."""

    kill: Literal[True]
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Reopen:
    """Close the session, and open it again."""

    reopen: Literal[True]
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Feed:
    """Publish these events as if an actor had: no model is asked."""

    events: tuple[Event, ...]
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Pass:
    """Let so many virtual seconds go by, at most `LONGEST_WAIT`."""

    pass_: float
    expect: Expect = NOTHING_EXPECTED


Said = Submit | Steer | FollowUp
"""What is said without waiting for what comes of it."""
Waited = Prompt | Compact | Navigate
"""What is waited for, and has an outcome then."""
Step = Waited | Said | Abort | Settle | ChangeModel | CrashNext | Kill | Reopen | Feed | Pass

STEPS: Final[Mapping[str, type]] = {
    "prompt": Prompt,
    "submit": Submit,
    "steer": Steer,
    "follow_up": FollowUp,
    "abort": Abort,
    "compact": Compact,
    "navigate": Navigate,
    "settle": Settle,
    "model": ChangeModel,
    "crash": CrashNext,
    "kill": Kill,
    "reopen": Reopen,
    "events": Feed,
    "pass": Pass,
}
"""The key by which a step is told."""

DEFAULT_MODEL: Final = Model(provider="scripted", id="talker")


@attrs.frozen(kw_only=True)
class Story:
    """A whole scenario, as its file says it."""

    title: str
    about: str = ""
    session: Beginning | None = None
    """None: a new one."""
    store: StoreWord | None = None
    """None: a file if the session comes from one, else memory."""
    model: Model = DEFAULT_MODEL
    system_prompt: SystemPrompt | None = None
    """The text of each section by its name, `preamble` among them. None: the session's own stays as it is."""
    tools: dict[str, ScriptedTool] | None = None
    """What the model may call, by name. None: the story says nothing of tools."""
    extensions: tuple[str, ...] = ()
    """Python files, from the scenario's folder on, each with the extension that it calls `extension`."""
    settings: Settings = attrs.field(factory=Settings)
    answers: Answers = NO_ANSWERS
    steps: tuple[Step, ...]
    expect: Expect = NOTHING_EXPECTED


@attrs.frozen(kw_only=True)
class Scenario:
    """A story and the file that it stands in. Made by `sapwood.scenario.load`."""

    path: Path
    story: Story
    line_of: Callable[[Place], int] = attrs.field(eq=False, repr=False)
    """The line, counted from 1, that something stands on."""
