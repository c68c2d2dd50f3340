"""What `import sapwood` costs an embedding host: CPU and memory, and what it does not bring along."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.harness import Ratio, limit

CPU_SECONDS = 0.25
MEGABYTES = 40.0

PROBE = """
import resource, time
import sapwood
usage = resource.getrusage(resource.RUSAGE_SELF)
print(time.process_time(), usage.ru_maxrss / 1024)
"""


def run() -> Iterator[Ratio]:
    """The best of seven fresh processes."""
    seen = [
        tuple(
            map(
                float,
                subprocess.run(
                    [sys.executable, "-c", PROBE], check=True, capture_output=True, text=True
                ).stdout.split(),
            )
        )
        for _ in range(7)
    ]
    yield limit("import sapwood, seconds of CPU of the whole process", min(cpu for cpu, _ in seen), CPU_SECONDS)
    yield limit("import sapwood, megabytes of the whole process", min(memory for _, memory in seen), MEGABYTES)
