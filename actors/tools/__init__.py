"""Owns the calls of an answer, until each has exactly one result in the log (R2).

Asked: `RunTools` and `StopTools`. Announces `tool_execution_*` and `tool_abandoned`. Its operations ask session_log, and run what hosts
gave as tools: foreign code, each call an operation of its own that is left behind if it does not stop when it is told to (R4).
What a tool is stands in `tool`, what came of a call in `results`.
"""

from sapwood.actors.tools.results import ToolResult
from sapwood.actors.tools.tool import Tool, ToolContext, tool

__all__ = ["Tool", "ToolContext", "ToolResult", "tool"]
