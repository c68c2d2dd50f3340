"""Messages: their names on the wire, and who may stand where."""

from __future__ import annotations

import math
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.errors import Refused
from sapwood.events.messages import (
    COUNTS,
    FAILED,
    NO_USAGE,
    TOO_MUCH,
    Cost,
    DeferredAnswer,
    Message,
    StopReason,
    StoredMessage,
    ToolDefinition,
    ToolReference,
    Usage,
    is_amount,
)
from tests.build import assistant, system, user
from tests.events.wire import as_json, assert_round_trip, shape, shapes, tag_fields
from tests.strategies import PER_KIND, of

WIRE = {
    "system": "content sections? toolsAdded? toolsRemoved? timestamp",
    "user": "content timestamp",
    "assistant": (
        "content api provider model responseModel? responseId? providerThinkingLevel? thinkingLevel? diagnostics? "
        "usage stopReason deferred? errorMessage? rawStopReason? endTurn? timestamp durationMs?"
    ),
    "toolResult": "toolCallId toolName content details? usage? nestedCalls? isError useless? timestamp durationMs?",
    "bashExecution": "command output exitCode? cancelled truncated fullOutputPath? excludeFromContext? timestamp",
    "custom": "customType content display details? timestamp",
}
DERIVED = {
    "branchSummary": "summary fromId timestamp",
    "compactionSummary": "summary tokensBefore timestamp",
}


def test_the_names_on_the_wire_are_pis() -> None:
    assert tag_fields(Message) == {"role"}
    assert shapes(StoredMessage) == WIRE
    assert shapes(Message) == WIRE | DERIVED


@pytest.mark.parametrize(
    ("part", "names"),
    [
        (Usage, "input output cacheRead cacheWrite cacheWrite1h? reasoning? totalTokens? cost?"),
        (Cost, "input output cacheRead cacheWrite total totalFromProvider? known?"),
        (ToolDefinition, "name description parameters constrainedSampling?"),
        (ToolReference, "name"),
        (DeferredAnswer, "provider modelId api id expiresAt? pollAfterMs? data?"),
    ],
)
def test_the_parts_of_a_message_are_named_as_pis(part: type[Any], names: str) -> None:
    assert shape(part) == names


def test_the_reasons_to_stop_are_pis() -> None:
    assert get_args(StopReason) == ("pending", "stop", "length", "toolUse", "error", "aborted", "deferred")
    assert {"error", "aborted"} == FAILED


@pytest.mark.parametrize("kind", get_args(Message), ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_a_message_comes_back_as_it_was_under_its_role(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(of(kind))

    assert_round_trip(message, Message)
    assert as_json(message)["role"] == message.role


def test_each_message_tells_its_role_and_nobody_can_change_it() -> None:
    assert [message.role for message in (system(), user(), assistant("x"))] == ["system", "user", "assistant"]
    assert {kind.__struct_config__.tag for kind in get_args(Message)} == {*WIRE, *DERIVED}
    with pytest.raises(AttributeError):
        user().role = "assistant"  # type: ignore[misc]


def test_nothing_billed_has_the_numbers_that_pi_adds_up_and_says_that_its_price_is_unknown() -> None:
    assert as_json(NO_USAGE) == {
        "input": 0,
        "output": 0,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 0,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0, "known": False},
    }


def test_whole_costs_stay_whole() -> None:
    cost = Cost(input=0, output=0.25, cache_read=0, cache_write=1, total=1.25)

    assert [str(number) for number in as_json(cost).values()] == ["0", "0.25", "0", "1", "1.25"]


def test_a_provider_that_knows_of_no_cache_reports_zeros_there_and_they_are_written() -> None:
    assert Usage.of(input=1, output=2) == Usage(input=1, output=2, cache_read=0, cache_write=0)
    assert as_json(Usage.of(input=1, output=2)) == {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}
    cost = Cost(input=0, output=0, cache_read=0, cache_write=0, total=0)
    assert Usage.of(input=1, output=2, cache_read=3, cache_write=4, reasoning=5, total_tokens=6, cost=cost) == Usage(
        input=1, output=2, cache_read=3, cache_write=4, reasoning=5, total_tokens=6, cost=cost
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"input": -1}, "Usage.of(input=…) is a number of tokens from 0 on, not -1"),
        ({"output": "2"}, "Usage.of(output=…) is a number of tokens from 0 on, not '2'"),
        ({"cache_read": None}, "Usage.of(cache_read=…) is a number of tokens from 0 on, not None"),
        ({"reasoning": True}, "Usage.of(reasoning=…) is a number of tokens from 0 on, not True"),
        ({"total_tokens": TOO_MUCH}, "Usage.of(total_tokens=…) is a number of tokens from 0 on, not 1000000000000"),
        ({"cost": 0.5}, "Usage.of(cost=…) is a Cost, or None, not 0.5"),
    ],
)
def test_what_no_call_can_have_taken_is_refused(fields: dict[str, Any], words: str) -> None:
    """It used to be found out when the answer was over."""
    given: Any = {"input": 1, "output": 1, **fields}
    with pytest.raises(Refused) as caught:
        Usage.of(**given)
    assert str(caught.value) == words


def test_an_amount_is_from_nothing_to_less_than_too_much() -> None:
    assert [is_amount(number) for number in (0, 0.5, TOO_MUCH - 1)] == [True] * 3
    assert [is_amount(number) for number in (-1, TOO_MUCH, 1e308, 10**400, math.nan, math.inf)] == [False] * 6


def test_every_field_of_a_usage_but_its_price_is_a_count() -> None:
    assert COUNTS == ("input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning", "total_tokens")


@pytest.mark.parametrize("field", ["input", "output", "cacheRead", "cacheWrite"])
def test_each_count_must_be_in_a_line(field: str) -> None:
    line = {name: value for name, value in as_json(NO_USAGE).items() if name != field}

    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(line, Usage)
