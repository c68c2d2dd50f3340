"""What a host may set is checked when it is set."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import BranchSummarySettings, CompactionSettings, Model, Refused, RetryPolicy, Settings
from sapwood.actors.agent.state import Rules


def test_a_run_goes_by_what_was_set() -> None:
    policy = RetryPolicy(max_retries=1)

    assert Settings().rules == Rules(steering="one-at-a-time", follow_up="one-at-a-time", retry=RetryPolicy())
    assert Settings(steering_mode="all", follow_up_mode="all", retry=policy).rules == Rules(
        steering="all", follow_up="all", retry=policy
    )


def test_what_is_not_set_is_the_default_of_its_kind() -> None:
    small = Model(provider="a", id="small")

    assert Settings().compaction == CompactionSettings()
    assert Settings().branch_summary == BranchSummarySettings()
    assert Settings().summary_model is None
    assert Settings(summary_model=small).summary_model is small


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"steering_mode": "some"}, r"Settings\(steering_mode=…\) is 'one-at-a-time' or 'all', not 'some'"),
        ({"follow_up_mode": None}, r"Settings\(follow_up_mode=…\) is"),
        ({"retry": 3}, r"Settings\(retry=…\) is a sapwood.RetryPolicy, not 3"),
        ({"compaction": None}, r"Settings\(compaction=…\) is a sapwood.CompactionSettings, not None"),
        ({"compaction": {"enabled": True}}, r"Settings\(compaction=…\) is a sapwood.CompactionSettings, not {"),
        ({"branch_summary": RetryPolicy()}, r"Settings\(branch_summary=…\) is a sapwood.BranchSummarySettings, not R"),
        ({"summary_model": "a/b"}, r"Settings\(summary_model=…\) is a sapwood.Model or None, not 'a/b'"),
    ],
)
def test_what_is_no_setting_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(Refused, match=told):
        Settings(**given)
