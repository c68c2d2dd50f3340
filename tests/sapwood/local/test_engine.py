"""llama.cpp's server in a process of ours. What it answers is in tests/live."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.events.errors import Refused
from sapwood.local import engine
from sapwood.local.engine import Engine


def test_a_port_that_somebody_has_is_refused_before_the_model_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "weights", lambda: Path("none"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"^port {port} cannot be had .*: name another one, or 0 for any$") as caught:
            Engine.start(port=port)

    assert caught.value.reason == "busy"


@pytest.mark.live
@pytest.mark.slow
def test_a_file_that_is_no_model_is_told_by_a_typed_error(tmp_path: Path) -> None:
    """In a process of its own: an engine that failed may take its process along."""
    (tmp_path / "none.gguf").write_bytes(b"none")
    work = (
        "import pathlib; from sapwood.local import engine; from sapwood.local.errors import LocalServerFailed\n"
        f"engine.weights = lambda: pathlib.Path({str(tmp_path / 'none.gguf')!r})\n"
        "try: engine.Engine.start()\n"
        "except LocalServerFailed as error: print(error.why)\n"
    )

    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "does not start\n"
