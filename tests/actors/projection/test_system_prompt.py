"""A path's prompt is what its system messages replay to; a delta is what brings it to another one."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import read
from sapwood.actors.projection.system_prompt import check_section_name, delta, rendered, replay, section
from sapwood.events.errors import Refused
from sapwood.events.messages import SystemMessage, ToolDefinition, ToolReference
from tests.build import MS, system, text, user
from tests.strategies import JSON, TEXTS

DATA = Path(__file__).parents[2] / "data"


def tool(name: str, parameters: object = None) -> ToolDefinition:
    return ToolDefinition(name=name, description=f"What {name} does", parameters=parameters)


NAMES = st.sampled_from(["preamble", "rules", "cwd", "house", "x-1"])
SECTIONS = st.dictionaries(NAMES, TEXTS, max_size=4)
TOOLS = st.dictionaries(st.sampled_from(["read", "run", "ask"]), JSON, max_size=3).map(
    lambda given: tuple(tool(name, parameters) for name, parameters in given.items())
)
STATES = st.tuples(SECTIONS, TOOLS)


def state_of(prompt: SystemMessage | None) -> tuple[dict[str, str | None], dict[str, bytes]]:
    """Sections and tools, whatever their order."""
    if prompt is None:
        return {}, {}
    return dict(prompt.sections or {}), {one.name: msgspec.json.encode(one) for one in prompt.tools_added or ()}


@given(st.lists(STATES, min_size=1, max_size=5))
def test_what_replays_and_a_delta_replay_to_what_was_wanted(
    wanted: list[tuple[dict[str, str], tuple[ToolDefinition, ...]]],
) -> None:
    said: list[SystemMessage] = []
    for sections, tools in wanted:
        change = delta(replay(said), sections, tools, now_ms=MS)
        said += [] if change is None else [change]

        replayed = replay(said)
        assert state_of(replayed) == (sections, {one.name: msgspec.json.encode(one) for one in tools})  # P7
        assert delta(replayed, sections, tools, now_ms=MS) is None
        # what the path replays to, in one message, replays to itself: a compaction may put it in the place of all of them
        assert replayed is None or replay([replayed]) == replayed


def test_nothing_said_replays_to_nothing() -> None:
    assert replay([user()]) is None
    assert delta(None, {}, now_ms=MS) is None


def test_a_changed_section_keeps_its_place_and_one_that_comes_back_goes_to_the_end() -> None:
    replayed = replay(
        [system(a="1", b="2", c="3"), user(), system(a=None, b="changed"), system(a="again"), system(gone=None)]
    )

    assert replayed is not None
    assert list((replayed.sections or {}).items()) == [("b", "changed"), ("c", "3"), ("a", "again")]


def test_contents_are_joined_and_the_time_is_that_of_the_first() -> None:
    first = SystemMessage(content="One.", timestamp=1)
    second = SystemMessage(content=(text("Two."), text("Three.")), sections={"a": "A", "b": ""}, timestamp=2)

    replayed = replay([first, SystemMessage(content="", timestamp=3), second])

    assert replayed == SystemMessage(content="One.\n\nTwo.\nThree.", sections={"a": "A", "b": ""}, timestamp=1)
    assert rendered(second) == "Two.\nThree.\n\nA"
    assert rendered(system()) == ""


def test_of_one_message_removals_go_before_additions() -> None:
    declared = SystemMessage(content="", tools_added=(tool("read"), tool("run")), timestamp=MS)
    changed = SystemMessage(
        content="", tools_removed=(ToolReference(name="read"),), tools_added=(tool("read", {"a": 1}),), timestamp=MS
    )

    replayed = replay([declared, changed])

    assert replayed is not None
    assert replayed.tools_added == (tool("run"), tool("read", {"a": 1}))


def test_a_tool_whose_definition_changed_is_removed_and_added() -> None:
    present = SystemMessage(content="", tools_added=(tool("read", {"a": 1, "b": 2}), tool("run")), timestamp=MS)
    other = tool("read", {"b": 2, "a": 1})  # the order of keys counts

    change = delta(present, {}, (tool("run"), other), now_ms=MS + 1)

    assert change == SystemMessage(
        content="", tools_added=(other,), tools_removed=(ToolReference(name="read"),), timestamp=MS + 1
    )


def test_another_order_alone_changes_nothing() -> None:
    present = SystemMessage(content="", sections={"a": "1", "b": "2"}, tools_added=(tool("x"), tool("y")), timestamp=MS)

    assert delta(present, {"b": "2", "a": "1"}, (tool("y"), tool("x")), now_ms=MS) is None


def test_exactly_what_changed_is_said() -> None:
    change = delta(system(a="1", b="2", c="3"), {"a": "1", "b": "two", "d": "4"}, now_ms=MS)

    assert change == system(b="two", d="4", c=None)


def test_the_preamble_alone_has_no_tag() -> None:
    assert section("preamble", "You help.") == "You help."
    assert section("cwd", "/home/dev") == "<cwd>\n/home/dev\n</cwd>"


@pytest.mark.parametrize("name", ["a", "rules", "x-1_b"])
def test_a_good_name_of_a_section_is_taken(name: str) -> None:
    assert check_section_name(name) == name


@pytest.mark.parametrize("name", ["preamble", "", "A", "1a", "-a", "a b", "ä", "a\n", "aB", "a."])
def test_a_name_that_is_no_tag_is_refused_in_pis_words(name: str) -> None:
    with pytest.raises(Refused) as caught:
        check_section_name(name)

    assert str(caught.value) == f"Invalid system prompt section name: {name}"  # P6


@pytest.mark.parametrize("name", ["pi-all-kinds", "pi-ringing-v3", "v1", "v2"])
def test_what_pi_wrote_replays_to_what_pi_says(name: str) -> None:
    pi = json.loads((DATA / f"{name}.expected.json").read_text(encoding="utf-8"))["systemPrompt"]
    with read(DATA / f"{name}.jsonl") as session:
        replayed = replay(session.context().messages)

    assert (None if replayed is None else json.loads(msgspec.json.encode(replayed))) == pi
    assert replayed is None or list(replayed.sections or {}) == list(pi["sections"])
