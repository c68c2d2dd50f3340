"""When a compaction is due, and by which settings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import CompactionSettings, Model, Refused, TokenOverride
from sapwood.actors.compaction.threshold import MOST_SAFE, Budget, amount_or_refuse, is_amount

AMOUNTS = st.integers(0, MOST_SAFE) | st.integers(0, 2_000_000)
WINDOWS = st.integers(1, 2_000_000)


def model(window: int | None = None, key: str = "some/model") -> Model:
    provider, _, name = key.partition("/")
    return Model(provider=provider, id=name, context_window=window)


def test_nothing_set_is_what_pi_has() -> None:
    assert CompactionSettings() == CompactionSettings(
        enabled=True, reserve_tokens=16_384, keep_recent_tokens=20_000, model_overrides={}
    )
    assert TokenOverride() == TokenOverride(reserve_tokens=None, keep_recent_tokens=None)
    assert CompactionSettings().of(model(200_000)) == Budget(
        enabled=True,
        window=200_000,
        reserve_tokens=16_384,
        keep_recent_tokens=20_000,
        asked_reserve_tokens=16_384,
    )


def test_a_compaction_is_due_beyond_the_threshold_and_not_at_it() -> None:
    budget = CompactionSettings().of(model(200_000))

    assert budget.threshold == 183_616
    assert [budget.is_over(tokens) for tokens in (0, 183_615, 183_616)] == [False, False, False]
    assert [budget.is_over(tokens) for tokens in (183_617, 10**9)] == [True, True]


def test_a_window_that_nobody_knows_has_128_000_tokens() -> None:
    assert CompactionSettings().of(model(None)).threshold == 128_000 - 16_384
    assert CompactionSettings().of(model(None)) == CompactionSettings().of(model(128_000))


@pytest.mark.parametrize(
    ("window", "reserve", "keep", "is_clamped"),
    [
        (1, 0, 0, True),
        (2, 1, 0, True),
        (3, 2, 0, True),
        (4, 3, 0, True),
        (5, 3, 1, True),
        (2_000, 1_500, 250, True),
        (8_192, 6_144, 1_024, True),
        (16_384, 12_288, 2_048, True),
        (21_844, 16_383, 2_730, True),
        (21_845, 16_383, 2_731, True),
        (21_846, 16_384, 2_731, False),
        (32_768, 16_384, 8_192, False),
        (56_383, 16_384, 19_999, False),
        (56_384, 16_384, 20_000, False),
        (128_000, 16_384, 20_000, False),
        (1_000_000, 16_384, 20_000, False),
    ],
)
def test_a_small_window_has_what_it_bears(window: int, reserve: int, keep: int, is_clamped: bool) -> None:
    budget = CompactionSettings().of(model(window))

    assert (budget.reserve_tokens, budget.keep_recent_tokens, budget.is_clamped) == (reserve, keep, is_clamped)
    assert budget.asked_reserve_tokens == 16_384


def test_a_larger_window_is_used_further() -> None:
    """An absolute amount: a percentage would waste more of a larger one."""
    shares = [CompactionSettings().of(model(n)).threshold / n for n in (128_000, 200_000, 400_000, 1_000_000)]

    assert shares == sorted(shares)
    assert CompactionSettings(reserve_tokens=400_000).of(model(1_000_000)).threshold == 600_000


@given(window=WINDOWS, reserve=AMOUNTS, keep=AMOUNTS, tokens=AMOUNTS)
def test_whatever_is_set_there_is_room_before_and_after_a_compaction(
    window: int, reserve: int, keep: int, tokens: int
) -> None:
    budget = CompactionSettings(reserve_tokens=reserve, keep_recent_tokens=keep).of(model(window))

    assert 0 <= budget.reserve_tokens <= reserve
    assert budget.asked_reserve_tokens == reserve
    assert 4 * budget.threshold >= window
    assert 1 <= budget.threshold <= window
    assert budget.is_over(tokens) == (tokens > window - budget.reserve_tokens)
    if 4 * (window - reserve) >= window:
        assert budget.reserve_tokens == reserve
        assert not budget.is_clamped
    else:
        assert budget.reserve_tokens == 3 * window // 4
        assert budget.is_clamped
    assert budget.keep_recent_tokens == min(keep, budget.threshold // 2) >= 0


@pytest.mark.parametrize(
    ("override", "reserve", "keep"),
    [
        (TokenOverride(), 5_000, 7_000),
        (TokenOverride(reserve_tokens=1), 1, 7_000),
        (TokenOverride(keep_recent_tokens=2), 5_000, 2),
        (TokenOverride(reserve_tokens=1, keep_recent_tokens=2), 1, 2),
        (TokenOverride(reserve_tokens=0, keep_recent_tokens=0), 0, 0),
    ],
)
def test_each_amount_falls_back_by_itself(override: TokenOverride, reserve: int, keep: int) -> None:
    overrides = {"some/model": override}
    ordinary = CompactionSettings(reserve_tokens=5_000, keep_recent_tokens=7_000, model_overrides=overrides)

    budget = ordinary.of(model(200_000))
    default = CompactionSettings(model_overrides=overrides).of(model(200_000))

    assert (budget.reserve_tokens, budget.keep_recent_tokens) == (reserve, keep)
    assert default.reserve_tokens == (16_384 if override.reserve_tokens is None else override.reserve_tokens)
    assert default.keep_recent_tokens == (
        20_000 if override.keep_recent_tokens is None else override.keep_recent_tokens
    )


@pytest.mark.parametrize(
    ("key", "is_meant"),
    [
        ("openrouter/anthropic/claude", True),
        ("anthropic/claude", False),
        ("openrouter/claude", False),
        ("openrouter/anthropic/Claude", False),
        ("OpenRouter/anthropic/claude", False),
        ("openrouter/anthropic/claude ", False),
        ("openrouter/anthropic/claude-2", False),
        ("openrouter/anthropic", False),
    ],
)
def test_a_model_is_named_exactly_with_the_slashes_of_its_id(key: str, is_meant: bool) -> None:
    settings = CompactionSettings(model_overrides={"openrouter/anthropic/claude": TokenOverride(reserve_tokens=7)})

    assert (settings.of(model(200_000, key)).reserve_tokens == 7) == is_meant


@pytest.mark.parametrize("enabled", [True, False])
def test_whether_it_happens_at_all_is_one_for_every_model(enabled: bool) -> None:
    settings = CompactionSettings(enabled=enabled, model_overrides={"some/model": TokenOverride(reserve_tokens=7)})

    assert settings.of(model()).enabled is enabled
    assert settings.of(model(key="some/other")).enabled is enabled
    assert settings.of(model(200_000)).is_over(199_994), "it says nothing of `enabled`"


BAD: list[tuple[object, str]] = [
    (-1, "-1"),
    (2**53, "9007199254740992"),
    (1.0, "1.0"),
    (1e3, "1000.0"),
    (0.5, "0.5"),
    (float("nan"), "nan"),
    (True, "True"),
    (False, "False"),
    ("5", "'5'"),
    ([], r"\[\]"),
]


@pytest.mark.parametrize("value", [0, 1, 20_000, 2**53 - 1])
def test_what_is_an_amount_is_taken(value: int) -> None:
    assert is_amount(value)
    assert amount_or_refuse(value, "a.b") == value
    assert CompactionSettings(reserve_tokens=value).reserve_tokens == value
    assert CompactionSettings(keep_recent_tokens=value).keep_recent_tokens == value


FIELDS = [("reserve_tokens", "reserveTokens"), ("keep_recent_tokens", "keepRecentTokens")]


@pytest.mark.parametrize(("value", "shown"), [*BAD, (None, "None")])
@pytest.mark.parametrize(("field", "name"), FIELDS)
def test_what_is_no_amount_is_refused_in_pis_words(field: str, name: str, value: Any, shown: str) -> None:
    assert not is_amount(value)
    told = rf"^Invalid compaction\.{name} setting: {shown}\. Expected a non-negative safe integer\.$"
    with pytest.raises(Refused, match=told) as caught:
        CompactionSettings(**{field: value})
    assert caught.value.reason == "bad-input"


@pytest.mark.parametrize(("value", "shown"), BAD)
@pytest.mark.parametrize(("field", "name"), FIELDS)
def test_the_amounts_of_every_model_are_looked_at(field: str, name: str, value: Any, shown: str) -> None:
    overrides = {"good/one": TokenOverride(reserve_tokens=1), "a/b": TokenOverride(**{field: value})}
    at = rf'compaction\.modelOverrides\["a/b"\]\.{name}'

    with pytest.raises(Refused, match=rf"^Invalid {at} setting: {shown}\. Expected a non-negative safe integer\.$"):
        CompactionSettings(model_overrides=overrides)


def test_an_ordinary_amount_must_be_right_where_no_model_goes_by_it() -> None:
    with pytest.raises(Refused, match=r"Invalid compaction\.reserveTokens setting: -1"):
        CompactionSettings(reserve_tokens=-1, model_overrides={"some/model": TokenOverride(reserve_tokens=1)})


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"enabled": None}, r"^Invalid compaction\.enabled setting: None\. Expected true or false\.$"),
        ({"enabled": 1}, r"^Invalid compaction\.enabled setting: 1\."),
        ({"model_overrides": 5}, r"^Invalid compaction\.modelOverrides setting: 5\. Expected an object\.$"),
        ({"model_overrides": [("a/b", TokenOverride())]}, r"^Invalid compaction\.modelOverrides setting: \["),
        ({"model_overrides": {"a/b": 5}}, r'^Invalid compaction\.modelOverrides\["a/b"\] setting: 5\. Expected an obj'),
        ({"model_overrides": {"a/b": {"reserve_tokens": 5}}}, r'modelOverrides\["a/b"\] setting: \{'),
    ],
)
def test_what_is_no_setting_is_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(Refused, match=told):
        CompactionSettings(**wrong)


def test_what_is_done_to_the_mapping_later_changes_nothing() -> None:
    mine = {"a/b": TokenOverride(reserve_tokens=1)}
    settings = CompactionSettings(model_overrides=mine)

    mine["a/b"] = TokenOverride(reserve_tokens=2)

    assert settings.of(model(200_000, "a/b")).reserve_tokens == 1
    assert hash(settings) == hash(CompactionSettings())
