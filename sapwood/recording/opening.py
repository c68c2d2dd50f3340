"""What a session was opened with, as JSON and back. No I/O.

Of a tool it keeps what the model and the runtime are told: its code is not run again. Of a provider its name and its wire. No key is in it:
none is anywhere but in a provider's credentials, which nobody asks for here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec
from cattrs import Converter

from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.extensions.extension import Extension
from sapwood.actors.model.providers.base import Provider, Watched
from sapwood.actors.projection.section import Section
from sapwood.actors.tools.tool import Kind, Mode, Tool
from sapwood.events.base import Json
from sapwood.events.context import CounterName
from sapwood.events.errors import Refused
from sapwood.events.models import Model
from sapwood.settings import Settings
from sapwood.store.port import Durability

_CONVERTER: Final = Converter()
_CONVERTER.register_unstructure_hook(Model, msgspec.to_builtins)
_CONVERTER.register_structure_hook(Model, lambda value, _: msgspec.convert(value, Model))
_CONVERTER.register_structure_hook(bool | str, lambda value, _: value)


@attrs.frozen(kw_only=True)
class ToldTool:
    """A tool, without its code."""

    name: str
    description: str
    parameters: Any
    mode: Mode
    kind: Kind | None
    reads: list[str]
    writes: list[str]
    context: bool


@attrs.frozen(kw_only=True)
class ToldSection:
    """A section of the system prompt: its text, or that it was asked for."""

    name: str
    text: str | None


@attrs.frozen(kw_only=True)
class ToldPrompt:
    """The system prompt that the host asked for."""

    sections: list[ToldSection]
    skills: dict[str, str]
    project_context: bool | str
    cwd: bool


@attrs.frozen(kw_only=True)
class ToldHandler:
    """One handler of an extension."""

    event: str
    limit: float | None


@attrs.frozen(kw_only=True)
class ToldExtension:
    """An extension, without its code. Its tools are among the session's."""

    name: str
    handlers: list[ToldHandler]
    sections: list[ToldSection]


@attrs.frozen(kw_only=True)
class ToldProvider:
    """A provider, without what it says."""

    api: str | None
    """Its wire."""
    watched: bool
    """Whether extensions have a part in its requests (M9)."""


@attrs.frozen(kw_only=True)
class Opened:
    """All of it."""

    model: Model
    settings: Settings
    counter: CounterName
    counter_ready: bool
    """Whether it was loaded: what has to be counted is counted elsewhere until then."""
    durability: Durability
    tools: list[ToldTool] | None
    prompt: ToldPrompt | None
    providers: dict[str, ToldProvider]
    """By their names."""
    extensions: list[ToldExtension]
    redacts: bool
    """Whether there is a redactor."""


def opened_out(opened: Opened) -> Json:
    """Raises `Refused` for a session that has code of its host where no recording can stand."""
    if opened.settings.branch_summary.convert is not None:
        raise Refused(
            "bad-input", "a session whose branch summaries a function of the host's converts cannot be recorded"
        )
    return _CONVERTER.unstructure(opened)


def opened_in(value: Json) -> Opened:
    """Raises what cattrs and msgspec raise for what is none."""
    return _CONVERTER.structure(value, Opened)


def told_tool(tool: Tool) -> ToldTool:
    return ToldTool(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        mode=tool.mode,
        kind=tool.kind,
        reads=list(tool.reads),
        writes=list(tool.writes),
        context=tool.context is not None,
    )


def told_provider(provider: Provider) -> ToldProvider:
    return ToldProvider(api=getattr(provider, "api", None), watched=isinstance(provider, Watched))


def told_extension(extension: Extension) -> ToldExtension:
    handlers = [ToldHandler(event=one.event, limit=one.limit) for one in extension.handlers]
    return ToldExtension(name=extension.name, handlers=handlers, sections=_told_sections(extension.sections))


def _told_sections(sections: Mapping[str, Section]) -> list[ToldSection]:
    return [ToldSection(name=name, text=one if isinstance(one, str) else None) for name, one in sections.items()]


def told_prompt(prompt: SystemPrompt) -> ToldPrompt:
    context = prompt.project_context
    return ToldPrompt(
        sections=_told_sections({"": prompt.preamble, **prompt.sections}),
        skills=dict(prompt.skills),
        project_context=context if isinstance(context, bool) else str(context),
        cwd=prompt.cwd,
    )
