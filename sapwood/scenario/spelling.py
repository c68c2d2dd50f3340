"""Values as YAML text, as people write a story: on one line where it fits, else taken apart. No I/O.

1. Reading it again with `text.parse` gives the value, and so does a reader of YAML 1.1.
2. A part that fits on its line stands in braces; one that does not is a line a key, or a dash an item. Text of several lines stands below a
   `|`, and one that is longer than a line is folded below a `>`.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import Final

import yaml

from sapwood.events.base import Json
from sapwood.scenario.text import learn_core_words

WIDTH: Final = 140
"""Columns of a line, as in the stories that ship. A word that is longer has a longer one."""
_STEP: Final = 2
_CROSSING: Final = 12
"""Columns that are kept free for the word that crosses the width: PyYAML breaks a line behind it."""
_ENDLESS: Final = float("inf")
_BREAKS: Final = re.compile(r"[\r\x85\u2028\u2029]")
"""What ends a line in YAML and is no line's end of ours: it is read as a blank unless it is escaped."""


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which quotes what is no text in either version, and sets dashes in from their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - PyYAML's signature
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - ditto
        """What is said twice is written twice."""
        return True


learn_core_words(_Dumper)


def on_a_line(value: Json) -> str:
    """The value in one line, however long."""
    return _text(_flow(_node(value)), _ENDLESS)


def spelled(value: Json, column: int, *, braces: bool = False) -> str:
    """The value where it begins at this column, in as many lines as it needs. With `braces` none of them is a block, so that a comment
    or a bracket may stand behind it.
    """
    node = _node(value)
    if column + len(_text(_flow(node), _ENDLESS)) <= WIDTH:
        return _text(node, _ENDLESS)
    if not braces:
        _lay_out(node, column, column)
    first, *others = _text(node, WIDTH - _CROSSING - column).split("\n")
    margin = " " * column
    return "\n".join([first, *(margin + line if line else "" for line in others)])


def _node(value: Json) -> yaml.Node:
    dumper = _Dumper(StringIO(), sort_keys=False)
    return dumper.represent_data(value)  # pyright: ignore[reportUnknownMemberType] - PyYAML's stubs leave a value untyped


def _text(node: yaml.Node, width: float) -> str:
    dumped: str = yaml.serialize(  # pyright: ignore[reportUnknownMemberType] - ditto, and a width
        node, Dumper=_Dumper, allow_unicode=True, width=width
    )
    return dumped.removesuffix("\n").removesuffix("\n...")


def _flow(node: yaml.Node) -> yaml.Node:
    """The node, and all in it, in braces and brackets; text of several lines with escapes for their ends."""
    if isinstance(node, yaml.ScalarNode):
        node.style = '"' if "\n" in node.value or _BREAKS.search(node.value) else None
    elif isinstance(node, yaml.MappingNode | yaml.SequenceNode):
        node.flow_style = True
        for inner in _inner(node):
            _flow(inner)
    return node


def _lay_out(node: yaml.Node, column: int, margin: int) -> None:
    """Take apart what does not fit from this column on; its own lines begin at the margin."""
    if column + len(_text(node, _ENDLESS)) <= WIDTH:
        return
    if isinstance(node, yaml.MappingNode) and node.value:
        node.flow_style = False
        for key, value in node.value:
            _lay_out(value, margin + len(_text(key, _ENDLESS)) + len(": "), margin + _STEP)
    elif isinstance(node, yaml.SequenceNode) and node.value:
        node.flow_style = False
        for item in node.value:
            _lay_out(item, margin + _STEP, margin + _STEP)
    elif isinstance(node, yaml.ScalarNode) and not _BREAKS.search(node.value):
        node.style = "|" if "\n" in node.value else ">"


def _inner(node: yaml.CollectionNode) -> list[yaml.Node]:
    return [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
