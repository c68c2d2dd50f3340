"""The ready tools are four, and fit to be told of to any model."""

from __future__ import annotations

import msgspec

from sapwood.actors.tools.builtin import builtin_tools
from sapwood.events.base import is_object


def test_the_ready_tools_are_there_under_the_names_that_everybody_knows() -> None:
    assert [one.name for one in builtin_tools()] == ["read", "write", "edit", "bash"]


def test_each_argument_is_explained_to_the_model() -> None:
    for one in builtin_tools():
        parameters = one.parameters
        assert is_object(parameters)
        properties = parameters["properties"]
        assert is_object(properties)
        assert one.description
        assert "ctx" not in properties
        for name, told in properties.items():
            assert "description" in msgspec.json.encode(told).decode(), name
