"""What `run` and `chat` are told alike."""

from __future__ import annotations

import click
from click.testing import CliRunner

from sapwood.cli.main import sapwood
from sapwood.cli.run import command as run_command


def test_the_options_stand_in_the_order_of_their_importance() -> None:
    options = [option.opts[0] for option in run_command.params if isinstance(option, click.Option)]

    assert options == ["--model", "--session", "--tools", "--base-url", "--key-env", "--window", "--json"]


def test_a_model_must_be_named() -> None:
    result = CliRunner().invoke(sapwood, ["run", "Which tree?"])

    assert result.exit_code == 2
    assert "Missing option '--model'" in result.output
