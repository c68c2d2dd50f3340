"""What a summary says that nobody said, and what it leaves out that we can tell (C11). No I/O.

1. A word that looks like a path or an identifier and occurs nowhere in what the summary was made of is flagged: made up, or bent.
2. The last errors of the stretch are put behind a summary that lacks them, word for word: no model is trusted with what we can count.
   The files are listed already (`file_lists`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from sapwood.actors.summaries.frame import neutral
from sapwood.events.content import text_of, without_surrogates
from sapwood.events.messages import BashExecutionMessage, Message, ToolResultMessage

MOST_MADE_UP: Final = 50
"""Words that are told: the score says how many there are, and nobody reads more."""

MOST_ERRORS: Final = 3
"""What the work is stuck on is among the last few; those before have mostly been dealt with."""
ERROR_MAX: Final = 300
"""Characters of one: a compiler's sentence with its place. All three together are about 200 tokens, less than a section."""

ERRORS: Final = "**Last errors, word for word:**"

LONGEST_WORD: Final = 256
"""Characters: what is longer is data, and nobody writes it from memory."""

_WORD: Final = re.compile(r"[A-Za-z0-9_./\\~@:#$%+=-]+")
"""Letters of other scripts end a word: nothing parts them from a path in Chinese."""
_LETTERS: Final = r"[A-Za-z]+"
_FILE: Final = re.compile(r"[\w-]*[A-Za-z_][\w-]*(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,9}", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_HUMPS: Final = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^__?[A-Za-z]")
_SAYS_ERROR: Final = re.compile(
    r"error|exception|fail|fatal|panic|denied|refused|not found|no such|cannot|unable|invalid|timed? ?out|traceback",
    re.IGNORECASE,
)


@attrs.frozen
class Fidelity:
    """How far a summary keeps to its input."""

    score: float
    """From 0 to 1: of its words that could be checked, those that occur in the input. 1 where none could."""
    made_up: tuple[str, ...]
    """Those that do not, in their order, each once: `MOST_MADE_UP` at most."""


def fidelity(summary: str, sources: Sequence[str]) -> Fidelity:
    """What the words of a summary say of it, given all that it was made of: the conversation, and the summary before."""
    checked = list(dict.fromkeys(exact_words(summary)))
    made_up = [word for word in checked if not any(_occurs(word, source) for source in sources)]
    score = 1 - len(made_up) / len(checked) if checked else 1.0
    return Fidelity(score, tuple(made_up[:MOST_MADE_UP]))


def exact_words(text: str) -> Iterator[str]:
    """The words of a text that must be exact: paths, names of files, identifiers (`snake_case`, `camelCase`, `a::b`, `called()`)."""
    for found in _WORD.finditer(text):
        word = found[0].lstrip(":=+%#@-").rstrip(".:=+-/\\%#@~")
        called = text.startswith("(", found.end()) and not text.startswith("(s)", found.end())
        if len(word) > LONGEST_WORD:
            continue
        if _is_path(word) or _is_name(word, called=called and found[0].endswith(word)):
            yield word


def last_errors(messages: Iterable[Message]) -> tuple[str, ...]:
    """The last errors that tools and commands ended in, oldest first, each once: a line, cut at `ERROR_MAX`."""
    found: dict[str, None] = {}
    for message in messages:
        match message:
            case ToolResultMessage(is_error=True, content=content):
                line = _line_of(text_of(content))
            case BashExecutionMessage(exit_code=int(code), output=output) if code and not message.exclude_from_context:
                line = _line_of(output)
            case _:
                continue
        found.pop(line, None)
        found |= {line: None} if line else {}
    return tuple(found)[-MOST_ERRORS:]


def completed(summary: str, errors: Sequence[str]) -> str:
    """The summary, and behind it those of the errors that it lacks. Blanks are no matter."""
    held = _bare(summary)
    missing = [neutral(error) for error in errors if _bare(error) not in held and _bare(neutral(error)) not in held]
    if not missing:
        return summary
    return "\n".join([summary.rstrip(), "", ERRORS, "", *(f"- {error}" for error in missing)])


def _is_path(word: str) -> bool:
    """Not `and/or`: a path has a root, or more than one step, or something that words have not."""
    steps = [step for step in re.split(r"[/\\]", word) if step]
    if "/" not in word and "\\" not in word:
        return bool(_FILE.fullmatch(word)) and max(map(len, word.split("."))) > 1
    if not steps or not re.search(r"[A-Za-z]", word):
        return False
    return word[0] in "/\\~." or len(steps) > 2 or not all(re.fullmatch(_LETTERS, step) for step in steps)


def _is_name(word: str, *, called: bool) -> bool:
    names = re.split(r"::|#|\.", word)
    if not all(_NAME.fullmatch(name) for name in names):
        return False
    return called or "::" in word or any(_HUMPS.search(name) for name in names)


def _occurs(word: str, source: str) -> bool:
    """Whether it stands in the text, not inside a longer word."""
    at = source.find(word)
    while at >= 0:
        around = (source[at - 1 : at], source[at + len(word) : at + len(word) + 1])
        if not any(re.fullmatch(r"\w", next_to, re.ASCII) for next_to in around):
            return True
        at = source.find(word, at + 1)
    return False


def _line_of(text: str) -> str:
    """The line of an output that says what went wrong: the last one that speaks of it, else the last one."""
    lines = [line for line in without_surrogates(text).splitlines() if line.strip()]
    line = next((line for line in reversed(lines) if _SAYS_ERROR.search(line)), lines[-1] if lines else "")
    line = _bare(line)
    return line if len(line) <= ERROR_MAX else f"{line[:ERROR_MAX]} [...]"


def _bare(text: str) -> str:
    return " ".join(text.split())
