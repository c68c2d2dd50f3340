"""What `import sapwood` brings along, and what it leaves for when it is used."""

from __future__ import annotations

import subprocess
import sys

LATER = ["httpx", "httpx_sse", "tiktoken", "click", "rich", "yaml", "cattrs", "structlog"]


def test_heavy_libraries_are_imported_only_when_used() -> None:
    probe = f"import sapwood, sys; print([name for name in {LATER} if name in sys.modules])"

    seen = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout

    assert seen.strip() == "[]"


def test_every_name_in_the_shop_window_is_there() -> None:
    import sapwood

    for name in sapwood.__all__:
        assert getattr(sapwood, name) is not None
