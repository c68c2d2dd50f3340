"""The words of the requests for summaries: prose that stands in `prompts/`, put together by what is asked for.

1. Reads data of this package and nothing else; each text once.
2. Whatever is asked, it is told what the material is, how the answer is laid out (`contract.HEADINGS`), and what every section has to keep.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final, Literal

import attrs

from sapwood.actors.summaries.contract import Kind

Manner = Literal["pi", "omp"]
"""Of a branch's summary (N4): without the results of tools, or with them."""

MISSING: Final = "{missing}"
"""Stands in `ask_again` where the headings go that an answer lacked."""


@attrs.frozen(kw_only=True)
class Words:
    """What a job says to its model."""

    system: str
    """The summariser's role."""
    first: str
    """The instructions of a request with nothing before its conversation."""
    update: str
    """Of one that continues a summary."""
    part: str
    """What a later part is told besides, where a person's own instructions take the place of ours."""
    ask_again: str
    """Below the instructions, for an answer that missed the format. Has `MISSING` in it."""


def words_for(kind: Kind, manner: Manner = "pi") -> Words:
    """The words of a kind of job; the manner is of branches only."""
    if kind == "compaction":
        first, update = prose("first"), prose("update")
    else:
        first = prose(f"branch_{manner}" if kind == "branch" else kind)
        update = f"{first}\n\n{prose('update_part')}"
    layout = (prose(f"layout_{kind}"), prose("demands"))
    return Words(
        system=prose("role"),
        first="\n\n".join((first, *layout)),
        update="\n\n".join((update, *layout)),
        part=prose("update_part"),
        ask_again=prose("ask_again"),
    )


@cache
def prose(name: str) -> str:
    """The text of `prompts/<name>.md`, without the line break at its end."""
    return (files("sapwood.actors.summaries") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
