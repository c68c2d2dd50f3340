"""What the agent works with: whom it may ask, and what the host has chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from sapwood.actors.agent.sections import Sections
from sapwood.actors.agent.state import Rules
from sapwood.actors.asking import Questions
from sapwood.actors.compaction.threshold import CompactionSettings
from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.inbox import Shelf
from sapwood.actors.kernel import Ref
from sapwood.actors.session_log.run_log import Pen
from sapwood.actors.summaries.file_lists import PATH_ARGUMENTS, Access, PathArguments
from sapwood.actors.tools import Tool
from sapwood.actors.tracing import Tracing
from sapwood.events.messages import ToolDefinition
from sapwood.events.models import Model
from sapwood.events.runtime import Event


@attrs.define(kw_only=True, eq=False)
class Chosen:
    """What the host has chosen, and may choose anew while a run is on: it holds from the next request on."""

    model: Model
    known: Mapping[str, Tool] = attrs.field(factory=dict[str, Tool])
    """Every tool that the host has given, by name."""
    active: Sequence[str] | None = None
    """Names of those that the model is told of and may call; None: the host has said nothing of tools."""

    def tools(self) -> Mapping[str, Tool]:
        """Those that may be called, by name."""
        return {name: self.known[name] for name in self.active or ()}

    def definitions(self) -> tuple[ToolDefinition, ...] | None:
        """What the model is to be told of tools; None: what it was told stays."""
        return None if self.active is None else tuple(tool.definition for tool in self.tools().values())

    def asks(self, name: str) -> bool:
        """Whether the tool of this name asks the person (N8)."""
        tool = self.known.get(name)
        return tool is not None and tool.kind == "ask"

    def paths(self) -> PathArguments:
        """Which arguments of which tool are paths: by the host's word, and by Pi's names for tools of which it said nothing (C12)."""
        return {**PATH_ARGUMENTS, **{tool.name: said for tool in self.known.values() if (said := _paths_of(tool))}}


def _paths_of(tool: Tool) -> tuple[tuple[str, Access], ...]:
    read: list[tuple[str, Access]] = [(name, "read") for name in tool.reads]
    return (*read, *((name, "write") for name in tool.writes))


@attrs.frozen(kw_only=True)
class Desk:
    """Whom the agent may ask, and what it works with."""

    exclusion: Ref
    inbox: Ref
    projection: Ref
    model_actor: Ref
    tools: Ref
    shelf: Shelf
    pen: Pen
    publish: Callable[[Event], int]
    compaction: Ref
    navigation: Ref
    settings: CompactionSettings
    lease: Lease
    chosen: Chosen
    sections: Sections
    rules: Rules
    questions: Questions
    tracing: Tracing
