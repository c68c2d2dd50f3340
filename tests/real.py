"""A real session of Pi's: a thousand entries of 2025, version 1. It is not part of the project: some checkouts have it beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

REAL: Final = Path(__file__).parents[2] / "shared" / "data" / "pi-session-v1.jsonl"
needs_real = pytest.mark.skipif(
    not REAL.exists(), reason="the real session is not here: ../shared/data/pi-session-v1.jsonl"
)
