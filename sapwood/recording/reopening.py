"""Opens the session of a recording: its log in memory, and nobody behind its providers, tools and handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NoReturn, get_args

import msgspec

from sapwood.actors.agent.desk import Chosen
from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.environment import Environment
from sapwood.actors.extensions.extension import Extension, Registered, event_of
from sapwood.actors.model.providers.base import Around, Provider, Request
from sapwood.actors.projection.section import Section
from sapwood.actors.projection.tokenizer import counter_source
from sapwood.actors.tools.tool import Tool
from sapwood.events.codec import decode_header
from sapwood.events.damage import Damage
from sapwood.events.hooks import AnyQuestion
from sapwood.events.runtime import Event, News
from sapwood.recording.errors import BadRecording
from sapwood.recording.line import Line
from sapwood.recording.opening import Opened, ToldExtension, ToldPrompt, ToldProvider, ToldTool, opened_in
from sapwood.recording.tape import Opening
from sapwood.runtime import open_wired
from sapwood.session import Session
from sapwood.store.memory import MemoryStore
from sapwood.wiring import Host

NOBODY: Final = "a recording has nobody here: what comes is on the tape"


HEARD: Final[Mapping[str, Any]] = {event_of(kind): kind for kind in (*get_args(AnyQuestion), *get_args(Event), News)}
"""What a handler may hear, by its name on the wire: no question has an event's."""


class KeptStore(MemoryStore):
    """What was in the log, under the name that it had."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(decode_header(msgspec.json.encode(opening.header)), [line.encode() for line in opening.lines])
        self._was_at = opening.where
        self._was_damaged = msgspec.convert(opening.damage, tuple[Damage, ...])
        self._was_read_only = opening.read_only

    @property
    def where(self) -> str:
        return self._was_at

    @property
    def damage(self) -> Sequence[Damage]:
        return self._was_damaged

    @property
    def read_only(self) -> bool:
        return self._was_read_only


class _NoProvider:
    """Has its name and its wire."""

    def __init__(self, name: str, told: ToldProvider) -> None:
        self.id = name
        self.api = told.api

    def stream(self, request: Request) -> NoReturn:  # noqa: ARG002 - the port's
        raise AssertionError(NOBODY)


class _NoWatched(_NoProvider):
    """Asks and tells extensions what the tape says."""

    def stream_around(self, request: Request, around: Around) -> NoReturn:  # noqa: ARG002 - the port's
        raise AssertionError(NOBODY)


def reopened(path: str, opening: Opening, line: Line) -> AbstractAsyncContextManager[Session]:
    """The session, with the tape for a world. `BadRecording` where its first line does not say what was opened."""
    try:
        opened = opened_in(opening.opened)
        store = KeptStore(opening)
        host = _host(opened)
    except Exception as error:  # whatever a value that does not fit makes them raise
        raise BadRecording(path, 1, f"its first line does not say what was opened: {error}") from error
    return open_wired(store, host, tap=None, line=line)


def _host(opened: Opened) -> Host:
    known = {told.name: _tool(told) for told in opened.tools or ()}
    providers: dict[str, Provider] = {
        name: (_NoWatched if told.watched else _NoProvider)(name, told) for name, told in opened.providers.items()
    }
    counter = counter_source(opened.counter)
    if opened.counter_ready:
        counter.counter()
    environment = Environment.scripted()
    return Host(
        providers=providers,
        environment=environment,
        outside=environment,
        counter=counter,
        chosen=Chosen(model=opened.model, known=known, active=None if opened.tools is None else tuple(known)),
        system_prompt=None if opened.prompt is None else _prompt(opened.prompt),
        durability=opened.durability,
        settings=opened.settings,
        ask=_nobody,
        registered=Registered(map(_extension, opened.extensions)),
        redactor=_no_redactor if opened.redacts else None,
        tracer=None,
        folder="/",
    )


async def _nobody(*_: object) -> NoReturn:
    raise AssertionError(NOBODY)


def _no_redactor(_: str) -> NoReturn:
    raise AssertionError(NOBODY)


def _extension(told: ToldExtension) -> Extension:
    extension = Extension(told.name)
    for handler in told.handlers:
        extension.on(HEARD[handler.event], limit=handler.limit)(_nobody)
    for section in told.sections:
        extension.section(section.name)(_nobody) if section.text is None else extension.section(
            section.name, section.text
        )
    return extension


def _tool(told: ToldTool) -> Tool:
    return Tool(
        name=told.name,
        description=told.description,
        function=_nobody,
        arguments=msgspec.Struct,
        parameters=told.parameters,
        mode=told.mode,
        kind=told.kind,
        reads=tuple(told.reads),
        writes=tuple(told.writes),
    )


def _prompt(told: ToldPrompt) -> SystemPrompt:
    sections: dict[str, Section] = {one.name: _nobody if one.text is None else one.text for one in told.sections}
    preamble = sections.pop("", "")
    return SystemPrompt(
        preamble=preamble,
        sections=sections,
        skills=told.skills,
        project_context=told.project_context,
        cwd=told.cwd,
    )
