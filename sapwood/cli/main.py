"""The command line. Commands load what they need when they run: `sapwood --help` imports neither trio nor rich.

Exit codes: 0 done; 1 a difference was found; 2 what was asked for cannot be done as it was asked; 4 the file is no session.
"""

from __future__ import annotations

import importlib
import sys
from io import TextIOWrapper
from typing import BinaryIO, Final, cast

import click

COMMANDS: Final = {"replay": "sapwood.cli.replay", "show": "sapwood.cli.show", "tree": "sapwood.cli.tree"}
"""Each command and the module whose `command` it is."""


class _Commands(click.Group):
    """Imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        found = importlib.import_module(COMMANDS[cmd_name]).command
        return found if isinstance(found, click.Command) else None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="sapwood", message="%(prog)s %(version)s")
def sapwood() -> None:
    """Agent sessions on the command line: replay scenarios, look into session files."""


def main() -> None:
    """The `sapwood` command. Ends the process with its exit code; a reader that went away (`| head`) ends it quietly."""
    for stream in (sys.stdout, sys.stderr):
        cast("TextIOWrapper[BinaryIO]", stream).reconfigure(
            errors="replace"
        )  # what cannot be shown does not stop the rest
    try:
        sapwood.main(prog_name="sapwood")
    finally:
        _flush()


def _flush() -> None:
    """Write out what is left. What nobody reads any more goes nowhere, and Python's own flush at exit finds nothing to fail at."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        from sapwood.cli.printing import write_nowhere  # noqa: PLC0415 - commands load what they need when they run

        write_nowhere()
