"""A host's own suite plays its stories: pytest collects each `*.scenario.yaml` as a test.

Nothing of Sapwood is imported before there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from sapwood.scenario import Played

SUFFIX: Final = ".scenario.yaml"


class Different(Exception):
    """A story was not as it expects."""


class StoryItem(pytest.Item):
    """One story."""

    def runtest(self) -> None:
        from sapwood.scenario import play  # noqa: PLC0415 - see the module

        played = play(self.path)
        if played.differences:
            raise Different("\n".join(_told(played)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:  # noqa: ARG002 - pytest's
        """The differences, or why it cannot be played; no traceback, for neither is a fault of code."""
        from sapwood.scenario import ScenarioError  # noqa: PLC0415 - as above

        error = excinfo.value
        if isinstance(error, ScenarioError):
            return "\n".join(map(str, (error, *error.others)))
        return str(error) if isinstance(error, Different) else str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class StoryFile(pytest.File):
    """The file of one story."""

    def collect(self) -> Iterator[StoryItem]:
        yield StoryItem.from_parent(self, name=self.path.name.removesuffix(SUFFIX))  # pyright: ignore[reportUnknownMemberType] - pytest leaves it open


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> StoryFile | None:
    """A story is a file of tests."""
    return StoryFile.from_parent(parent, path=file_path) if file_path.name.endswith(SUFFIX) else None  # pyright: ignore[reportUnknownMemberType] - as above


def _told(played: Played) -> Iterator[str]:
    from sapwood.scenario.timeline import findings  # noqa: PLC0415 - as above
    from sapwood.words.wording import plain  # noqa: PLC0415 - as above

    return map(plain, findings(played.differences))
