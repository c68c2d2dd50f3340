"""What `run` and `chat` are told alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import click

from sapwood.events.messages import TOO_MUCH

F = TypeVar("F", bound=Callable[..., object])

OPTIONS: Final = (
    click.option(
        "--model",
        required=True,
        metavar="PROVIDER/ID",
        help="Who is asked: openai/gpt-4.1, anthropic/claude-sonnet-4-5 … or `local`, a small one on this machine.",
    ),
    click.option(
        "--session",
        type=click.Path(),
        metavar="SESSION",
        help="Go on with this session, a file or an id, or begin the file. Without it nothing is kept.",
    ),
    click.option("--keep", is_flag=True, help="Begin a session where `sapwood ls` finds it."),
    click.option(
        "--tools",
        type=click.Choice(["builtin"]),
        help="Let the model read, write and edit files and run commands here, with your rights.",
    ),
    click.option(
        "--extension",
        "extensions",
        type=click.Path(),
        multiple=True,
        metavar="FILE",
        help="A Python file with an extension, which is run with your rights. May be given more than once.",
    ),
    click.option(
        "--base-url", metavar="URL", help="A server of your own that speaks OpenAI's Chat Completions, up to /v1."
    ),
    click.option(
        "--record", type=click.Path(), metavar="FILE", help="Record all of it in a new file, for `sapwood replay`."
    ),
    click.option("--key-env", metavar="NAME", help="The environment variable that holds the key; no other is read."),
    click.option(
        "--window",
        type=click.IntRange(1, TOO_MUCH - 1),
        metavar="N",
        help="The model's context window, in tokens; else the catalogue's.",
    ),
)


def model_options(command: F) -> F:
    """A command with these options, in this order."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
