"""What a file may say of settings, and what it comes to."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sapwood import BranchSummarySettings, CompactionSettings, Refused, RetryPolicy, Settings, TokenOverride
from sapwood.events.base import Json, is_object
from sapwood.settings_keys import Fault, faults_in, merged, settings_of, taken

Plain = dict[str, Any]

AMOUNT = "a non-negative safe integer"
MODE = '"one-at-a-time" or "all"'
WHOLE: Plain = {
    "steeringMode": "all",
    "followUpMode": "all",
    "retry": {"enabled": False, "maxRetries": 1, "baseDelayMs": 2, "maxAgentDelayMs": 3},
    "compaction": {
        "enabled": False,
        "reserveTokens": 4,
        "keepRecentTokens": 5,
        "modelOverrides": {
            "a/b": {"reserveTokens": 6, "keepRecentTokens": 7},
            "a/b/c": {"keepRecentTokens": 8},
            "A/b": {},
        },
    },
    "branchSummary": {"enabled": True, "reserveTokens": 9, "manner": "omp"},
}
MEANT = Settings(
    steering_mode="all",
    follow_up_mode="all",
    retry=RetryPolicy(enabled=False, max_retries=1, base_delay_ms=2, max_delay_ms=3),
    compaction=CompactionSettings(
        enabled=False,
        reserve_tokens=4,
        keep_recent_tokens=5,
        model_overrides={
            "a/b": TokenOverride(reserve_tokens=6, keep_recent_tokens=7),
            "a/b/c": TokenOverride(keep_recent_tokens=8),
            "A/b": TokenOverride(),
        },
    ),
    branch_summary=BranchSummarySettings(enabled=True, reserve_tokens=9, manner="omp"),
)


def test_every_key_has_its_field() -> None:
    assert list(faults_in(WHOLE)) == []
    assert list(faults_in(WHOLE, strict=True)) == []
    assert settings_of(WHOLE) == MEANT


@pytest.mark.parametrize(
    "value",
    [{}, {"compaction": {}, "branchSummary": {}, "retry": {}}, {"compaction": {"modelOverrides": {}}}],
    ids=range(3),
)
def test_what_is_not_said_is_the_default(value: Plain) -> None:
    assert settings_of(value) == Settings()


FOREIGN: Plain = {
    "compactoin": {"reserveTokens": -1},
    "websockets": None,
    "retry": {"provider": {"maxRetries": -5}, "maxDelayMs": "x", "maxRetries": 1},
    "branchSummary": {"skipPrompt": "x"},
}


def test_the_keys_of_other_programs_are_passed_over_where_they_may_stand() -> None:
    assert list(faults_in(FOREIGN)) == []
    assert settings_of(FOREIGN) == Settings(retry=RetryPolicy(max_retries=1))
    assert taken(FOREIGN) == {"retry": {"maxRetries": 1}, "branchSummary": {}}


def test_where_nobody_else_writes_every_key_must_be_ours() -> None:
    found = list(faults_in({**FOREIGN, "queueMode": "all"}, strict=True))

    assert [(fault.place, fault.key) for fault in found] == [
        (("compactoin",), "compactoin"),
        (("websockets",), "websockets"),
        (("retry", "provider"), "retry.provider"),
        (("retry", "maxDelayMs"), "retry.maxDelayMs"),
        (("branchSummary", "skipPrompt"), "branchSummary.skipPrompt"),
        (("queueMode",), "queueMode"),
    ]
    assert found[0].message == "Unknown setting compactoin: did you mean 'compaction'?"
    assert found[3].message == "Unknown setting retry.maxDelayMs: did you mean 'maxAgentDelayMs'?"


@pytest.mark.parametrize(
    ("value", "place", "message"),
    [
        (
            {"compaction": {"reserveToken": 5}},
            ("compaction", "reserveToken"),
            "Unknown setting compaction.reserveToken: did you mean 'reserveTokens'?",
        ),
        (
            {"compaction": {"modelOverrides": {"a/b": {"reservetokens": 5}}}},
            ("compaction", "modelOverrides", "a/b", "reservetokens"),
            "Unknown setting compaction.modelOverrides[\"a/b\"].reservetokens: did you mean 'reserveTokens'?",
        ),
        (
            {"compaction": {"modelOverrides": {"a/b": {"enabled": True}}}},
            ("compaction", "modelOverrides", "a/b", "enabled"),
            'Unknown setting compaction.modelOverrides["a/b"].enabled (there are: keepRecentTokens, reserveTokens)',
        ),
        (
            {"branchSummary": {"maner": "pi"}},
            ("branchSummary", "maner"),
            "Unknown setting branchSummary.maner: did you mean 'manner'?",
        ),
    ],
)
def test_an_unknown_key_in_a_group_of_ours_is_a_fault_with_the_nearest_right_one(
    value: Plain, place: tuple[str, ...], message: str
) -> None:
    [fault] = faults_in(value)

    assert (fault.place, fault.message) == (place, message)
    assert list(faults_in(value, strict=True)) == [fault]


BAD_AMOUNTS: list[tuple[object, str]] = [
    (-1, "-1"),
    (2**53, "9007199254740992"),
    (1.0, "1.0"),
    (1e3, "1000.0"),
    (float("inf"), "inf"),
    (None, "null"),
    (True, "true"),
    (False, "false"),
    ("5", "'5'"),
    ([], "[]"),
    ({}, "{}"),
]
AMOUNTS = [
    ("retry", "maxRetries"),
    ("retry", "baseDelayMs"),
    ("retry", "maxAgentDelayMs"),
    ("compaction", "reserveTokens"),
    ("compaction", "keepRecentTokens"),
    ("compaction", "modelOverrides", "a/b", "reserveTokens"),
    ("compaction", "modelOverrides", "a/b", "keepRecentTokens"),
    ("branchSummary", "reserveTokens"),
]


def at(place: tuple[str, ...], value: object) -> Plain:
    """A file that says this and no more."""
    first, *rest = place
    return {first: at(tuple(rest), value) if rest else value}


def named(place: tuple[str, ...]) -> str:
    return ".".join(place).replace(".a/b", '["a/b"]')


@pytest.mark.parametrize(("value", "shown"), BAD_AMOUNTS, ids=repr)
@pytest.mark.parametrize("place", AMOUNTS, ids=".".join)
def test_what_is_no_amount_is_a_fault_in_pis_words(place: tuple[str, ...], value: object, shown: str) -> None:
    key = named(place)

    assert list(faults_in(at(place, value))) == [
        Fault(place, key, f"Invalid {key} setting: {shown}. Expected a non-negative safe integer.")
    ]
    with pytest.raises(Refused, match=r"Expected a non-negative safe integer\.$") as caught:
        settings_of(at(place, value))
    assert caught.value.reason == "bad-input"


@pytest.mark.parametrize("value", [0, 2**53 - 1])
@pytest.mark.parametrize("place", AMOUNTS, ids=".".join)
def test_the_least_and_the_most_are_amounts(place: tuple[str, ...], value: int) -> None:
    assert list(faults_in(at(place, value))) == []
    assert settings_of(at(place, value)) != Settings()


@pytest.mark.parametrize(
    ("place", "value", "shown", "expected"),
    [
        (("compaction",), 5, "5", "an object"),
        (("compaction",), None, "null", "an object"),
        (("compaction",), [], "[]", "an object"),
        (("retry",), "x", "'x'", "an object"),
        (("branchSummary",), False, "false", "an object"),
        (("compaction", "modelOverrides"), [1], "[1]", "an object"),
        (("compaction", "modelOverrides", "a/b"), 5, "5", "an object"),
        (("compaction", "modelOverrides", "a/b"), None, "null", "an object"),
        (("compaction", "enabled"), 1, "1", "true or false"),
        (("compaction", "enabled"), None, "null", "true or false"),
        (("retry", "enabled"), "yes", "'yes'", "true or false"),
        (("branchSummary", "enabled"), 0, "0", "true or false"),
        (("branchSummary", "manner"), "Pi", "'Pi'", '"pi" or "omp"'),
        (("branchSummary", "manner"), {}, "{}", '"pi" or "omp"'),
        (("steeringMode",), "some", "'some'", MODE),
        (("steeringMode",), None, "null", MODE),
        (("followUpMode",), True, "true", MODE),
        (("queueMode",), "some", "'some'", MODE),
    ],
)
def test_what_is_no_setting_is_a_fault(place: tuple[str, ...], value: object, shown: str, expected: str) -> None:
    key = named(place)

    assert list(faults_in(at(place, value))) == [
        Fault(place, key, f"Invalid {key} setting: {shown}. Expected {expected}.")
    ]


@pytest.mark.parametrize(("value", "shown"), [(None, "null"), ([], "[]"), (5, "5"), ("x", "'x'")])
def test_what_is_no_object_is_no_settings(value: object, shown: str) -> None:
    assert list(faults_in(value)) == [Fault((), "", f"Invalid settings: {shown}. Expected an object.")]


def test_all_faults_are_told_in_the_order_of_the_file() -> None:
    value = {
        "retry": {"maxRetries": -1},
        "compaction": {
            "modelOverrides": {"a/b": 5, "c/d": {"reserveTokens": -2, "keepRecentTokens": -3}, "e/f": {}},
            "reserveTokens": -4,
        },
        "steeringMode": "none",
    }

    assert [fault.key for fault in faults_in(value)] == [
        "retry.maxRetries",
        'compaction.modelOverrides["a/b"]',
        'compaction.modelOverrides["c/d"].reserveTokens',
        'compaction.modelOverrides["c/d"].keepRecentTokens',
        "compaction.reserveTokens",
        "steeringMode",
    ]


def test_a_name_of_many_lines_is_told_in_one() -> None:
    [fault] = faults_in({"compaction": {"modelOverrides": {"a\n\x1b": 5}}})

    assert fault.message == 'Invalid compaction.modelOverrides["a��"] setting: 5. Expected an object.'
    assert fault.place == ("compaction", "modelOverrides", "a\n\x1b")


@pytest.mark.parametrize(
    ("value", "mode"),
    [
        ({"queueMode": "all"}, "all"),
        ({"queueMode": "all", "steeringMode": "one-at-a-time"}, "one-at-a-time"),
        ({"steeringMode": "one-at-a-time", "queueMode": "all"}, "one-at-a-time"),
        ({"steeringMode": "all", "queueMode": "one-at-a-time"}, "all"),
    ],
)
def test_an_old_key_is_taken_where_todays_is_not_there(value: Plain, mode: str) -> None:
    assert taken(value) == {"steeringMode": mode}
    assert settings_of(value).steering_mode == mode


def test_an_old_key_of_a_later_file_wins_over_todays_of_an_earlier_one() -> None:
    both = merged(taken({"steeringMode": "one-at-a-time"}), taken({"queueMode": "all"}))

    assert settings_of(both).steering_mode == "all"


def test_the_later_file_wins_value_by_value() -> None:
    first = {"compaction": {"reserveTokens": 1, "keepRecentTokens": 2, "modelOverrides": {"a/b": {"reserveTokens": 3}}}}
    second = {"compaction": {"reserveTokens": 4, "modelOverrides": {"a/b": {"keepRecentTokens": 5}, "c/d": {}}}}

    assert merged(first, second) == {
        "compaction": {
            "reserveTokens": 4,
            "keepRecentTokens": 2,
            "modelOverrides": {"a/b": {"reserveTokens": 3, "keepRecentTokens": 5}, "c/d": {}},
        }
    }
    assert merged({"a": {"b": 1}}, {"a": 2}) == {"a": 2}
    assert merged({"a": 2}, {"a": {"b": 1}}) == {"a": {"b": 1}}
    assert merged({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}


SOME = st.integers(0, 2**53 - 1)


def group(**keys: SearchStrategy[Any]) -> SearchStrategy[Plain]:
    """Some of these keys."""
    nothing: dict[str, SearchStrategy[Any]] = {}
    return st.fixed_dictionaries(nothing, optional=keys)


MODES = st.sampled_from(["all", "one-at-a-time"])
FILES = group(
    steeringMode=MODES,
    queueMode=MODES,
    theme=st.integers() | group(a=st.integers()),
    retry=group(maxRetries=SOME, provider=st.none()),
    branchSummary=group(enabled=st.booleans(), skipPrompt=st.booleans()),
    compaction=group(
        enabled=st.booleans(),
        reserveTokens=SOME,
        keepRecentTokens=SOME,
        modelOverrides=st.dictionaries(
            st.sampled_from(["a/b", "a/b/c", "A/b"]), group(reserveTokens=SOME, keepRecentTokens=SOME)
        ),
    ),
)


def leaves(value: Json, place: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    if not is_object(value):
        return {place: value}
    return {where: leaf for key, item in value.items() for where, leaf in leaves(item, (*place, key)).items()}


@given(one=FILES, two=FILES, three=FILES)
def test_files_merge_in_any_grouping_and_the_later_wins(one: Plain, two: Plain, three: Plain) -> None:
    before = deepcopy((one, two, three))
    first, second, third = taken(one), taken(two), taken(three)
    ours = deepcopy((first, second, third))

    left = merged(merged(first, second), third)

    assert left == merged(first, merged(second, third))
    assert leaves(left) == leaves(first) | leaves(second) | leaves(third)
    assert merged(first, {}) == first == merged({}, first) == merged(first, first)
    assert ((first, second, third), (one, two, three)) == (ours, before), "what was handed in is as it was"
    assert settings_of(one) == settings_of(first)
    assert list(faults_in(left, strict=True)) == []
    assert isinstance(settings_of(left), Settings)
