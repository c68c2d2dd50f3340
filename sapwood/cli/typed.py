"""What a line that a person typed means. No I/O."""

from __future__ import annotations

from typing import Final

import attrs

from sapwood.words.hints import unknown


@attrs.frozen
class Say:
    """Said to the model."""

    text: str


@attrs.frozen
class CompactNow:
    instructions: str | None


@attrs.frozen
class DrawTree:
    pass


@attrs.frozen
class MoveTo:
    entry: str
    """An id, or how it begins."""


@attrs.frozen
class TellUsage:
    pass


@attrs.frozen
class TellHelp:
    pass


@attrs.frozen
class Quit:
    pass


@attrs.frozen
class NotUnderstood:
    why: str


Typed = Say | CompactNow | DrawTree | MoveTo | TellUsage | TellHelp | Quit | NotUnderstood

HELP: Final = {
    "/compact": "[instructions] sums up the past now",
    "/tree": "draws every entry of the session",
    "/move": "ID goes on from another entry; the beginning of its id is enough",
    "/usage": "tells how full the window is, and what was billed",
    "/help": "tells this",
    "/quit": "ends; so does the end of the input",
}
"""Each command and what it does; a line that begins with two slashes is said with one."""


def typed(line: str) -> Typed | None:
    """What the line means; None for an empty one."""
    text = line.strip()
    if not text:
        return None
    if text.startswith("//"):
        return Say(text[1:])
    if not text.startswith("/"):
        return Say(line)
    word, _, rest = text.partition(" ")
    rest = rest.strip()
    match word:
        case "/compact":
            return CompactNow(rest or None)
        case "/move":
            return MoveTo(rest) if rest else NotUnderstood("/move wants the id of an entry: /tree shows them")
        case _ if word in HELP and rest:
            return NotUnderstood(f"{word} takes nothing behind it")
        case "/tree":
            return DrawTree()
        case "/usage":
            return TellUsage()
        case "/help":
            return TellHelp()
        case "/quit":
            return Quit()
        case _:
            return NotUnderstood(f"{unknown('command', word, HELP)}; a line that begins with // is said with one slash")
