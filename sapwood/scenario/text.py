"""From YAML text to a plain value whose every part knows its line. No I/O.

1. YAML 1.2's core words: `no`, `on`, `12:30` and `2026-01-01` stay text, unlike in PyYAML's own reading.
2. A key is text and stands once in its mapping; an alias never stands within itself.
3. Whatever is wrong is one `BadText` with its line.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

import attrs
import yaml

from sapwood.scenario.language import Place

DEEPEST: Final = 60
"""Levels of nesting: a person writes ten, and Python's own limit is far enough away."""


class BadText(ValueError):
    """Text that is no YAML, or YAML that is ambiguous."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@attrs.frozen
class Document:
    """A value, and where its parts stand."""

    value: Any
    _root: yaml.Node

    def line_of(self, place: Place) -> int:
        """The line, from 1, of what `place` leads to; of its nearest part that is there if it is not."""
        node, line = self._root, self._root.start_mark.line
        for step in place:
            found = _child(node, step)
            if found is None:
                break
            key, node = found
            line = key.start_mark.line
        return line + 1


class _CoreLoader(yaml.SafeLoader):
    """PyYAML's safe loader with the words of YAML 1.2."""


_CoreLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _CoreLoader.add_implicit_resolver(  # pyright: ignore[reportUnknownMemberType] - its stubs leave it untyped
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})$"), _first
    )


def _number(loader: yaml.SafeLoader, node: yaml.Node) -> int:
    return int(str(loader.construct_scalar(cast("yaml.ScalarNode", node))))


_CoreLoader.add_constructor("tag:yaml.org,2002:int", _number)  # PyYAML's own reads 010 as eight


def parse(text: str) -> Document:
    """The one document in a text. Raises `BadText`."""
    try:
        loader = _CoreLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise BadText(1, "the file is empty")
        _check(root)
        value: Any = loader.construct_document(root)  # pyright: ignore[reportUnknownMemberType] - as above
        return Document(value, root)
    except yaml.MarkedYAMLError as error:
        raise _translated(error) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadText(line, f"the character U+{ord(text[error.position]):04X} may not stand in YAML") from error
    except RecursionError as error:
        raise BadText(1, "it is nested too deeply") from error
    except ValueError as error:
        if isinstance(error, BadText):
            raise
        raise BadText(1, str(error)) from error


def _translated(error: yaml.MarkedYAMLError) -> BadText:
    mark = error.problem_mark or error.context_mark
    words = " ".join(part for part in (error.context, error.problem) if part)
    return BadText(1 if mark is None else mark.line + 1, f"this is not YAML: {words}")


def _check(root: yaml.Node) -> None:
    """Refuse what a reader would take for something else than it is. Each node once, however often it is named."""
    above: dict[int, None] = {}
    done: set[int] = set()
    todo: list[tuple[yaml.Node, bool]] = [(root, False)]
    while todo:
        node, leaving = todo.pop()
        line = node.start_mark.line + 1
        if leaving:
            del above[id(node)]
            done.add(id(node))
        elif id(node) in above:
            raise BadText(line, "an alias stands within what it names")
        elif len(above) == DEEPEST:
            raise BadText(line, f"it is nested more than {DEEPEST} levels deep")
        elif id(node) not in done:
            if isinstance(node, yaml.MappingNode):
                _check_keys(node)
            above[id(node)] = None
            todo.append((node, True))
            todo.extend((child, False) for child in _children(node))


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            raise BadText(line, f"a key must be text: put {getattr(key, 'value', 'it')!r} in quotes")
        if key.value in seen:
            raise BadText(line, f"the key {key.value!r} stands here twice")
        seen.add(key.value)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [value for _, value in node.value]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """What marks the place of a part, and the part itself."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None
