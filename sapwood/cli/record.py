"""`sapwood record`: play a scenario, and record what its sessions do."""

from __future__ import annotations

import click

from sapwood.cli.trouble import CANNOT, DIFFERENT, Trouble, complain


@click.command("record")
@click.argument("story", metavar="FILE", type=click.Path())
@click.argument("recording", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Say what was recorded in one JSON document.")
@click.pass_context
def command(ctx: click.Context, story: str, recording: str, *, as_json: bool) -> None:
    """Play the scenario FILE, and record its session in the new file RECORDING.

    A live session is recorded by `sapwood run --record` and `sapwood chat --record`, or by `open_session(record=…)` of a program.
    `sapwood replay RECORDING` does it again, and tells the first event or entry that is another one. A story that kills its process or
    opens its session again has several sessions: the second is recorded in RECORDING.2, and so on.

    \b
    Exit code: 0 recorded, 1 recorded, and not as the scenario expects, 2 a scenario or a file that cannot be had.

    \b
    Example:
      sapwood record scenarios/first_talk.yaml first_talk.recording

    \b
    The JSON: {"scenario", "recording", "ok": whether it went as the scenario expects}.
    """
    from functools import partial

    from sapwood.cli.printing import Printer
    from sapwood.scenario import ScenarioError, load, run
    from sapwood.scenario.running import in_virtual_time

    try:
        scenario = load(story)
        played = in_virtual_time(partial(run, scenario, record=recording))
    except ScenarioError as error:
        for one in (error, *error.others):
            complain(str(one))
        ctx.exit(CANNOT)
    if played.broken is not None and not played.steps:
        raise Trouble(played.broken)
    if as_json:
        Printer().json({"scenario": story, "recording": recording, "ok": not played.differences})
    ctx.exit(DIFFERENT if played.differences else 0)
