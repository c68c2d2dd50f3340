"""What `import sapwood` costs an embedding host: CPU and memory, and what it does not bring along."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.harness import ROUNDS, Ratio, command, compare, limit

CPU_SECONDS = 0.25
MEGABYTES = 40.0
EVERYTHING_MEGABYTES = 44.0
"""39.8 is measured: the goal is what an import costs, and whoever uses every name has asked for every room."""

COST = """
import pathlib, re, time
seconds = time.process_time()
print(seconds, int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024)
"""
# VmHWM and not ru_maxrss: that one starts from what the parent had when it started the process
EVERYTHING = "import sapwood\nfor name in sapwood.__all__: getattr(sapwood, name)"
BELOW = "import trio, msgspec, attrs"


def cost(code: str) -> tuple[float, float]:
    """CPU seconds and megabytes of a fresh process that runs `code`: the least of several."""
    words = [sys.executable, "-c", f"{code}\n{COST}"]
    seen = [
        [float(word) for word in subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()]
        for _ in range(ROUNDS)
    ]
    return min(seconds for seconds, _ in seen), min(megabytes for _, megabytes in seen)


def run() -> Iterator[Ratio]:
    """The whole process, beside one that imports nothing; and all of the front door, over the libraries it stands on."""
    bare, alone, whole = cost(""), cost("import sapwood"), cost(EVERYTHING)
    yield limit(f"import sapwood, CPU s (bare Python {bare[0]:.2f})", alone[0], CPU_SECONDS)
    yield limit(f"import sapwood, MB (bare Python {bare[1]:.1f})", alone[1], MEGABYTES)
    yield limit("every name of sapwood, MB", whole[1], EVERYTHING_MEGABYTES)
    yield compare(
        f"every name of sapwood ({whole[0]:.2f} s) / trio + msgspec + attrs",
        command(sys.executable, "-c", EVERYTHING),
        command(sys.executable, "-c", BELOW),
        bound=4.0,  # all wires, compaction and moves: a host that uses a part imports a part
        rounds=3,  # two processes each, half a second
    )
