"""Taking what was seen for what is expected: the text of a scenario with other expectations. No I/O.

1. Only what an expectation says is rewritten, item by item: comments, order and all else stay byte for byte.
2. An item that is unlike is written with what was seen in its differing parts; one that was not seen goes; one that was not expected is
   written short: by its kind, by what a reader tells it from others, and by its data if it has some of its own. Ids and times are in none.
3. What is no expectation (a call without an answer, a step that did not settle) cannot be accepted, and stays.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import attrs
import yaml

from sapwood.events.base import Json, is_array, is_object
from sapwood.scenario.language import Place
from sapwood.scenario.matching import GAP, MISSING, Difference
from sapwood.scenario.played import Finding
from sapwood.scenario.spelling import WIDTH, on_a_line, spelled
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
_KEY_OF_A_LIST: Final = re.compile(r"([ ]*(?:-[ ]+)*)[a-z]+:([ ]*)")
"""The line of a list, up to it, if nothing else stands there."""


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
        yield _Edit(node.start_mark.index, node.end_mark.index, on_a_line(seen))
    elif isinstance(parent, yaml.MappingNode):
        last: yaml.Node = parent.value[-1][1]
        if parent.flow_style:
            yield _Edit(last.end_mark.index, last.end_mark.index, f", {place[-1]}: {on_a_line(seen)}")
        else:
            first: yaml.Node = parent.value[0][1]
            end = _line_end(text, first)
            yield _Edit(end, end, f"\n{' ' * parent.start_mark.column}{place[-1]}: {on_a_line(seen)}")


def _word(seen: str, *, outcome: bool) -> str | None:
    """Of an outcome the word, without why; None where there was none."""
    if not outcome:
        return seen
    word = seen.split(" ", 1)[0]
    return None if word == "none" else word


def _flow(text: str, node: yaml.SequenceNode, differences: Iterable[Difference]) -> Iterator[_Edit]:
    """A list in brackets is written anew, what stays in it as it was written: on its line, or else a dash an item where it has one for
    itself, and on several lines where it has not.
    """
    changes = _changes(differences)
    start, end = node.start_mark.index, node.end_mark.index
    items = [text[item.start_mark.index : item.end_mark.index] for item in node.value]
    written = changes.applied(items, on_a_line)
    whole = f"[{', '.join(written)}]"
    line = text[_line_start(text, start) : start]
    rest = text[end : _end_of_line(text, end)]
    if len(line) + len(whole) + len(rest) <= WIDTH:
        yield _Edit(start, end, whole)
        return
    alone = _KEY_OF_A_LIST.fullmatch(line)
    if alone is not None and not rest.strip() and not any("\n" in item for item in items):
        margin = " " * (len(alone[1]) + 2)
        dashes = changes.applied(items, lambda value: spelled(value, len(margin) + 2))
        yield _Edit(start - len(alone[2]), end, "".join(f"\n{margin}- {one}" for one in dashes))
        return
    column = len(line) + 1
    wrapped = _wrapped(changes.applied(items, lambda value: spelled(value, column, braces=True)), column)
    yield _Edit(start, end, f"[{wrapped}]")


def _wrapped(items: Iterable[str], margin: int) -> str:
    """Items in brackets, over as many lines as they need from this column on."""
    lines, column = [""], margin
    for item in items:
        width = max(map(len, item.split("\n"))) + len(", ")
        if lines[-1] and column + width > WIDTH:
            lines.append("")
            column = margin
        lines[-1] += f"{item}, "
        column += width
    return f"\n{' ' * margin}".join(line.rstrip() for line in lines).removesuffix(",")


def _block(text: str, node: yaml.SequenceNode, differences: Iterable[Difference]) -> Iterator[_Edit]:
    """A list of dashes is rewritten item by item."""
    margin = " " * node.start_mark.column
    changes = _changes(differences)

    def dashed(value: Json) -> str:
        return f"{margin}- {spelled(value, len(margin) + 2)}"

    for at, item in enumerate(node.value):
        start = _line_start(text, item.start_mark.index)
        end = _line_end(text, item)
        before = "".join(f"{dashed(one)}\n" for one in changes.added.get(at, ()))
        if before:
            yield _Edit(start, start, before)
        if at in changes.gone:
            yield _Edit(start, end + 1, "")
        elif at in changes.changed:
            kept = _last_index(text, item) + 1  # a comment behind it stays
            new = spelled(changes.changed[at], item.start_mark.column, braces=bool(text[kept:end].strip()))
            yield _Edit(item.start_mark.index, kept, new)
    last = "".join(f"\n{dashed(one)}" for one in changes.added.get(len(node.value), ()))
    if last:
        end = _line_end(text, node.value[-1])
        yield _Edit(end, end, last)


@attrs.frozen
class _Changes:
    """What becomes of a list's items, by their places."""

    changed: Mapping[int, Json]
    gone: AbstractSet[int]
    added: Mapping[int, Sequence[Json]]
    """What comes before which; that number of them for behind the last."""

    def applied(self, items: Sequence[str], spell: Callable[[Json], str]) -> list[str]:
        """The list anew."""
        written: list[str] = []
        for at in range(len(items) + 1):
            written.extend(map(spell, self.added.get(at, ())))
            if at < len(items) and at not in self.gone:
                written.append(spell(self.changed[at]) if at in self.changed else items[at])
        return written


def _changes(differences: Iterable[Difference]) -> _Changes:
    changed: dict[int, Json] = {}
    gone: set[int] = set()
    added: dict[int, list[Json]] = defaultdict(list)
    for one in differences:
        if one.kind == "not expected":
            added[one.at].append(short(one.seen))
        elif one.expected_at is not None and one.kind == "unlike":
            changed[one.expected_at] = _seen(one)
        elif one.expected_at is not None:
            gone.add(one.expected_at)
    return _Changes(changed, gone, added)


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
    if seen[kind] == "custom" and seen.get("data") is not None:
        ours = str(seen.get("customType", "")).startswith("sapwood.")
        item["data"] = _data(seen["data"], ours=ours)
    return item if len(item) > 1 else seen[kind]


def _data(value: Json, *, ours: bool) -> Json:
    """All of it, long texts by their beginnings; of the ids in data of ours only that they are there."""
    if is_object(value):
        return {
            key: GAP if ours and key.endswith("Id") and isinstance(one, str) else _data(one, ours=ours)
            for key, one in value.items()
        }
    if is_array(value):
        return [_data(one, ours=ours) for one in value]
    return _beginning(value) if isinstance(value, str) else value


def _beginning(text: str) -> str:
    first = text.split("\n", 1)[0]
    return text if first == text and len(text) <= LONGEST else f"{first[:LONGEST].rstrip()}..."


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, node: yaml.Node) -> int:
    """The end of the last line that the node has something on: a block ends where the next one begins, behind comments and blanks."""
    return _end_of_line(text, _last_index(text, node))


def _end_of_line(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end


def _last_index(text: str, node: yaml.Node) -> int:
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _last_index(text, node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _last_index(text, node.value[-1])
    return max(node.start_mark.index, len(text[: node.end_mark.index].rstrip()) - 1)
