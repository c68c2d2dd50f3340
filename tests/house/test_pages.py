"""The pages about events and tools name all that there is."""

from __future__ import annotations

from typing import get_args

from sapwood.actors.tools.bash import MOST_SECONDS
from sapwood.actors.tools.builtin import builtin_tools
from sapwood.actors.tools.reading import MOST_IMAGE_BYTES, MOST_LINES
from sapwood.events.base import is_object
from sapwood.events.commands import InputOutcome
from sapwood.events.runtime import Event
from tests.house.layout import ROOT


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_table_of_events_names_each() -> None:
    rows = [line.split("|")[1] for line in page("events.md").splitlines() if line.startswith("| `")]
    named = {word.strip(" `") for row in rows for word in row.split(",")}
    outcomes = {kind.__name__ for kind in get_args(InputOutcome)}

    assert named == {kind.__struct_config__.tag for kind in get_args(Event)} | outcomes


def test_the_page_about_tools_names_each_ready_one_its_arguments_and_its_limits() -> None:
    text = page("tools.md")
    for one in builtin_tools():
        [row] = [line for line in text.splitlines() if line.startswith(f"| `{one.name}` |")]
        parameters = one.parameters
        assert is_object(parameters)
        properties = parameters["properties"]
        assert is_object(properties)
        assert [name for name in properties if f"`{name}`" not in row] == []
    assert f"{MOST_LINES:,} lines" in text
    assert f"{MOST_IMAGE_BYTES:,} bytes" in text
    assert MOST_SECONDS == 86_400, "a day"
