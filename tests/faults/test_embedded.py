"""L and O: what a host does to one session reaches no other, a slow listener holds nobody up, and nothing of a person's home comes in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import pytest
import trio
import trio.testing

from sapwood import (
    Environment,
    Finish,
    Published,
    Request,
    Resync,
    Runtime,
    Scripted,
    ScriptedAnswer,
    load_settings,
    read,
)
from sapwood.actors.model.providers.base import Piece
from sapwood.events.deltas import TextDelta, TextEnd, TextStart
from sapwood.events.runtime import AgentSettled, MessageUpdate
from tests.build import MODEL
from tests.faults.compacting import SMALL, Scribe, answer_of, compacting, compactions, long_history
from tests.faults.logs import assert_whole
from tests.faults.running import told
from tests.faults.sizes import MB, ROOT

DELTAS: Final = 20_000
BLOCKS: Final = 5_000


class Chatty(Scripted):
    """Says twenty thousand pieces in twenty seconds: one text, or five thousand."""

    def __init__(self, blocks: int) -> None:
        super().__init__({"turn": [ScriptedAnswer()]})
        self.blocks = blocks
        self.whole = ""
        self.ended_at = 0.0

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        yield self._pieces()

    async def _pieces(self) -> AsyncGenerator[Piece]:
        each = DELTAS // self.blocks
        for block in range(self.blocks):
            said = [f"w{block * each + nth} " for nth in range(each)]
            yield TextStart(content_index=block)
            for nth, word in enumerate(said):
                if (block * each + nth) % 100 == 0:
                    await trio.sleep(0.1)
                yield TextDelta(content_index=block, delta=word)
            yield TextEnd(content_index=block, content="".join(said))
            self.whole += "".join(said)
        self.ended_at = trio.current_time()
        yield Finish(stop_reason="stop")


@pytest.mark.slow
@pytest.mark.parametrize(
    "blocks",
    [pytest.param(1, id="one text"), pytest.param(BLOCKS, id="many texts", marks=pytest.mark.full)],  # six seconds
)
async def test_o03_who_reads_one_event_a_second_holds_nobody_up_and_has_it_all_in_the_end(
    blocks: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """O03: twenty thousand pieces. What is kept for such a reader is bounded, the answer is on disk when it ends, and the lag is told."""
    path, provider = tmp_path / "s.jsonl", Chatty(blocks)
    got: list[Published | Resync] = []
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    async with runtime.open_session(path, model=MODEL) as session:
        reader = session.events()

        async def read_slowly() -> None:
            async for item in reader:
                got.append(item)
                if isinstance(item, Published) and isinstance(item.event, AgentSettled):
                    return
                await trio.sleep(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read_slowly)
            tracemalloc.start()
            outcome = await session.prompt("go")
            kept, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert not outcome.failed
            assert trio.current_time() - provider.ended_at < 0.1, "nobody waits for the reader"
            with read(path) as now:
                assert told(now) == ["user: go", f"assistant: {provider.whole.strip()}"]
            assert kept < 20 * MB
        assert told(session) == ["user: go", f"assistant: {provider.whole.strip()}"]

    assert len(got) < 2_000, "what lies between was read as one, or passed over"
    news = [one.event for one in got if isinstance(one, Published)]
    pieces = [one.assistant_message_event for one in news if isinstance(one, MessageUpdate)]
    if blocks == 1:
        assert not any(isinstance(one, Resync) for one in got)
        assert "".join(one.delta for one in pieces if isinstance(one, TextDelta)) == provider.whole
    else:
        assert sum(isinstance(one, Resync) for one in got) > 0, "what was passed over is told"
    assert_whole(path)


async def test_l11_what_is_switched_off_in_one_session_stays_on_in_another_and_in_the_files(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """L11: with the automatic compaction off a window that overflows is an error, once; another session compacts as the file says."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"compaction": {"reserveTokens": 2_000, "keepRecentTokens": 1_500}}), encoding="utf-8")
    before = file.read_bytes(), os.stat(file).st_mtime_ns  # noqa: PTH116 - in nanoseconds
    ours = load_settings(file)
    off = attrs.evolve(ours, compaction=attrs.evolve(ours.compaction, enabled=False))
    one, other = Scribe(takes=8_000), Scribe(takes=8_000)

    async with (
        compacting(one, long_history().store(), model=SMALL, settings=off) as without,
        compacting(other, long_history().store(), model=SMALL, settings=ours) as with_it,
    ):
        refused = await without.prompt("and now?")
        assert (refused.failed, len(one.turns), one.summaries, compactions(without)) == (True, 1, [], [])
        assert refused.answer is not None
        assert "prompt is too long" in (refused.answer.error_message or "")
        assert answer_of(await with_it.prompt("and now?")) == "well"
        assert len(compactions(with_it)) == 1
        again = await without.prompt("and now?")
        assert (again.failed, len(one.turns)) == (True, 2), "one request a prompt: no loop"

    assert (file.read_bytes(), os.stat(file).st_mtime_ns) == before  # noqa: PTH116 - as above
    assert load_settings(file) == ours


EMBEDDED: Final = """
import sys, trio

opened = []
home, path = sys.argv[1:]

def heard(event, args):
    if event in {"open", "os.listdir", "os.scandir", "import"} or event.startswith("subprocess"):
        if any(home in str(one) for one in args):
            opened.append((event, *map(str, args)))

sys.addaudithook(heard)

from sapwood import Model, Runtime, Scripted, ScriptedAnswer, Settings
from tests.build import words

async def main():
    provider = Scripted({"turn": [ScriptedAnswer(text="well")]})
    async with Runtime(providers=[provider]) as runtime:
        async with runtime.open_session(path, model=Model(provider="scripted", id="m"), cwd="/", settings=Settings()) as session:
            outcome = await session.prompt("hi")
            print(outcome.failed, opened, [(one.role, words(one)) for one in provider.requests[0].messages])

trio.run(main)
open(home + "/AGENTS.md").close()
print(len(opened))
"""
TEMPTING: Final = (
    ".pi/agent/settings.json",
    ".pi/agent/AGENTS.md",
    ".pi/agent/extensions/evil.py",
    ".config/sapwood/settings.json",
    ".config/sapwood/extensions/evil.py",
    ".local/share/sapwood/settings.toml",
    ".sapwood/settings.toml",
    ".omp/agent/config.yml",
    "AGENTS.md",
    "CLAUDE.md",
)


@pytest.mark.slow
def test_o05_an_embedded_session_opens_nothing_of_a_persons_home_and_says_nothing_of_it(tmp_path: Path) -> None:
    """O05: with what the default counter, the log and a run need. The only hooks are a host's own."""
    home, path = tmp_path / "home", tmp_path / "s.jsonl"
    for name in TEMPTING:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text('raise SystemExit("read")', encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PI_"))}

    done = subprocess.run(
        [sys.executable, "-s", "-c", EMBEDDED, str(home), str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**clean, "HOME": str(home)},
    )

    assert (done.returncode, done.stderr) == (0, "")
    nothing_else, seen = done.stdout.splitlines()
    assert nothing_else == "False [] [('user', 'hi')]"
    assert seen == "1", "what is opened there is seen"
    assert_whole(path)
