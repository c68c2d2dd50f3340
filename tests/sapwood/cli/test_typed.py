"""What a typed line means."""

from __future__ import annotations

import pytest

from sapwood.cli.typed import CompactNow, DrawTree, MoveTo, NotUnderstood, Quit, Say, TellHelp, TellUsage, Typed, typed


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("", None),
        ("  \t", None),
        ("  Which tree? ", Say("  Which tree? ")),
        ("//etc is a folder", Say("/etc is a folder")),
        ("/compact", CompactNow(None)),
        ("/compact  the names ", CompactNow("the names")),
        (" /tree ", DrawTree()),
        ("/move a1b2", MoveTo("a1b2")),
        ("/move", NotUnderstood("/move wants the id of an entry: /tree shows them")),
        ("/usage", TellUsage()),
        ("/help", TellHelp()),
        ("/quit", Quit()),
        ("/quit now", NotUnderstood("/quit takes nothing behind it")),
        ("/qiut", NotUnderstood("unknown command '/qiut': did you mean '/quit'?; a line that begins with // is said with one slash")),
    ],
)  # fmt: skip
def test_a_line_is_said_or_is_a_command(line: str, meant: Typed | None) -> None:
    assert typed(line) == meant
