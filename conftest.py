"""The two tiers of the suite, and how much hypothesis tries in each.

uv run pytest           the ordinary run
uv run pytest --full    with the full counts: what is marked `full`, and more examples

What asks the real model of the extra `local` is marked `live`, and skipped where that is not installed.

The ordinary run tries the same examples each time. The full one draws new ones, and says from which seed:
`--hypothesis-seed` repeats it.
"""

from __future__ import annotations

import secrets
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, Phase, settings

QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
"""An example may be slow where much else is at work, and trio's fixtures are made anew for each test and not for each example."""

settings.register_profile(
    "default", max_examples=50, deadline=None, derandomize=True, print_blob=True, suppress_health_check=QUIET
)
settings.register_profile(
    "quick",  # only whether it fails, not on how small an example
    parent=settings.get_profile("default"),
    max_examples=50,
    phases=[Phase.explicit, Phase.generate],
)
settings.register_profile(
    "full",
    # the active one by now, whatever else is said: hypothesis looks up its name
    parent=settings.get_profile("default"),
    derandomize=False,
    max_examples=75,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the full counts: what is marked `full`, and more examples")


@pytest.hookimpl(tryfirst=True)  # hypothesis reads its seed in its own
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile", None):
        return
    settings.load_profile("full" if config.getoption("--full") else "default")
    if config.getoption("--full") and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(secrets.randbelow(2**32))  # workers are handed the options


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--full"):
        terminalreporter.write_line(f"drawn with --hypothesis-seed={config.getoption('--hypothesis-seed')}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if find_spec("xllamacpp") is None:
        missing = pytest.mark.skip(reason="needs the extra `local`: uv sync --extra local")
        for item in items:
            if item.get_closest_marker("live"):
                item.add_marker(missing)
    if config.getoption("--full"):
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
