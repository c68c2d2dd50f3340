r"""JSON that our decoder refuses and JavaScript reads. No I/O.

1. Invalid UTF-8 and lone surrogates are read as U+FFFD, a number that is out of range as null: as `JSON.stringify` would write it.
2. There is no recursion: how deep a text is, and how deep its reader stands in its own calls, makes no difference.
3. What is no JSON is a `ValueError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from sapwood.events.base import Json, is_array, is_object

DEEPEST: Final = 500
"""Levels of arrays and objects in a line that has a type: half of the thousand calls that Python 3.11 allows, for whoever handles it."""

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
SPOILT: Final = "\ufffe"
"""No character: what is read with it in the replacement's place shows what was not as it came."""

_value: Final = msgspec.json.Decoder()
_UNREADABLE: Final = (msgspec.DecodeError, RecursionError)

_LONE: Final = re.compile(
    r"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)
"""The escape of half a character whose other half does not stand beside it."""
_BACKSLASH: Final = "\ud800\ud800"
"""Stands for an escaped backslash while escapes are looked for: a text that was decoded has nothing like it."""
_UNDECODED: Final = re.compile("[\udc80-\udcff]")
_TOKEN: Final = re.compile(
    r'[ \t\n\r]*+(?:([\[\]{},:])|("[^"\\]*+(?:\\.[^"\\]*+)*+")|([-+.\w]++))', re.ASCII | re.DOTALL
)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BRACKET: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', re.DOTALL)
_PART: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{\]},:]', re.DOTALL)


def may_be_deep(line: bytes) -> bool:
    """Whether a line has brackets enough to be nested too deep: a quick look, which tells nearly all lines apart."""
    return len(line) > 2 * DEEPEST and line.count(b"[") + line.count(b"{") > DEEPEST


def is_deep(line: bytes) -> bool:
    """Whether a line is nested deeper than we read with a type, by itself and not by who asks."""
    if not may_be_deep(line):
        return False
    depth = 0
    for found in _BRACKET.finditer(line):
        bracket = found[0]
        if bracket in {b"[", b"{"}:
            depth += 1
            if depth > DEEPEST:
                return True
        elif bracket in {b"]", b"}"}:
            depth -= 1
    return False


def read_odd(line: bytes, instead: str = REPLACEMENT) -> Json:
    """The value in a line, `instead` standing for what is no character. `ValueError` if it is no JSON."""
    text = _mended(line, instead)
    try:
        return _value.decode(text)
    except _UNREADABLE:
        return _parsed(text, _scalar)


def read_strictly(line: bytes) -> Json:
    """What our decoder reads in a line that it does not refuse, without its recursion. `ValueError` if it would refuse it."""
    return _parsed(line.decode(), _value.decode)


def parts_of(line: bytes) -> dict[bytes, bytes]:
    """The fields of a line that `read_odd` reads as an object: keys and values as they are written, a key without needless escapes."""
    parts: dict[bytes, bytes] = {}
    depth, at = 0, 0
    key: bytes | None = None
    for found in _PART.finditer(line):
        token = found[0]
        if token in {b"{", b"["}:
            depth += 1
            continue
        depth -= token in {b"}", b"]"}
        if key is None and token[:1] == b'"':
            key = token
        elif token == b":" and depth == 1:
            at = found.end()
        elif key is not None and (depth == 0 or (token == b"," and depth == 1)):
            parts[_plain(key)] = line[at : found.start()].strip()
            key = None
    return parts


def _plain(key: bytes) -> bytes:
    """A key as our encoder writes it, unless it has what no encoder can write."""
    name = read_odd(key)
    return msgspec.json.encode(name) if name == read_odd(key, SPOILT) else key


def strings_in(value: Json) -> Iterator[str]:
    """Every text and every key in a value."""
    todo: list[Json] = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif is_object(one):
            yield from one
            todo.extend(one.values())
        elif is_array(one):
            todo.extend(one)


def _mended(line: bytes, instead: str) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        replaced = instead == REPLACEMENT
        text = line.decode("utf-8", "replace" if replaced else "surrogateescape")
        text = text if replaced else _UNDECODED.sub(instead, text)
    # three passes, none of which calls Python for an escape: that took a second a megabyte
    return _LONE.sub(instead, text.replace(r"\\", _BACKSLASH)).replace(_BACKSLASH, r"\\")


def _parsed(text: str, word: Callable[[str], Json]) -> Json:
    """The value of a JSON text, by one loop; `word` reads numbers and the three words."""
    outermost: list[Json] = []
    within: list[list[Json] | dict[str, Json]] = [outermost]
    key, due = "", "value"
    for mark, scalar in _tokens(text, word):
        holder = within[-1]
        inside = len(within) > 1
        match mark:
            case "[" | "{" if due in {"value", "value or end"}:
                opened: list[Json] | dict[str, Json] = [] if mark == "[" else {}
                _put(holder, key, opened)
                within.append(opened)
                due = "value or end" if mark == "[" else "key or end"
            case "]" if inside and isinstance(holder, list) and due in {"value or end", "comma"}:
                within.pop()
                due = "comma"
            case "}" if isinstance(holder, dict) and due in {"key or end", "comma"}:
                within.pop()
                due = "comma"
            case "," if inside and due == "comma":
                due = "value" if isinstance(holder, list) else "key"
            case ":" if due == "colon":
                due = "value"
            case "" if due in {"key", "key or end"} and isinstance(scalar, str):
                key, due = scalar, "colon"
            case "" if due in {"value", "value or end"}:
                _put(holder, key, scalar)
                due = "comma"
            case _:
                raise ValueError(f"a {due} was due, and there is {mark or scalar!r}")
    if due != "comma" or len(within) > 1:
        raise ValueError(f"it ends where a {due} was due")
    return outermost[0]


def _put(holder: list[Json] | dict[str, Json], key: str, value: Json) -> None:
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[key] = value


def _tokens(text: str, word: Callable[[str], Json]) -> Iterator[tuple[str, Json]]:
    """Each punctuation mark, or an empty one and a scalar."""
    at, end = 0, len(text.rstrip(" \t\n\r"))
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"no JSON at character {at}")
        at = found.end()
        mark, string, other = found.groups()
        yield mark or "", None if mark else _value.decode(string) if string else word(other)


def _scalar(word: str) -> Json:
    """A number, or one of the three words."""
    try:
        return _value.decode(word)
    except msgspec.ValidationError as error:
        if _NUMBER.fullmatch(word) is None:
            raise ValueError(f"{word:.40} is no number") from error
        return None  # out of range: it is a number all the same
