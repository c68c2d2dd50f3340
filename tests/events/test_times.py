"""Moments, as JavaScript tells them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.times import iso, milliseconds, nearest_iso

NEW_YEAR = 1_767_225_600_000
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999."""


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (NEW_YEAR, "2026-01-01T00:00:00.000Z"),
        (NEW_YEAR + 7, "2026-01-01T00:00:00.007Z"),
        (FIRST, "0001-01-01T00:00:00.000Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_is_written_as_pi_writes_it(ms: int, text: str) -> None:
    assert iso(ms) == text
    assert milliseconds(text) == ms


@given(st.integers(FIRST, LAST))
def test_what_is_written_is_read_back(ms: int) -> None:
    assert milliseconds(iso(ms)) == ms


def test_every_millisecond_of_a_second_is_itself() -> None:
    """To floor a time in float seconds would lose one here and there."""
    assert [milliseconds(f"2026-01-01T00:00:00.{n:03}Z") for n in range(1000)] == [NEW_YEAR + n for n in range(1000)]


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        # beside each what `new Date(text).getTime()` gives
        ("2026-01-01T00:00:00.0006Z", NEW_YEAR),  # this used to be 1 in a projection, and 0 in a line that was bent
        ("2026-01-01T00:00:00.0009999Z", NEW_YEAR),
        ("2026-01-01T00:00:00.9996Z", NEW_YEAR + 999),
        ("1969-12-31T23:59:59.9996Z", -1),
        ("2026-01-01T01:00:00+01:00", NEW_YEAR),
        ("2026-01-01", NEW_YEAR),
        ("0001-01-01T00:00:00+01:00", FIRST - 3_600_000),
    ],
)
def test_a_fraction_of_a_millisecond_is_floored_as_javascript_does(text: str, ms: int) -> None:
    assert milliseconds(text) == ms


def test_a_time_without_a_zone_is_utc() -> None:
    assert milliseconds("2026-01-01T00:00:00") == NEW_YEAR


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "2026-01-01T00:00:00.0Zz"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert milliseconds(text) is None


@pytest.mark.parametrize("ms", [FIRST - 1, LAST + 1, 10**30])
def test_a_moment_beyond_all_years_has_no_text(ms: int) -> None:
    with pytest.raises(OverflowError):
        iso(ms)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (NEW_YEAR, "2026-01-01T00:00:00.000Z"),
        (FIRST - 3_600_000, "0001-01-01T00:00:00.000Z"),
        (LAST + 1, "9999-12-31T23:59:59.999Z"),
        (10**30, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_the_nearest_moment_that_has_a_text_stands_for_one_beyond_all_years(ms: int, text: str) -> None:
    assert nearest_iso(ms) == text
