"""`sapwood replay`: play scenarios, show their timelines, and tell by the exit code whether all went as expected."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import click

from sapwood.cli.trouble import CANNOT, DIFFERENT, Trouble, complain, fault_of_ours

if TYPE_CHECKING:
    from sapwood.cli.cases import Case
    from sapwood.recording.replaying import Replayed
    from sapwood.scenario import Played, ScenarioError
    from sapwood.scenario.language import StoreWord

MOST_UPDATES: Final = 3
"""What was accepted may show what else is different: once as a rule, and not for ever."""


@attrs.frozen(kw_only=True)
class _Asked:
    """What was typed."""

    paths: tuple[str, ...]
    stores: Sequence[StoreWord | None]
    seeds: int
    crash: bool
    update: bool
    junit: str | None
    jobs: int | None
    as_json: bool


def _schema(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print it, and play nothing."""
    if not asked or ctx.resilient_parsing:
        return
    from sapwood.cli.printing import Printer
    from sapwood.scenario.schema import schema

    Printer().json(schema())
    ctx.exit()


@click.command("replay")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option(
    "--store",
    "stores",
    multiple=True,
    type=click.Choice(["memory", "jsonl"]),
    help="Keep each session in memory or in a file, whatever the story says; twice for both.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Play under N seeded orders of what the actors do.",
)
@click.option("--crash", is_flag=True, help="Crash each actor at each message, and drop the memory behind each entry.")
@click.option("--update", is_flag=True, help="Write what was seen into the file, where something else was expected.")
@click.option("--junit", type=click.Path(), metavar="FILE", help="Write a report in JUnit's XML, too.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Processes for --seeds and --crash; else one a processor."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a timeline.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_schema,
    help="Print the JSON Schema of scenario files, for editors, and play nothing.",
)
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    stores: tuple[StoreWord, ...],
    seeds: int,
    crash: bool,
    update: bool,
    junit: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Play scenarios in virtual time, without a network.

    FILE is a scenario (YAML), a folder of them, or a recording of a session, which is done again and must be the same byte for byte. Each
    step is shown with the events that it brought and their virtual second; what is
    not as the scenario expects is shown with the line that expects it, and so is a call that its script has no answer left for. A session
    that a scenario names is played on a copy. docs/scenarios.md of the project has all that a scenario may say.

    With --seeds or --crash a story is a line: it must end in the same log under every order, and in one that the next prompt takes up
    wherever something breaks.

    \b
    Exit code: 0 as expected, 1 a difference, 2 a scenario that cannot be played; the worst one counts.

    \b
    Example:
      sapwood replay scenarios/first_talk.yaml
      sapwood replay scenarios --seeds 50 --store memory --store jsonl
      sapwood replay scenarios --json
      sapwood replay --schema > scenario.schema.json

    \b
    The JSON: {"scenarios": [{"path", "title", "ok", "steps", "differences", "unused"}], "recordings", "errors": ["file:line: message"]};
    a recording is {"path", "ok", "cut", "events", "entries", "difference": {"line", "what", "recorded", "seen"}};
    a step is {"step", "at", "outcome", "why", "events": [{"n", "at", "event"}]}, seconds from the start;
    a difference is {"path", "line", "what", "kind", "expected", "seen"}; unused answers are {"purpose", "line", "count"}.
    With --seeds or --crash: {"sweeps": [{"path", "store", "ok", "orders", "crashes", "same", "deaths", "faults": [{"under", "what"}]}],
    "errors"}.
    """
    asked = _Asked(
        paths=paths,
        stores=stores or (None,),
        seeds=seeds,
        crash=crash,
        update=update,
        junit=junit,
        jobs=jobs,
        as_json=as_json,
    )
    if update and (seeds or crash or len(stores) > 1):
        raise Trouble(
            "--update takes one playing for what is right: leave out --seeds and --crash, and name one --store"
        )
    code, cases = _sweep(asked) if seeds or crash else _replay(asked)
    if junit is not None:
        from sapwood.cli.cases import write_junit

        try:
            write_junit(Path(junit), cases)
        except OSError as error:
            raise Trouble(f"the report cannot be written: {error.strerror or error}") from error
    ctx.exit(code)


def _replay(asked: _Asked) -> tuple[int, list[Case]]:
    """Each story once, with its timeline."""
    from sapwood.cli import recordings
    from sapwood.cli.cases import Case
    from sapwood.cli.printing import Printer
    from sapwood.recording.replaying import Replayed
    from sapwood.scenario import ScenarioError
    from sapwood.scenario.timeline import findings, timeline, to_json
    from sapwood.words.wording import line, named, plain

    printer, code, unplayed = Printer(), 0, 0
    played: list[Played] = []
    replayed: list[Replayed] = []
    errors: list[ScenarioError] = []
    cases: list[Case] = []
    began = time.monotonic()
    for path, one in _play_all(asked):
        seconds, began = time.monotonic() - began, time.monotonic()
        if isinstance(one, ScenarioError):
            code, unplayed = max(code, CANNOT), unplayed + 1
            for error in (one, *one.others):
                errors.append(error)
                complain(str(error))
            cases.append(Case(name=named(path), seconds=seconds, error=str(one)))
            continue
        if isinstance(one, Replayed):
            replayed.append(one)
            told = tuple(map(plain, recordings.told(one)))
            cases.append(Case(name=named(path), seconds=seconds, failures=() if one.same else told))
            code = max(code, 0 if one.same else DIFFERENT)
            if not asked.as_json:
                printer.lines(recordings.told(one))
            continue
        played.append(one)
        code = max(code, DIFFERENT if one.differences else 0)
        told = tuple("\n".join(map(plain, findings([finding]))) for finding in one.differences)
        cases.append(Case(name=named(path), seconds=seconds, failures=told))
        if not asked.as_json:
            printer.lines([*timeline(one), line()])
    if asked.as_json:
        printer.json(
            {
                "scenarios": [to_json(one) for one in played],
                "recordings": [recordings.to_json(one) for one in replayed],
                "errors": [str(error) for error in errors],
            }
        )
    elif len(played) + len(replayed) + unplayed > 1:
        bad = sum(bool(one.differences) for one in played) + sum(not one.same for one in replayed)
        printer.text(f"{len(played) + len(replayed) - bad} as expected, {bad} different, {unplayed} not played")
    return code, cases


def _play_all(asked: _Asked) -> Iterator[tuple[Path, Played | Replayed | ScenarioError]]:
    """What came of each scenario, one after the other."""
    from sapwood.cli.recordings import is_a_recording
    from sapwood.scenario import ScenarioError

    for found in _find(asked.paths):
        if isinstance(found, ScenarioError):
            yield Path(found.path), found
            continue
        if is_a_recording(str(found)):
            yield found, _replayed(found)
            continue
        for store in asked.stores:
            yield found, _updated(found, store) if asked.update else _played(found, store)


def _find(paths: Iterable[str]) -> Iterator[Path | ScenarioError]:
    from sapwood.scenario import ScenarioError
    from sapwood.scenario.loading import find

    for path in paths:
        try:
            yield from find(path)
        except ScenarioError as error:
            yield error


def _played(path: Path, store: StoreWord | None) -> Played | ScenarioError:
    from sapwood.cli.cases import on_store
    from sapwood.scenario import ScenarioError, load, play

    try:
        return play(on_store(load(path), store))
    except ScenarioError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a fault of ours in one scenario does not keep the others from being played
        return ScenarioError(str(path), None, fault_of_ours(error))


def _replayed(path: Path) -> Replayed | ScenarioError:
    from sapwood.recording.errors import BadRecording
    from sapwood.recording.replaying import replay_recording
    from sapwood.scenario import ScenarioError

    try:
        return replay_recording(path)
    except BadRecording as error:
        return ScenarioError(str(path), error.line, error.why)
    except Exception as error:  # noqa: BLE001 - as above
        return ScenarioError(str(path), None, fault_of_ours(error))


def _updated(path: Path, store: StoreWord | None) -> Played | ScenarioError:
    """Play it, and write what was seen into it, as long as that changes something."""
    from sapwood.scenario import ScenarioError
    from sapwood.scenario.accepting import accept
    from sapwood.scenario.loading import read_text
    from sapwood.scenario.text import parse

    for _ in range(MOST_UPDATES):
        played = _played(path, store)
        if isinstance(played, ScenarioError) or not played.differences:
            return played
        text = read_text(path)
        accepted = accept(text, parse(text), played.differences)
        if accepted == text:
            return played
        try:
            with path.open("w", encoding="utf-8", newline="") as file:
                file.write(accepted)
        except OSError as error:
            return ScenarioError(str(path), None, f"cannot be written: {(error.strerror or str(error)).lower()}")
    return _played(path, store)


def _sweep(asked: _Asked) -> tuple[int, list[Case]]:
    """Each story under many orders and strikes."""
    from sapwood.cli.printing import Printer
    from sapwood.cli.sweeps import Sweep, sweep_all, to_json, told
    from sapwood.scenario import ScenarioError

    printer, code, errors = Printer(), 0, list[str]()
    sweeps: list[Sweep] = []
    for found in _find(asked.paths):
        if isinstance(found, ScenarioError):
            code = CANNOT
            errors.append(str(found))
            complain(str(found))
            continue
        sweeps += [Sweep(path=str(found), store=store, seeds=asked.seeds, crash=asked.crash) for store in asked.stores]
    cases: list[Case] = []
    values: list[dict[str, object]] = []
    for done in sweep_all(sweeps, asked.jobs):
        cases.append(done.case())
        values.append(to_json(done))
        errors += done.error
        for error in done.error:
            complain(error)
        code = max(code, CANNOT if done.error else DIFFERENT if done.swept.faults else 0)
        if not asked.as_json:
            printer.lines(told(done))
    if asked.as_json:
        printer.json({"sweeps": values, "errors": errors})
    else:
        unplayed = sum(case.error is not None for case in cases)
        bad = sum(bool(case.failures) for case in cases)
        printer.text(f"{len(cases) - bad - unplayed} as expected, {bad} different, {unplayed} not played")
    return code, cases
