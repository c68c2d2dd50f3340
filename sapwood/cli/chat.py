"""`sapwood chat`: a line in, an answer out."""

from __future__ import annotations

import click

from sapwood.cli.options import model_options


@click.command("chat")
@model_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line instead of answers as they come.")
def command(
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
    """Talk to a model: each line is said to it, and its answer printed as it comes.

    \b
    /compact [instructions]  sum up the past now
    /tree                    draw every entry of the session
    /move ID                 go on from another entry; the beginning of its id is enough
    /usage                   how full the window is, and what was billed
    /quit                    end; so does the end of the input

    A line that begins with // is said with one slash. Ctrl-C stops an answer, and ends the talk where none is on. Lines may come from a
    pipe. Else it is as `sapwood run`, whose help tells of keys and of what goes to the standard error.

    \b
    Exit code: 0 ended, 1 the last answer failed or was stopped, 2 what cannot be done as it was asked, 4 a file that is no session.

    \b
    Example:
      sapwood chat --model local
      sapwood chat --model openai/gpt-4.1 --key-env OPENAI_API_KEY --session trees.jsonl
      printf 'Which tree?\\n/usage\\n' | sapwood chat --model here/llama3 --base-url http://127.0.0.1:8080/v1

    \b
    The JSON: {"answer", "failed", …} a line for each answer, as `sapwood run` has it; {"tree"} as `sapwood tree` has it;
    {"usage": {"tokens", "window", "percent", "spent"}}; {"compacted": {"entryId", "tokensAfter"}}; {"moved": {"leaf", "text"}}.
    """
    from sapwood.cli.chatting import Chat
    from sapwood.cli.talking import Talk, Wanted, talk

    async def work(one: Talk) -> int:
        return await Chat(one, as_json=as_json).until_the_end()

    wanted = Wanted(
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
    )
    return talk(wanted, work)
