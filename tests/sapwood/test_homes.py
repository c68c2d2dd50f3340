"""Each public name is where it is said to be."""

from __future__ import annotations

from importlib import import_module

import pytest

import sapwood
from sapwood.homes import HOMES


@pytest.mark.parametrize("name", sapwood.__all__)
def test_a_public_name_is_what_its_home_has(name: str) -> None:
    assert getattr(sapwood, name) is getattr(import_module(HOMES[name]), name)


def test_nothing_else_has_a_home() -> None:
    assert HOMES.keys() == set(sapwood.__all__)
