"""What a host may set is checked when it is set."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import Refused, RetryPolicy, Settings
from sapwood.actors.agent.run import Rules


def test_a_run_goes_by_what_was_set() -> None:
    policy = RetryPolicy(max_retries=1)

    assert Settings().rules == Rules(steering="one-at-a-time", follow_up="one-at-a-time", retry=RetryPolicy())
    assert Settings(steering_mode="all", follow_up_mode="all", retry=policy).rules == Rules(
        steering="all", follow_up="all", retry=policy
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"steering_mode": "some"}, r"Settings\(steering_mode=…\) is 'one-at-a-time' or 'all', not 'some'"),
        ({"follow_up_mode": None}, r"Settings\(follow_up_mode=…\) is"),
        ({"retry": 3}, r"Settings\(retry=…\) is a sapwood.RetryPolicy, not 3"),
    ],
)
def test_what_is_no_setting_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(Refused, match=told):
        Settings(**given)
