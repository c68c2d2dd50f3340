"""What the wires report of a text, beside what we count for it and Pi's four characters a token.

The model has a tokenizer of its own, of 49,152 tokens: what is compared is how far off a budget is that goes by somebody else's count.
`-s` prints the table that docs/providers.md has.
"""

from __future__ import annotations

from typing import Final

import attrs
import pytest

import sapwood
from sapwood.actors.projection.counter import TokenCounter, heuristic
from sapwood.actors.projection.encoding import counting, load_encoding
from tests.build import user
from tests.live.asking import WIRES, Live
from tests.texts import KINDS, text_of

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.xdist_group("live")]  # one server for all

BYTES: Final = 120
"""Of each text: enough to tell them apart, and read in a second or two."""
OURS: Final = TokenCounter(name="o200k_base", text=counting(load_encoding("o200k_base")))


@attrs.frozen
class Row:
    kind: str
    reported: tuple[int | None, ...]
    """By each wire, without what the template adds. None over Messages where the first token is no whole character: llama.cpp then leaves
    out the event that has it."""
    ours: int
    pis: int

    def __str__(self) -> str:
        counts = (*self.reported, self.ours, self.pis)
        return f"| {self.kind} | " + " | ".join("–" if count is None else str(count) for count in counts) + " |"


async def reported(live: Live, text: str) -> tuple[int | None, ...]:
    """Tokens that each wire reports for a prompt of this text."""
    said: list[int | None] = []
    for wire in WIRES:
        request = sapwood.Request(model=live.model(max_output=2), purpose="turn", messages=(user(text),))
        async with live.provider(wire) as provider, provider.stream(request) as pieces:
            [usage] = [piece.usage async for piece in pieces if isinstance(piece, sapwood.Finish)]
        said.append(usage.input + usage.cache_read or None)
    return tuple(said)


async def test_our_count_is_nearer_to_what_is_billed_than_pis(live: Live) -> None:
    [frame] = {count - 1 for count in await reported(live, "a") if count is not None}
    rows: list[Row] = []
    for kind in KINDS:
        text = text_of(kind, BYTES)
        counts = tuple(None if count is None else count - frame for count in await reported(live, text))
        rows.append(Row(kind, counts, OURS(user(text)), heuristic(user(text))))
    print("\n" + "\n".join(map(str, rows)))  # noqa: T201 - the table is what the test is for

    for row in rows:
        chat, responses, anthropic = row.reported
        assert chat is not None
        assert responses == chat
        assert anthropic in {None, chat}
        assert abs(row.ours - chat) < abs(row.pis - chat), row
    assert any(row.reported[-1] for row in rows)
