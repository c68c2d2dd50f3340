"""The command line. Commands load what they need when they run: `sapwood --help` imports neither trio nor rich.

1. Exit codes: 0 done; 1 a difference was found, or an answer failed; 2 what was asked for cannot be done as it was asked; 3 the file is
   damaged, and readable; 4 it is no session.
2. Whatever becomes of the standard streams, there is no traceback: a reader that went away ends it quietly, an output that is closed or
   full is told, a standard error that is closed is done without.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress
from difflib import get_close_matches
from io import StringIO, TextIOWrapper
from typing import Final, TextIO

import click

COMMANDS: Final = {
    "chat": "sapwood.cli.chat",
    "check": "sapwood.cli.check",
    "fork": "sapwood.cli.fork",
    "ls": "sapwood.cli.ls",
    "follow": "sapwood.cli.follow",
    "record": "sapwood.cli.record",
    "replay": "sapwood.cli.replay",
    "run": "sapwood.cli.run",
    "serve-local": "sapwood.cli.serve_local",
    "show": "sapwood.cli.show",
    "stats": "sapwood.cli.stats",
    "tree": "sapwood.cli.tree",
}
"""Each command and the module whose `command` it is."""
INTERRUPTED: Final = 130
"""As shells say it of a process that was interrupted at the keyboard."""


class _Commands(click.Group):
    """Imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        found = importlib.import_module(COMMANDS[cmd_name]).command
        return found if isinstance(found, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(args[0][:20], COMMANDS, n=1)
            ctx.fail(f"No such command {args[0][:40]!r}" + (f": did you mean {near[0]!r}?" if near else "."))
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="sapwood", message="%(prog)s %(version)s")
def sapwood() -> None:
    """Agent sessions on the command line: talk to models, replay scenarios, list, fork and look into session files."""


def main() -> None:
    """The `sapwood` command. Ends the process with its exit code; a reader that went away (`| head`) ends it quietly."""
    out: TextIO | None = sys.stdout  # None if the descriptor was closed when the process began, whatever its type says
    err: TextIO | None = sys.stderr
    if err is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - it stands for the stream until the end
    if out is None:
        from sapwood.cli.trouble import CANNOT, complain

        complain("the standard output is closed: send it to a file, or to /dev/null")
        sys.exit(CANNOT)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # what cannot be shown does not stop the rest
    code = 0
    try:
        code = _run()
    except BrokenPipeError:
        pass  # what is left to be written is `_flush`'s
    except OSError as error:  # the help's: a command tells its troubles itself
        code = _told(error)
    sys.exit(_flush() or code)


def _run() -> int:
    """What the arguments ask for; its exit code."""
    try:
        code = sapwood.main(prog_name="sapwood", standalone_mode=False)
    except click.ClickException as error:
        from sapwood.words.wording import visible

        said = StringIO()
        error.show(said)
        with suppress(OSError):
            click.echo(visible(said.getvalue()), err=True, nl=False)  # click itself says an argument as it came
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _flush() -> int:
    """Write out what is left. What nobody reads any more goes nowhere, and Python's own flush at exit finds nothing to fail at.

    Gives the exit code of an output that takes nothing, else 0.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        from sapwood.cli.printing import write_nowhere

        write_nowhere()
    except OSError as error:
        return _told(error)
    return 0


def _told(error: OSError) -> int:
    """Say that the standard output takes nothing; the exit code of that."""
    from sapwood.cli.printing import unwritable, write_nowhere

    write_nowhere()
    trouble = unwritable(error)
    trouble.show()
    return trouble.exit_code
