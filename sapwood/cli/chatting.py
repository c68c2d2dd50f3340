"""A talk, line by line: each is said or done, and what is wrong with it is told; the talk goes on.

In a pipe nothing but answers and what was asked for goes to the standard output; on a terminal there is a prompt, and a beginning.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Final, assert_never

from sapwood.cli.drawing import draw
from sapwood.cli.drawing import to_json as tree_json
from sapwood.cli.lines import Lines
from sapwood.cli.outcome import outcome_json, spent_json, unanswered, usage_line
from sapwood.cli.printing import Printer
from sapwood.cli.talking import Talk
from sapwood.cli.typed import (
    HELP,
    CompactNow,
    DrawTree,
    MoveTo,
    NotUnderstood,
    Quit,
    Say,
    TellHelp,
    TellUsage,
    Typed,
    typed,
)
from sapwood.events.base import Json
from sapwood.events.errors import Refused, SapwoodError, SessionBroken, SessionClosed
from sapwood.events.ids import EntryId
from sapwood.words.wording import line, one_line, quoted

PROMPT: Final = "> "


class Chat:
    """A talk at the standard streams."""

    def __init__(self, talk: Talk, *, as_json: bool) -> None:
        self._talk = talk
        self._session = talk.session
        self._as_json = as_json
        self._printer = Printer()
        self._by_hand = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
        self._code = 0

    async def until_the_end(self) -> int:
        """Take lines until the last one, or until nobody reads; the exit code."""
        lines = Lines(sys.stdin.fileno())
        if self._by_hand:
            self._talk.speaker.news(f"talking to {self._session.model.key}; /help tells what there is besides")
        while not self._talk.speaker.gone:
            if self._by_hand:
                sys.stdout.write(PROMPT)
                sys.stdout.flush()
            said = await lines.next()
            if said is None:
                if self._by_hand:
                    self._printer.text("")
                break
            meant = typed(said)
            if isinstance(meant, Quit):
                break
            if meant is not None:
                await self._heard(meant)
        if self._talk.speaker.trouble is not None:
            raise self._talk.speaker.trouble
        return self._code

    async def _heard(self, meant: Typed) -> None:
        try:
            await self._do(meant)
        except (SessionBroken, SessionClosed):
            raise
        except SapwoodError as error:
            self._talk.speaker.news(one_line(str(error)))
            if isinstance(meant, Say):
                self._code = 1
        sys.stdout.flush()

    async def _do(self, meant: Typed) -> None:
        match meant:
            case Say(text):
                await self._said(text)
            case CompactNow(instructions):
                done = await self._talk.do(lambda: self._session.compact(instructions))
                self._json({"compacted": {"entryId": done.entry.id, "tokensAfter": done.tokens_after}})
            case DrawTree():
                if self._as_json:
                    self._json({"tree": tree_json(self._session)})
                else:
                    self._printer.lines(draw(self._session))
            case MoveTo(entry):
                await self._moved(entry)
            case TellUsage():
                self._usage()
            case TellHelp():
                self._printer.lines(line(f"{command:9}{what}") for command, what in HELP.items())
            case NotUnderstood(why):
                self._talk.speaker.news(why)
            case Quit():
                pass  # the loop's
            case _:
                assert_never(meant)

    async def _said(self, text: str) -> None:
        outcome = await self._talk.prompt(text)
        self._code = int(outcome.failed)
        self._json(outcome_json(outcome, self._session))
        why = unanswered(outcome)
        if why is not None and not self._talk.speaker.gone:
            self._talk.speaker.news(why)

    async def _moved(self, entry: str) -> None:
        target = self._entry(entry)
        moved = await self._talk.do(lambda: self._session.navigate(target))
        self._json({"moved": {"leaf": moved.leaf, "text": moved.text}})
        if moved.text:
            self._talk.speaker.news(f"before what was said there, to be said otherwise: {one_line(moved.text)}")

    def _entry(self, beginning: str) -> EntryId:
        tree = self._session.tree()
        ids = [tree.id(index) for index in range(len(tree))]
        found = [one for one in ids if one == beginning] or [one for one in ids if one.startswith(beginning)]
        if len(found) != 1:
            why = "no entry has an id that begins so" if not found else f"{len(found)} entries have ids that begin so"
            raise Refused("bad-input", f"{quoted(beginning)}: {why}; /tree shows them")
        return found[0]

    def _usage(self) -> None:
        usage, spent = self._session.context_usage(), self._session.stats().spent
        if self._as_json:
            told = {"tokens": usage.tokens, "window": usage.window, "percent": usage.percent}
            self._json({"usage": {**told, "spent": spent_json(spent)}})
        else:
            self._printer.text(usage_line(usage, spent))

    def _json(self, value: Mapping[str, Json] | Json) -> None:
        """A document of its own line, if JSON is wanted."""
        if self._as_json:
            self._printer.text(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode())
