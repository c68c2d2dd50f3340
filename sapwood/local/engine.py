"""llama.cpp's server in this process: one model, on this machine alone.

1. Who asks without a limit gets `MOST_OUTPUT` tokens at most: so small a model may never stop by itself.
2. It samples nothing: the same prompt has the same answer.
3. It listens on 127.0.0.1, and answers no page of a browser.
"""

from __future__ import annotations

import socket
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

from sapwood.events.errors import Refused
from sapwood.local.errors import LocalServerFailed
from sapwood.local.weights import ENGINE, weights

HOST: Final = "127.0.0.1"
MODEL_ID: Final = "smollm2-135m"
WINDOW: Final = 8_192
"""Tokens that the model was trained to hold."""
LEAST_WINDOW: Final = 256
MOST_OUTPUT: Final = 1_024
THREADS: Final = 1
"""Two are a third faster on an idle machine, and ten times slower on a busy one: each waits for the other, spinning."""
REPETITION: Final = 1.1
"""What a token that was said lately is made less likely by: without it some answers go round in circles until they are cut."""
KEPT_MIB: Final = 256
"""Of prompts that were read, so that going back to one is quick: some 10,000 tokens. llama.cpp would take 8 GB."""
ERRORS_ALONE: Final = 1
WHAT_HAPPENS: Final = 3
"""How much the log tells: at this each request, its tokens and its time, and each that its client left."""


class Engine:
    """A server that is up. It ends with the process."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url: str = server.listening_address

    @classmethod
    def start(cls, *, port: int = 0, window: int = WINDOW, verbose: bool = False) -> Engine:
        """Read the model and listen; blocks for as long as that takes. It logs to the standard error.

        Raises:
            LocalModelMissing: the extra is not installed.
            Refused: the port is somebody else's.
            LocalServerFailed: the engine says no; why is in its log.

        Args:
            port: any free one if 0.
            window: tokens of prompt and answer, from `LEAST_WINDOW` to `WINDOW`.
            verbose: whether it logs what happens, and not errors alone.
        """
        model = weights()
        _look_whether_free(port)
        engine = import_module(ENGINE)
        asked = engine.CommonParams()
        asked.model.path = str(model)
        asked.model_alias = {MODEL_ID}
        asked.chat_template = (files("sapwood.local") / "chat.jinja").read_text(encoding="utf-8")
        asked.use_jinja = True
        asked.offline = True
        asked.hostnames, asked.port = [HOST], port
        asked.cors_origins = ""
        asked.ui = asked.endpoint_slots = False
        asked.n_ctx, asked.n_parallel, asked.n_predict = window, 1, MOST_OUTPUT
        asked.cache_ram_mib = KEPT_MIB
        asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = THREADS
        asked.sampling.temp, asked.sampling.seed, asked.sampling.penalty_repeat = 0.0, 1, REPETITION
        asked.verbosity = WHAT_HAPPENS if verbose else ERRORS_ALONE
        try:
            return cls(engine.Server(asked))
        except RuntimeError as error:
            raise LocalServerFailed("does not start", str(error)) from error


def _look_whether_free(port: int) -> None:
    """The engine says no more than that it failed."""
    with socket.socket() as probe:
        # as the engine: what was closed a moment ago is free
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise Refused(
                "busy", f"port {port} cannot be had ({error.strerror}): name another one, or 0 for any"
            ) from error
