"""The local model's server as a child process: up when it is handed out, and gone when it is given back.

1. It ends with whoever started it, however that ends: it holds the other end of a pipe, and ends when that is closed.
2. It is in a session of its own: Ctrl-C at the terminal stops an answer, and not the server below it.
3. It is up within a limit, or gone and `LocalServerFailed` says why.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from subprocess import PIPE
from typing import IO, Final, Literal, cast

import attrs
import msgspec
import trio

from sapwood.actors.model.http import HttpProvider
from sapwood.actors.model.vendors import AnthropicProvider, OpenAIChat, OpenAIResponses
from sapwood.events.errors import Refused, shown
from sapwood.events.models import Model, Price
from sapwood.local.engine import LEAST_WINDOW, MODEL_ID, WINDOW
from sapwood.local.errors import LocalServerFailed
from sapwood.local.weights import weights

PROVIDER_ID: Final = "local"
MAX_OUTPUT: Final = 512
"""Tokens of an answer: some ten seconds, and what so small a model says after that is seldom worth them."""
FREE: Final = Price(input=0, output=0, cache_read=0, cache_write=0)
START_LIMIT: Final = 60.0
"""Seconds: it takes one, and ten on a machine that is very busy."""
STOP_LIMIT: Final = 5.0
"""Seconds that a killed process may take to be gone, where the system is stuck."""
LONGEST_FIRST_LINE: Final = 4_096
LOG_TAIL: Final = 600
"""Bytes of a log that say why."""

LocalWire = Literal["openai-completions", "openai-responses", "anthropic-messages"]


@attrs.frozen
class LocalServer:
    """A model's server that is up."""

    url: str
    """Without a path, such as `http://127.0.0.1:43211`."""
    model: Model
    pid: int

    def provider(self, wire: LocalWire = "openai-completions") -> HttpProvider:
        """A way to it, for `open_session(providers=[…])`, which closes it; it wants no key."""
        match wire:
            case "openai-completions":
                return OpenAIChat(key=None, base_url=f"{self.url}/v1", provider_id=PROVIDER_ID)
            case "openai-responses":
                return OpenAIResponses(key=None, base_url=f"{self.url}/v1", provider_id=PROVIDER_ID)
            case "anthropic-messages":
                return AnthropicProvider(key=None, base_url=self.url, provider_id=PROVIDER_ID)


def local_model(window: int = WINDOW) -> Model:
    """What the local model is. `window`: the tokens that its server is told to hold."""
    return Model(
        provider=PROVIDER_ID,
        id=MODEL_ID,
        context_window=window,
        max_output=MAX_OUTPUT,
        price=FREE,
    )


@asynccontextmanager
async def local_server(*, window: int = WINDOW, start_limit: float = START_LIMIT) -> AsyncGenerator[LocalServer]:
    """A server of the local model, in a child process, for as long as the block lasts.

    Several sessions may share it; it answers one request at a time, and the others wait.

    Args:
        window: tokens of prompt and answer, from 256 to 8,192; a smaller one wants less memory (of 8,192 it is some 400 MB).
        start_limit: seconds that it may take to be up.

    Raises:
        Refused: a window that it does not hold.
        LocalModelMissing: the extra `local` is not installed; the error says how to do that.
        LocalServerFailed: it ended, or was not up within the limit; how its log ended is in the error.
    """
    if type(window) is not int or not LEAST_WINDOW <= window <= WINDOW:
        raise Refused("bad-input", f"the local model holds {LEAST_WINDOW} to {WINDOW} tokens, not {shown(window)}")
    weights()
    options = ("--port", "0", "--window", str(window), "--json", "--until-input-ends")
    # -P: what lies in the folder that it is started in is no part of the program
    command = (sys.executable, "-P", "-m", "sapwood", "serve-local", *options)
    async with child(command, start_limit=start_limit) as process:
        yield LocalServer(process.url, local_model(window), process.pid)


class Up(msgspec.Struct, frozen=True):
    """What a child says when it is up."""

    url: str
    pid: int


@asynccontextmanager
async def child(command: Sequence[str], *, start_limit: float) -> AsyncGenerator[Up]:
    """A process that says on its first line where it listens, killed at the end: it has nothing to lose."""
    with tempfile.TemporaryFile() as log:
        process = await trio.lowlevel.open_process(command, stdin=PIPE, stdout=PIPE, stderr=log, start_new_session=True)
        # both are there, for they are pipes
        held, output = cast("trio.abc.SendStream", process.stdin), cast("trio.abc.ReceiveStream", process.stdout)
        try:
            yield await _up(process, output, log, start_limit)
        finally:
            process.kill()
            with trio.move_on_after(STOP_LIMIT, shield=True):
                await process.wait()
            await trio.aclose_forcefully(held)
            await trio.aclose_forcefully(output)


async def _up(process: trio.Process, output: trio.abc.ReceiveStream, log: IO[bytes], start_limit: float) -> Up:
    said = b""
    with trio.move_on_after(start_limit):
        while b"\n" not in said and len(said) < LONGEST_FIRST_LINE:
            piece = await output.receive_some()
            if not piece:
                code = await process.wait()
                raise LocalServerFailed(f"ended before it was up (exit code {code})", _tail(log))
            said += piece
        try:
            return msgspec.json.decode(said.partition(b"\n")[0], type=Up)
        except msgspec.DecodeError as error:
            raise LocalServerFailed("did not say where it listens", f"{said[:80]!r}") from error
    raise LocalServerFailed(f"was not up within {start_limit:g} s", _tail(log))


def _tail(log: IO[bytes]) -> str:
    """How the log ends, on one line."""
    size = log.seek(0, 2)
    log.seek(max(0, size - LOG_TAIL))
    return " ".join(log.read().decode("utf-8", "replace").split())
