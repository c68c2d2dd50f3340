"""Which files were read and which were changed: counted, not asked for (C12). No I/O.

1. They come from the calls of tools, by the arguments that are paths, and from the lists that our own earlier summaries left.
2. A file that was changed is not listed among those that were read.
3. A summary ends with the lists. Lists that stand in its text already are stale, and are taken out.
4. A path is one line, and cannot end the list that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import attrs

from sapwood.actors.summaries.frame import neutral
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.content import ToolCall, without_surrogates
from sapwood.events.entries import BranchSummary, Compaction, Entry, MessageEntry
from sapwood.events.messages import FAILED, AssistantMessage, Message

Access = Literal["read", "write"]
PathArguments = Mapping[str, tuple[tuple[str, Access], ...]]
"""By the name of a tool: which of its arguments are paths, and what it does to the files there."""

PATH_ARGUMENTS: Final[PathArguments] = {
    "read": (("path", "read"),),
    "write": (("path", "write"),),
    "edit": (("path", "write"),),
}
"""Of the tools that every coding agent has."""

MOST_SHOWN: Final = 20
"""Paths of a `<files>` block, as omp has it: a model that needs more can ask the disk. The entry's details have all."""

_STALE: Final = ("read-files", "modified-files", "files")
_CLOSED_BY: Final = {f"<{tag}>": f"</{tag}>" for tag in _STALE}
_CLOSING: Final = frozenset(_CLOSED_BY.values())
_BREAKING: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What would end a line for some reader."""


@attrs.frozen
class Files:
    """Paths as the tools were given them, each once, sorted."""

    read: tuple[str, ...] = ()
    """And not changed."""
    modified: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    """Of the changed ones those that were read as well, as far as calls tell."""

    @property
    def details(self) -> dict[str, list[str]]:
        """What is kept of them in the details of an entry: Pi's two lists."""
        return {"readFiles": list(self.read), "modifiedFiles": list(self.modified)}


def files_of(messages: Iterable[Message], arguments: PathArguments = PATH_ARGUMENTS) -> Files:
    """The files that the calls of these messages name. Calls of failed answers were never run."""
    found: dict[Access, set[str]] = {"read": set(), "write": set()}
    for message in messages:
        if isinstance(message, AssistantMessage) and message.stop_reason not in FAILED:
            for call in message.content:
                if isinstance(call, ToolCall):
                    for argument, access in arguments.get(call.name, ()):
                        found[access].update(_paths([call.arguments.get(argument)]))
    return _files(found["read"], found["write"])


def files_of_entries(entries: Iterable[Entry], arguments: PathArguments = PATH_ARGUMENTS) -> Files:
    """What the calls of these name, and the lists of summaries among them. What ran has run, whether or not an edit hides it."""
    entries = tuple(entries)
    said = files_of((entry.message for entry in entries if isinstance(entry, MessageEntry)), arguments)
    nested = (inherited(entry) for entry in entries if isinstance(entry, Compaction | BranchSummary))
    return union(said, *nested)


def inherited(entry: Compaction | BranchSummary) -> Files:
    """The lists that an entry of ours carries; none of an extension's, whose details are its own, nor what is no list of paths."""
    # omp has another name for the same field, which our type does not know (S1)
    is_an_extensions = entry.from_hook or (entry.extra or {}).get("fromExtension")
    if is_an_extensions or not is_object(entry.details):
        return Files()
    return _files(_paths(entry.details.get("readFiles")), _paths(entry.details.get("modifiedFiles")))


def union(*files: Files) -> Files:
    """All of them. What one of them changed was changed."""
    read = {path for one in files for path in (*one.read, *one.both)}
    return _files(read, {path for one in files for path in one.modified})


def listed(text: str, files: Files) -> str:
    """The text with the two lists behind it, in the place of any that it had."""
    blocks = [
        _block(tag, map(_line, paths))
        for tag, paths in (("read-files", files.read), ("modified-files", files.modified))
        if paths
    ]
    return _behind(text, blocks)


def listed_in_one(text: str, files: Files) -> str:
    """The text with one list behind it, in omp's manner: each path with what was done to it, the first `MOST_SHOWN` (N4)."""
    marks = dict.fromkeys(files.read, "Read") | dict.fromkeys(files.modified, "Write")
    marks |= dict.fromkeys(files.both, "RW")
    lines = [f"{_line(path)} ({marks[path]})" for path in sorted(marks)]
    more = len(lines) - MOST_SHOWN
    shown = lines if more <= 0 else [*lines[:MOST_SHOWN], f"[... {more} more files]"]
    return _behind(text, [_block("files", shown)] if shown else [])


def unlisted(text: str) -> str:
    """The text without the lists in it, whose tags stand on lines of their own, and without such a tag that is alone. Its end is trimmed.

    A closing tag ends what the last opening one began, so that one which nobody closed takes no text with it.
    """
    kept: list[str] = []
    opened: tuple[str, int] | None = None
    """The tag that closes the list that we may be in, and where the list began."""
    behind = False
    """Whether a list has just been taken out."""
    for line in text.split("\n"):
        bare = line.strip()
        if bare in _CLOSED_BY:
            opened = (_CLOSED_BY[bare], len(kept))
        elif opened is not None and bare == opened[0]:
            del kept[opened[1] :]
            opened, behind = None, True
        elif bare or not (behind and _ends_blank(kept)):
            if bare not in _CLOSING:
                kept.append(line)
            behind = behind and not bare
    return "\n".join(kept).rstrip()


def _ends_blank(lines: list[str]) -> bool:
    return not lines or not lines[-1].strip()


def _behind(text: str, blocks: list[str]) -> str:
    return "\n\n".join(filter(None, [unlisted(text), *blocks]))


def _block(tag: str, lines: Iterable[str]) -> str:
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])


def _line(path: str) -> str:
    """A path as one line that ends nothing: what would break the line is written as an escape."""
    shown = _BREAKING.sub(lambda found: found[0].encode("unicode_escape").decode(), without_surrogates(path))
    return neutral(shown)


def _files(read: Iterable[str], modified: Iterable[str]) -> Files:
    read, modified = set(read), set(modified)
    return Files(tuple(sorted(read - modified)), tuple(sorted(modified)), tuple(sorted(read & modified)))


def _paths(value: Json) -> set[str]:
    return {path for path in value if isinstance(path, str) and path.strip()} if is_array(value) else set()
