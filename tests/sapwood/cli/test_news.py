"""News in one line each."""

from __future__ import annotations

import pytest

from sapwood.cli.news import news_line
from sapwood.events.content import TextContent
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.runtime import (
    AgentStart,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    CompactionStart,
    DamageFound,
    Diagnostic,
    Event,
    ExtensionError,
    SessionFileLost,
    SessionMoved,
    SessionTree,
    StoreDegraded,
    StoreRecovered,
    SummarizationRetryScheduled,
    ToolAbandoned,
    ToolExecutionEnd,
    ToolExecutionStart,
)

ID = ToolCallId("c1")


def ended(text: str, *, is_error: bool) -> ToolExecutionEnd:
    return ToolExecutionEnd(tool_call_id=ID, tool_name="bash", result=(TextContent(text=text),), is_error=is_error)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ToolExecutionStart(tool_call_id=ID, tool_name="bash", args={"command": "ls\x1b\nrm"}), "bash: ls� …"),
        (ToolExecutionStart(tool_call_id=ID, tool_name="read", args={"path": "a", "limit": 3}), "read: path='a', limit=3"),
        (ToolExecutionStart(tool_call_id=ID, tool_name="now", args={}), "now: "),
        (ended("no such file", is_error=True), "bash failed: no such file"),
        (ended("", is_error=True), "bash failed: without a word"),
        (ended("well", is_error=False), None),
        (ToolAbandoned(tool_call_id=ID, tool_name="t", after_ms=1), "t does not stop and was left behind; it may still have effects"),
        (
            AutoRetryStart(attempt=1, max_attempts=3, delay_ms=1710.4, error_message="over\nloaded"),
            "another attempt (1 of 3) in 1.71 s: over�loaded",
        ),
        (AutoRetryEnd(success=False, attempt=3, final_error="x"), None),
        (
            SummarizationRetryScheduled(attempt=1, max_attempts=3, delay_ms=2000, error_message="x"),
            "another attempt at the summary (1 of 3) in 2 s: x",
        ),
        (CompactionStart(reason="threshold"), "compaction (the window is nearly full): the past is being summed up"),
        (CompactionEnd(reason="overflow", aborted=True, will_retry=False), "the compaction was stopped"),
        (CompactionEnd(reason="overflow", aborted=False, will_retry=False, error_message="x"), "no compaction: x"),
        (CompactionEnd(reason="overflow", aborted=False, will_retry=False), "no compaction: nothing came of it"),
        (CompactionEnd(reason="manual", aborted=False, will_retry=False, error_message="x"), None),
        (SessionTree(new_leaf_id=EntryId("a"), old_leaf_id=None), "moved to a"),
        (SessionTree(new_leaf_id=None, old_leaf_id=None), "moved to before the first entry"),
        (
            SessionFileLost(path="a\x1b", what="replaced"),
            "somebody has replaced a�: what stands there now is to be followed anew",
        ),
        (SessionMoved(old_path="a", new_path="b", why="it is old"), "the session goes on in b: it is old"),
        (DamageFound(records=()), "the file is damaged in 0 places: see `sapwood check`"),
        (StoreDegraded(error_message="full", waiting=1), "the disk refuses, and what is to be written waits (Ctrl-C ends that): full"),
        (StoreRecovered(written=1), "the disk takes it again"),
        (ExtensionError(extension="e", event="x", error_message="y"), "the extension e failed: y"),
        (Diagnostic(code="x", message="y"), "y"),
        (AgentStart(), None),
    ],
)  # fmt: skip
def test_an_event_is_a_line_or_no_news(event: Event, line: str | None) -> None:
    assert news_line(event) == line
