"""What is wrong with a text that is no YAML, in words that say what to do about it. No I/O.

1. The line is the one to mend: of a quote or a bracket that nobody closed the one where it was opened, not where it was missed.
2. What we have no words for is told in PyYAML's.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

from sapwood.words.wording import one_line

_SAID: Final = (
    (r"quoted scalar found unexpected end of stream", "the text that begins here with a quote has no end: close it"),
    (r"flow \w+ expected .* but got '\?'", "within braces or brackets text with a ? in it needs quotes"),
    (r"flow \w+ expected .* but got ':'", "within braces or brackets text with a colon in it needs quotes"),
    (r"found character '\\t'", "a tab stands where a value or a key begins: indent with blanks"),
    (r"found character '([@`%])'", r"text that begins with \1 needs quotes"),
    (
        r"mapping values are not allowed",
        "text that holds a colon and a blank needs quotes, and keys of one mapping one column",
    ),
    (r"expected <block end>", "this line begins in another column than those that it belongs to"),
    (r"could not find expected ':'", "this line is no key with a value, and no text that goes on: is a colon missing?"),
    (r"expected '<document start>'", "what begins here does not belong to what stands above: a story is one mapping"),
    (r"expected a single document", "a story is one document: leave out the --- between two"),
    (r"found undefined alias '(.*)'", r"undefined alias \1: text that begins with * needs quotes"),
    (r"scanning an (?:alias|anchor)", "text that begins with * or & needs quotes"),
    (r"found unknown escape character", r"within double quotes a \ begins an escape: write \\, or use single quotes"),
)
"""PyYAML's words, and ours for them."""
_SINCE: Final = ("while scanning a quoted scalar found unexpected", "while scanning a simple key")
"""What is to be mended where it began."""
_OPENED: Final = re.compile(r"while parsing a flow (mapping|sequence) ")
_QUOTES: Final = {'"': r"write a quote within it as \"", "'": "write a quote within it twice"}


def told(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str]:
    """The line, from 1, and the sentence."""
    words = " ".join(part for part in (error.context, error.problem) if part)
    at, since = error.problem_mark, error.context_mark
    found = _behind_a_quote(words, at, text) or _unclosed(words, at, since)
    if found is not None:
        return found
    for pattern, said in _SAID:
        match = re.search(pattern, words)
        if match is not None:
            mark = since if words.startswith(_SINCE) else at
            return _line(mark or at), one_line(match.expand(said) if "\\1" in said else said)
    return _line(at or since), one_line(words)


def _line(mark: yaml.Mark | None) -> int:
    return 1 if mark is None else mark.line + 1


def _behind_a_quote(words: str, at: yaml.Mark | None, text: str) -> tuple[int, str] | None:
    """Something stands behind a text in quotes: the quote that was to close it is missing, or it holds one that closes it too early."""
    if at is None or ("found '<scalar>'" not in words and "got '<scalar>'" not in words):
        return None
    quoted = _last_quoted(text, at.index)
    if quoted is None or text[quoted.end_mark.index : at.index].strip():
        return None
    first, last = _line(quoted.start_mark), _line(quoted.end_mark)
    if first < last:
        return (
            first,
            f"the text that begins here with a quote goes on to line {last}, and more stands behind it: close it where it ends",
        )
    return first, f"more stands behind a text in quotes: {_QUOTES[str(quoted.style)]}"


def _last_quoted(text: str, end: int) -> yaml.ScalarToken | None:
    """The last text in quotes before this place."""
    last = None
    try:
        for token in yaml.scan(text, yaml.SafeLoader):
            if token.start_mark.index >= end:
                break
            if isinstance(token, yaml.ScalarToken):
                last = token
    except yaml.YAMLError:
        pass  # it is read as far as it goes
    return last if last is not None and last.style in _QUOTES else None


def _unclosed(words: str, at: yaml.Mark | None, since: yaml.Mark | None) -> tuple[int, str] | None:
    """A bracket that is still open some lines below, where something stands that cannot be in it."""
    opened = _OPENED.match(words)
    if opened is None or at is None or since is None or at.line == since.line or "'?'" in words:
        return None
    bracket = "{" if opened[1] == "mapping" else "["
    return _line(
        since
    ), f"the {bracket} that is opened here is not closed by line {_line(at)}, where something else begins"
