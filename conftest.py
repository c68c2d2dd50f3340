"""The two tiers of the suite, and how much hypothesis tries in each.

uv run pytest           the ordinary run
uv run pytest --full    with the full counts: what is marked `full`, and more examples
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
"""Two cores that are shared, and trio's fixtures, which are made anew for each test and not for each example."""

settings.register_profile("default", deadline=None, derandomize=True, print_blob=True, suppress_health_check=QUIET)
settings.register_profile(
    "quick",  # only whether it fails, not on how small an example
    parent=settings.get_profile("default"),
    max_examples=50,
    phases=[Phase.explicit, Phase.generate],
)
settings.register_profile("full", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=QUIET)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the full counts: what is marked `full`, and more examples")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--hypothesis-profile", None):
        settings.load_profile("full" if config.getoption("--full") else "default")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
