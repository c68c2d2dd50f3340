"""From YAML text to a plain value whose every part knows its line. No I/O.

1. YAML 1.2's core words: `no`, `on`, `12:30` and `2026-01-01` stay text, unlike in PyYAML's own reading. No other tags than theirs.
2. A key is text and stands once in its mapping; an alias never stands within itself, and all of them together add little.
3. A value is what JSON can hold, and a number what JavaScript reads exactly: a session must be able to carry it.
4. Whatever is wrong is one `BadText` with its line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

import attrs
import yaml

from sapwood.events.base import Json
from sapwood.scenario.language import Place
from sapwood.scenario.yaml_faults import told
from sapwood.words.wording import quoted

DEEPEST: Final = 60
"""Levels of nesting: a person writes ten, and Python's own limit is far enough away."""
MOST_BY_ALIASES: Final = 100_000
"""What aliases may add, in values; a hundred characters of text are one more. Room for long texts that are said again, and none for
a few lines that stand for a billion."""
LARGEST: Final = 2**53 - 1
"""The largest whole number either side of zero: beyond it a reader in JavaScript, such as Pi, reads another one."""


class BadText(ValueError):
    """Text that is no YAML, or YAML that is ambiguous."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


_Keys = dict[str, tuple[yaml.Node, yaml.Node]]


@attrs.frozen
class Document:
    """A value, and where its parts stand."""

    value: Any
    _root: yaml.Node
    _keys: dict[int, _Keys] = attrs.field(factory=dict[int, _Keys], init=False, eq=False, repr=False)
    """The keys of the mappings that were asked about: one may be as long as its file, and be asked about once a key."""

    def line_of(self, place: Place) -> int:
        """The line, from 1, of what `place` leads to; of its nearest part that is there if it is not."""
        node, line = self._root, self._root.start_mark.line
        for step in place:
            found = self._child(node, step)
            if found is None:
                break
            key, node = found
            line = key.start_mark.line
        return line + 1

    def node_at(self, place: Place) -> yaml.Node | None:
        """The node that `place` leads to; None if it is not there."""
        node = self._root
        for step in place:
            found = self._child(node, step)
            if found is None:
                return None
            node = found[1]
        return node

    def _child(self, node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
        """What marks the place of a part, and the part itself."""
        if isinstance(node, yaml.MappingNode) and isinstance(step, str):
            if id(node) not in self._keys:
                self._keys[id(node)] = {key.value: (key, value) for key, value in node.value}
            return self._keys[id(node)].get(step)
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            return node.value[step], node.value[step]
        return None


_CORE: Final = "tag:yaml.org,2002:"
_WORDS: Final = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+", list("-+0123456789")),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
}
"""What a plain word is, in the order in which it is asked, and what it may begin with."""


class _CoreLoader(yaml.SafeLoader):
    """PyYAML's safe loader with the words of YAML 1.2."""


def learn_core_words(kind: type[yaml.SafeLoader | yaml.SafeDumper]) -> None:
    """Have a reader take these words for what they are in YAML 1.2, or a writer put quotes around text that is like them."""
    for name, (pattern, first) in _WORDS.items():
        kind.add_implicit_resolver(  # pyright: ignore[reportUnknownMemberType] - its stubs leave it untyped
            _CORE + name, re.compile(rf"(?:{pattern})$"), first
        )


_CoreLoader.yaml_implicit_resolvers = {}
learn_core_words(_CoreLoader)


def parse(text: str) -> Document:
    """The one document in a text. Raises `BadText`."""
    root = _composed(text)
    return Document(_Reading().read(root, 0, root).value, root)


