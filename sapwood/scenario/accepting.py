"""Taking what was seen for what is expected: the text of a scenario with other expectations. No I/O.

1. Only what an expectation says is rewritten, item by item: comments, order and all else stay byte for byte.
2. An item that is unlike is written with what was seen in its differing parts; one that was not seen goes; one that was not expected is
   written short: by its kind, and by what a reader tells it from others. Ids and times are in none.
3. What is no expectation (a call without an answer, a step that did not settle) cannot be accepted, and stays.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import yaml

from sapwood.events.base import Json, is_array, is_object
from sapwood.scenario.language import Place
from sapwood.scenario.matching import MISSING, Difference
from sapwood.scenario.played import Finding
from sapwood.scenario.text import Document

LISTS: Final = frozenset({"events", "entries", "projection"})
SCALARS: Final = frozenset({"usage", "state", "outcome"})
LONGEST: Final = 80
"""Characters of a text that a new item says whole; of a longer one it says the beginning."""
_TOLD: Final = (
    "role",
    "content",
    "text",
    "stopReason",
    "reason",
    "aborted",
    "isError",
    "toolName",
    "customType",
    "unsent",
)
"""What tells an item from others of its kind; the same run has the same."""


@attrs.frozen
class _Edit:
    """Put this text in the place of what stands from here to there."""

    start: int
    end: int
    text: str


def accept(text: str, document: Document, findings: Sequence[Finding]) -> str:
    """The text with each expectation as it was seen, as far as it is one."""
    lists: dict[Place, list[Difference]] = defaultdict(list)
    edits: list[_Edit] = []
    for finding in findings:
        key = next((at for at, step in enumerate(finding.place) if step in LISTS | SCALARS and at), None)
        if key is None:
            continue
        place = finding.place[: key + 1]
        if place[-1] in LISTS:
            lists[place].append(finding.difference)
        else:
            edits.extend(_scalar(text, document, place, finding.difference))
    for place, differences in lists.items():
        node = document.node_at(place)
        if isinstance(node, yaml.SequenceNode):
            edits.extend(_flow(text, node, differences) if node.flow_style else _block(text, node, differences))
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _scalar(text: str, document: Document, place: Place, difference: Difference) -> Iterator[_Edit]:
    seen = _word(str(difference.seen), outcome=place[-1] == "outcome")
    node, parent = document.node_at(place), document.node_at(place[:-1])
    if seen is None:
        return
    if node is not None:
        yield _Edit(node.start_mark.index, node.end_mark.index, _written(seen))
    elif isinstance(parent, yaml.MappingNode):
        last: yaml.Node = parent.value[-1][1]
        if parent.flow_style:
            yield _Edit(last.end_mark.index, last.end_mark.index, f", {place[-1]}: {_written(seen)}")
        else:
            first: yaml.Node = parent.value[0][1]
            end = _line_end(text, first)
            yield _Edit(end, end, f"\n{' ' * parent.start_mark.column}{place[-1]}: {_written(seen)}")


def _word(seen: str, *, outcome: bool) -> str | None:
    """Of an outcome the word, without why; None where there was none."""
    if not outcome:
        return seen
    word = seen.split(" ", 1)[0]
    return None if word == "none" else word


def _flow(text: str, node: yaml.SequenceNode, differences: Iterable[Difference]) -> Iterator[_Edit]:
    """A list in brackets is written anew, on its line; what stays in it as it was written."""
    items = [text[item.start_mark.index : item.end_mark.index] for item in node.value]
    changed, added = _changes(differences)
    written: list[str] = []
    for at, item in enumerate([*items, None]):
        written.extend(added.get(at, ()))
        kept = changed.get(at, item)
        if kept is not None:
            written.append(kept)
    yield _Edit(node.start_mark.index, node.end_mark.index, f"[{', '.join(written)}]")


def _block(text: str, node: yaml.SequenceNode, differences: Iterable[Difference]) -> Iterator[_Edit]:
    """A list of dashes is rewritten item by item."""
    margin = " " * node.start_mark.column
    changed, added = _changes(differences)
    for at, item in enumerate(node.value):
        start = _line_start(text, item.start_mark.index)
        end = _line_end(text, item)
        before = "".join(f"{margin}- {one}\n" for one in added.get(at, ()))
        if before:
            yield _Edit(start, start, before)
        if at in changed:
            new = changed[at]
            kept = _last_index(text, item) + 1  # a comment behind it stays
            yield _Edit(item.start_mark.index, kept, new) if new is not None else _Edit(start, end + 1, "")
    last = "".join(f"\n{margin}- {one}" for one in added.get(len(node.value), ()))
    if last:
        end = _line_end(text, node.value[-1])
        yield _Edit(end, end, last)


def _changes(differences: Iterable[Difference]) -> tuple[dict[int, str | None], Mapping[int, list[str]]]:
    """What each expected item becomes, None for nothing; and what comes before which."""
    changed: dict[int, str | None] = {}
    added: dict[int, list[str]] = defaultdict(list)
    for one in differences:
        if one.kind == "not expected":
            added[one.at].append(_written(short(one.seen)))
        elif one.expected_at is not None:
            changed[one.expected_at] = _written(_seen(one)) if one.kind == "unlike" else None
    return changed, added


def _seen(difference: Difference) -> Json:
    """The expected item with what was seen in each part that differs."""
    item: Json = copy.deepcopy(difference.expected)
    for mismatch in difference.fields:
        if not mismatch.field:
            return difference.seen
        inner: Any = item
        for step in mismatch.field[:-1]:
            inner = inner[step]
        last: Any = mismatch.field[-1]
        if mismatch.seen is MISSING:
            inner[last] = None
        else:
            inner[last] = mismatch.seen
    if is_object(item) and item.get("unsent", MISSING) is None:
        del item["unsent"]
    return item


def short(seen: Json) -> Json:
    """What was seen, as a story would say it: its kind, and what a reader tells it by."""
    if not is_object(seen):
        return seen
    kind = "type" if "type" in seen else "role"
    item: dict[str, Json] = {kind: seen[kind]}
    for key in ("message", *_TOLD):
        value = seen.get(key)
        if key == "message" and is_object(value) and kind == "type":
            item[key] = short(value)
        elif key != kind and isinstance(value, bool | str) and key in _TOLD and value != "":
            item[key] = _beginning(value) if isinstance(value, str) else value
        elif key == "content" and is_array(value) and kind == "role":
            texts = [part["text"] for part in value if is_object(part) and isinstance(part.get("text"), str)]
            if texts and seen.get("role") != "system":
                item[key] = [{"type": "text", "text": _beginning(texts[0])}, *(["..."] if len(value) > 1 else [])]
    return item if len(item) > 1 else seen[kind]


def _beginning(text: str) -> str:
    first = text.split("\n", 1)[0]
    return text if first == text and len(text) <= LONGEST else f"{first[:LONGEST].rstrip()}..."


def _written(value: Json) -> str:
    """The value in one line of YAML."""
    dumped = yaml.safe_dump(  # pyright: ignore[reportUnknownMemberType] - its stubs leave a width open
        value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=float("inf")
    )
    return dumped.removesuffix("\n").removesuffix("\n...")


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, node: yaml.Node) -> int:
    """The end of the last line that the node has something on: a block ends where the next one begins, behind comments and blanks."""
    end = text.find("\n", _last_index(text, node))
    return len(text) if end < 0 else end


def _last_index(text: str, node: yaml.Node) -> int:
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _last_index(text, node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _last_index(text, node.value[-1])
    return max(node.start_mark.index, len(text[: node.end_mark.index].rstrip()) - 1)
