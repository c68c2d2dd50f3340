"""What may be set of a branch's summary is checked when it is set."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import BranchSummarySettings, Refused


def test_nothing_set_is_what_the_seeds_have() -> None:
    assert BranchSummarySettings() == BranchSummarySettings(enabled=False, reserve_tokens=16_384, manner="pi")
    assert BranchSummarySettings(enabled=True, reserve_tokens=0, manner="omp").manner == "omp"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"enabled": 1}, r"^Invalid branchSummary\.enabled setting: 1\. Expected true or false\.$"),
        ({"enabled": None}, r"^Invalid branchSummary\.enabled setting: None\."),
        ({"reserve_tokens": -1}, r"^Invalid branchSummary\.reserveTokens setting: -1\. Expected a non-negative safe"),
        ({"reserve_tokens": 1e3}, r"^Invalid branchSummary\.reserveTokens setting: 1000\.0\."),
        ({"manner": "PI"}, r"^Invalid branchSummary\.manner setting: 'PI'\. Expected \"pi\" or \"omp\"\.$"),
        ({"manner": None}, r"^Invalid branchSummary\.manner setting: None\."),
    ],
)
def test_what_is_no_setting_is_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(Refused, match=told) as caught:
        BranchSummarySettings(**wrong)
    assert caught.value.reason == "bad-input"


@pytest.mark.parametrize("given", [{"metadata": ["a"]}, {"metadata": "user"}, {"convert": 7}, {"convert": "text"}])
def test_what_a_host_brings_besides_is_a_mapping_and_a_function(given: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="BranchSummarySettings") as refused:
        BranchSummarySettings(**given)

    assert refused.value.reason == "bad-input"
    settings = BranchSummarySettings(metadata={"user": 1}, convert=lambda messages: messages)
    assert settings.metadata == {"user": 1}
