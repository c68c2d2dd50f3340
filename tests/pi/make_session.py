"""Writes `tests/data/pi-ringing-v3.jsonl`: a long session by Pi's whole AgentSession. The story is in `ringing_story.mjs`.

Run it with `python -m tests.pi.make_session`, and `python -m tests.pi.make_expected` after it. The same story and the same Pi
write the same bytes.
"""

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.pi.install import node22, pi_root

HERE: Final = Path(__file__).resolve().parent
TARGET: Final = HERE.parent / "data" / "pi-ringing-v3.jsonl"


def main() -> None:
    command = [str(node22()), str(HERE / "make_session.mjs"), str(TARGET)]
    subprocess.run(command, env={**os.environ, "PI_ROOT": str(pi_root())}, check=True, timeout=120)


if __name__ == "__main__":
    main()
