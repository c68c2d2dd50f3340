"""What `import sapwood` costs an embedding host: CPU and memory, and what it does not bring along."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

from benchmarks.harness import Ratio, compare, limit

CPU_SECONDS = 0.25
MEGABYTES = 40.0

PROBE = """
import resource, time
import sapwood
usage = resource.getrusage(resource.RUSAGE_SELF)
print(time.process_time(), usage.ru_maxrss / 1024)
"""
EVERYTHING = "import sapwood\nfor name in sapwood.__all__: getattr(sapwood, name)"
BELOW = "import trio, msgspec, attrs"


def started(code: str) -> Callable[[], object]:
    """A fresh process that runs `code`."""
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def run() -> Iterator[Ratio]:
    """The best of seven fresh processes; and all of the front door, over the libraries that it stands on."""
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
    yield compare(
        "every name of sapwood, over trio + msgspec + attrs alone", started(EVERYTHING), started(BELOW), bound=2.0
    )
