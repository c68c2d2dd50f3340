"""`sapwood replay`: play scenarios, show their timelines, and tell by the exit code whether all went as expected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapwood.cli.trouble import CANNOT, DIFFERENT, complain

if TYPE_CHECKING:
    from sapwood.scenario import Played, ScenarioError


@click.command("replay")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a timeline.")
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], *, as_json: bool) -> None:
    """Play scenarios in virtual time, without a network.

    FILE is a scenario (YAML), or a folder of them. Each step is shown with the events that it brought and their virtual second; what is
    not as the scenario expects is shown with the line that expects it, and so is a call that its script has no answer left for. A session
    that a scenario names is played on a copy. docs/scenarios.md of the project has all that a scenario may say.

    \b
    Exit code: 0 as expected, 1 a difference, 2 a scenario that cannot be played; the worst one counts.

    \b
    Example:
      sapwood replay scenarios/first_talk.yaml
      sapwood replay scenarios --json

    \b
    The JSON: {"scenarios": [{"path", "title", "ok", "steps", "differences", "unused"}], "errors": ["file:line: message"]};
    a step is {"step", "at", "outcome", "why", "events": [{"n", "at", "event"}]}, seconds from the start;
    a difference is {"path", "line", "what", "kind", "expected", "seen"}; unused answers are {"purpose", "line", "count"}.
    """
    from sapwood.cli.printing import Printer
    from sapwood.scenario import ScenarioError
    from sapwood.scenario.timeline import timeline, to_json
    from sapwood.words.wording import line

    printer, code, unplayed = Printer(), 0, 0
    played: list[Played] = []
    errors: list[ScenarioError] = []
    for one in _play_all(paths):
        if isinstance(one, ScenarioError):
            code, unplayed = max(code, CANNOT), unplayed + 1
            for error in (one, *one.others):
                errors.append(error)
                complain(str(error))
            continue
        played.append(one)
        code = max(code, DIFFERENT if one.differences else 0)
        if not as_json:
            printer.lines([*timeline(one), line()])
    if as_json:
        printer.json({"scenarios": [to_json(one) for one in played], "errors": [str(error) for error in errors]})
    elif len(played) + unplayed > 1:
        bad = sum(bool(one.differences) for one in played)
        printer.text(f"{len(played) - bad} as expected, {bad} different, {unplayed} not played")
    ctx.exit(code)


def _play_all(paths: Iterable[str]) -> Iterator[Played | ScenarioError]:
    """What came of each scenario, one after the other."""
    from sapwood.scenario import ScenarioError
    from sapwood.scenario.loading import find

    for path in paths:
        try:
            found = find(path)
        except ScenarioError as error:
            yield error
            continue
        for scenario in found:
            yield _played(scenario)


def _played(scenario: Path) -> Played | ScenarioError:
    from sapwood.scenario import ScenarioError, play

    try:
        return play(scenario)
    except ScenarioError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a fault of ours in one scenario does not keep the others from being played
        fault = f"cannot be played, by a fault of sapwood's own: please report it ({type(error).__name__}: {error})"
        return ScenarioError(str(scenario), None, fault)
