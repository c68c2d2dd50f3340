"""What `run` and `chat` are told alike."""

from __future__ import annotations

import click
from click.testing import CliRunner

from sapwood.cli.chat import command as chat_command
from sapwood.cli.main import sapwood
from sapwood.cli.run import command as run_command


def test_both_commands_have_the_same_options_in_the_same_order() -> None:
    run, chat = (
        [option.opts[0] for option in command.params if isinstance(option, click.Option)]
        for command in (run_command, chat_command)
    )

    assert (
        run
        == chat
        == [
            "--model",
            "--session",
            "--keep",
            "--tools",
            "--extension",
            "--base-url",
            "--record",
            "--key-env",
            "--window",
            "--json",
        ]
    )


def test_a_model_must_be_named() -> None:
    result = CliRunner().invoke(sapwood, ["run", "Which tree?"])

    assert result.exit_code == 2
    assert "Missing option '--model'" in result.output
