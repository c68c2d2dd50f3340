"""The port of a provider is small enough that the scripted one and any host's fit it."""

from __future__ import annotations

import msgspec

from sapwood.actors.model.providers.base import Finish, Provider, Request
from sapwood.actors.model.providers.scripted import Scripted
from sapwood.events.messages import NO_USAGE
from tests.build import MODEL, user


def test_the_scripted_provider_is_a_provider() -> None:
    provider: Provider = Scripted(provider_id="mine")

    assert provider.id == "mine"


def test_a_request_is_a_value_that_can_be_written_down_and_compared() -> None:
    request = Request(model=MODEL, purpose="turn", messages=(user(),))

    assert msgspec.json.decode(msgspec.json.encode(request), type=Request) == request


def test_an_end_that_says_nothing_of_usage_reports_none() -> None:
    assert Finish(stop_reason="stop").usage == NO_USAGE
