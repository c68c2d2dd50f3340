"""`sapwood run`: one prompt to a model, and its answer as it comes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from sapwood.cli.options import model_options

if TYPE_CHECKING:
    from sapwood.cli.talking import Talk


@click.command("run")
@click.argument("prompt")
@model_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document at the end instead of the answer as it comes.")
def command(
    prompt: str,
    *,
    model: str,
    session: str | None,
    keep: bool,
    tools: str | None,
    extensions: tuple[str, ...],
    base_url: str | None,
    record: str | None,
    key_env: str | None,
    window: int | None,
    as_json: bool,
) -> int:
    """Say PROMPT to a model, and print what it answers as it comes. `-` takes the prompt from the standard input.

    The answer goes to the standard output, and what happens beside it (tools, further attempts, compactions) to the standard error, a line
    each. Ctrl-C stops the answer, and a session keeps what there is of it; so does a reader that goes away. What a failed attempt said
    before the next one began stays on the output.

    `--model local` asks a small real model on this machine, which wants no key: see `sapwood serve-local --help`.

    A key comes from the environment variable that --key-env names; the tools do not inherit it. The session, in Pi's format, can be shown
    with `sapwood show` and `sapwood tree`.

    \b
    Exit code: 0 answered, 1 the answer failed or was stopped, 2 what cannot be done as it was asked, 4 a file that is no session.

    \b
    Example:
      sapwood run "Which tree?" --model local
      sapwood run "Which tree?" --model openai/gpt-4.1 --key-env OPENAI_API_KEY
      sapwood run "Which tree?" --model here/llama3 --base-url http://127.0.0.1:8080/v1 --session trees.jsonl

    \b
    The JSON: {"answer", "failed", "aborted", "stopReason", "error", "turns", "entryId", "session", "model",
    "usage": {"calls", "input", "output", "cacheRead", "cacheWrite", "total", "cost", "unpriced"}};
    the usage is of the whole session, and its cost null where nobody knows it.
    """
    from sapwood.cli.outcome import outcome_json, unanswered
    from sapwood.cli.printing import Printer
    from sapwood.cli.talking import Wanted, talk

    said = sys.stdin.read() if prompt == "-" else prompt

    async def work(one: Talk) -> int:
        outcome = await one.prompt(said)
        if as_json:
            Printer().json(outcome_json(outcome, one.session))
        if one.speaker.trouble is not None:
            raise one.speaker.trouble
        why = unanswered(outcome)
        if why is not None and not one.speaker.gone:
            one.speaker.news(why)
        return int(outcome.failed)

    return talk(
        Wanted(
            model=model,
            session=session,
            keep=keep,
            tools=tools,
            extensions=extensions,
            base_url=base_url,
            record=record,
            key_env=key_env,
            window=window,
            as_json=as_json,
        ),
        work,
    )
