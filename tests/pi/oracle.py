"""Questions to the real Pi, answered by one Node process that lives as long as the `with` block.

    with Oracle() as pi:
        seen = pi.ask({"op": "open", "path": str(path)})

1. The questions and answers are those at the top of `oracle.mjs`, or of the other script that is given.
2. What Pi refuses is `OracleRefused`, with Pi's own text; the next question is answered as if nothing had been.
3. An answer that does not come within `patience` seconds, or a process that ended, is `OracleDied`, with its last words.
4. Without npm, Node or a registry, entering raises `PiUnavailable`.
"""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self, cast

from tests.pi.install import pi_root, system_node

SCRIPT: Final = Path(__file__).with_name("oracle.mjs")
LAST_WORDS: Final = 2_000  # bytes of stderr worth showing: a stack trace fits

Answer = dict[str, object]


class OracleRefused(Exception):
    """Pi answered this question with an error. Its text is Pi's."""

    def __init__(self, text: str, answer: Answer) -> None:
        super().__init__(text)
        self.text = text
        self.answer = answer


class OracleDied(Exception):
    """The process ended, or was ended because it did not answer in time."""


class Oracle:
    """One Node process with Pi's session manager in it, or whatever `script` loads. Not for several threads at once."""

    def __init__(self, *, patience: float = 30.0, node: Path | None = None, script: Path | None = None) -> None:
        self._patience = patience
        self._node = node
        self._script = script
        self._process: subprocess.Popen[str] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._stderr: IO[bytes] | None = None

    def __enter__(self) -> Self:
        root = pi_root()
        node = self._node or system_node()
        self._scratch = tempfile.TemporaryDirectory(prefix="pi-oracle-")
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [str(node), str(self._script or SCRIPT)],
            # TMPDIR: what the script copies goes away with us, even when it is killed. Nothing of the user's own Pi is read.
            env={
                **os.environ,
                "PI_ROOT": str(root),
                "PI_CODING_AGENT_DIR": self._scratch.name,
                "TMPDIR": self._scratch.name,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            encoding="utf-8",
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            try:
                self._process.communicate(timeout=5)  # closes its stdin, at which it ends by itself
            except (subprocess.TimeoutExpired, BrokenPipeError):
                self._process.kill()
                self._process.communicate()
        if self._stderr is not None:
            self._stderr.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    def ask(self, question: Mapping[str, object]) -> Answer:
        """Pi's answer. Raises `OracleRefused` for an error, `OracleDied` when there is no answer."""
        answer = self.ask_raw(question)
        error = answer.get("error")
        if isinstance(error, str):
            raise OracleRefused(error, answer)
        return answer

    def ask_many(self, questions: Iterable[Mapping[str, object]]) -> list[Answer]:
        """The answers in the order of the questions; an error is an answer, `{"error": text}`."""
        return [self.ask_raw(question) for question in questions]

    def ask_raw(self, question: Mapping[str, object]) -> Answer:
        """As `ask`, but an error is an answer."""
        process = self._process
        assert process is not None, "ask inside the with block"
        assert process.stdin is not None
        assert process.stdout is not None
        alarm = threading.Timer(self._patience, process.kill)
        alarm.start()
        try:
            process.stdin.write(json.dumps(question) + "\n")  # ASCII: half a surrogate pair gets through as well
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            alarm.cancel()
            alarm.join()
        if not line.endswith("\n"):
            raise OracleDied(f"no answer to {question.get('op')!r} within {self._patience} s: {self._last_words()}")
        return cast("Answer", json.loads(line))

    def _last_words(self) -> str:
        assert self._stderr is not None
        self._stderr.seek(0)
        return self._stderr.read()[-LAST_WORDS:].decode("utf-8", "replace").strip() or "it said nothing"