def _composed(text: str) -> yaml.Node:
    loader: _CoreLoader | None = None
    try:
        loader = _CoreLoader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line, words = told(error, text)
        raise BadText(line, f"this is not YAML: {words}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadText(line, f"the character U+{ord(text[error.position]):04X} may not stand in YAML") from error
    except RecursionError as error:
        raise BadText(_line_of(loader), "it is nested too deeply") from error
    except (ValueError, OverflowError) as error:
        raise BadText(_line_of(loader), "this is not YAML: no character or number is so large") from error
    if root is None:
        raise BadText(1, "the file is empty")
    return root


def _line_of(loader: _CoreLoader | None) -> int:
    """Where the loader stopped."""
    return 1 if loader is None else loader.line + 1


@attrs.frozen
class _Part:
    """A value that was read, and how much it is."""

    value: Json
    whole: int
    """With all that its aliases stand for."""
    written: int
    """As it stands in the file."""
    height: int
    """Levels in it, itself included."""


class _Reading:
    """Reads a tree of nodes; each node once, however often it is named."""

    def __init__(self) -> None:
        self._done: dict[int, _Part] = {}
        self._above: set[int] = set()

    def read(self, node: yaml.Node, depth: int, above: yaml.Node) -> _Part:
        """A part, and where it is said: an alias knows only what it names, and not its own line."""
        if id(node) in self._above:
            raise BadText(_line(node), "an alias stands within what it names")
        known = self._done.get(id(node))
        if known is not None:
            _check_depth(above, depth + known.height)
            return attrs.evolve(known, written=0)
        _check_depth(node, depth + 1)
        self._above.add(id(node))
        part = self._done[id(node)] = self._part(node, depth)
        self._above.remove(id(node))
        if part.whole - part.written > MOST_BY_ALIASES:
            raise BadText(_line(node), f"the aliases in it stand for more than {MOST_BY_ALIASES:,} values: write less")
        return part

    def _part(self, node: yaml.Node, depth: int) -> _Part:
        if isinstance(node, yaml.MappingNode):
            _check_tag(node, "map")
            _check_keys(node)
            keys = [self.read(key, depth, node) for key, _ in node.value]
            parts = [self.read(value, depth + 1, node) for _, value in node.value]
            value = {key.value: part.value for key, part in zip(keys, parts, strict=True)}
            return _whole(value, [*keys, *parts], max(map(_height, parts), default=0))
        if isinstance(node, yaml.SequenceNode):
            _check_tag(node, "seq")
            parts = [self.read(value, depth + 1, node) for value in node.value]
            return _whole([part.value for part in parts], parts, max(map(_height, parts), default=0))
        size = 1 + len(node.value) // 100
        return _Part(_scalar(node), size, size, 1)


def _whole(value: Json, parts: Sequence[_Part], height: int) -> _Part:
    return _Part(value, 1 + sum(part.whole for part in parts), 1 + sum(part.written for part in parts), 1 + height)


def _height(part: _Part) -> int:
    return part.height


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _check_depth(node: yaml.Node, depth: int) -> None:
    if depth > DEEPEST:
        raise BadText(_line(node), f"it is nested more than {DEEPEST} levels deep")


def _check_tag(node: yaml.Node, tag: str) -> None:
    if node.tag != _CORE + tag:
        raise BadText(_line(node), f"the tag {quoted(node.tag.replace(_CORE, '!!'))} says nothing here: leave it out")


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag != f"{_CORE}str":
            what = quoted(key.value) if isinstance(key, yaml.ScalarNode) else "it"
            raise BadText(_line(key), f"a key must be text: put {what} in quotes")
        text = _text(key)
        if text in seen:
            raise BadText(_line(key), f"the key {quoted(text)} stands here twice")
        seen.add(text)


def _scalar(node: yaml.Node) -> Json:
    """The value of a word: by its tag, which it must fit."""
    tag, text = node.tag.removeprefix(_CORE), str(node.value)
    if tag not in _WORDS:
        _check_tag(node, "str")
        return _text(node)
    pattern, _ = _WORDS[tag]
    if re.fullmatch(pattern, text) is None:
        raise BadText(_line(node), f"{quoted(text)} is not of the type !!{tag}: leave the tag out")
    match tag:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case _:
            return _number(node, text, whole=tag == "int")


def _number(node: yaml.Node, text: str, *, whole: bool) -> int | float:
    value = float(text)  # first: it takes any number of digits
    if not math.isfinite(value) or (whole and abs(value) > LARGEST):
        raise BadText(_line(node), f"{quoted(text)} is too large a number: put it in quotes if it is text")
    return int(text) if whole else value


def _text(node: yaml.Node) -> str:
    """The text of a word. Two escapes for the halves of one character are that character, as in JSON."""
    text = str(node.value)
    try:
        text.encode()
        return text  # noqa: TRY300 - nearly always, and no reason to look on
    except UnicodeEncodeError:
        pass
    try:
        node.value = text.encode("utf-16", "surrogatepass").decode("utf-16")  # what `line_of` looks for in a key
        return str(node.value)
    except UnicodeDecodeError as error:
        raise BadText(
            _line(node), f"{quoted(text)} has half a character (a lone surrogate): no file can hold it"
        ) from error
