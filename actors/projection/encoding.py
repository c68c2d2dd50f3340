"""Encodings of tiktoken's, without a network ever.

1. The ranks of o200k_base come with this package; those of another encoding are used where tiktoken's own cache already has them.
2. tiktoken's own function says what an encoding is made of. It is run with our way to the ranks in the place of the one that would fetch
   them, and with nothing else to call. Ranks are used only if they have the hash that it pins.
3. Nothing of the process is changed, and no file is written. The encoding is put into tiktoken's own registry, so it is loaded once; two
   threads that load it at the same time both do, and one of the two is kept.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import sys
import tempfile
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tiktoken import Encoding

RANKS: Traversable = files("sapwood.actors.projection") / "ranks"
CACHE: Final = "TIKTOKEN_CACHE_DIR"
OTHER_CACHE: Final = "DATA_GYM_CACHE_DIR"
"""What tiktoken asks for second."""
DEFAULT_CACHE: Final = "data-gym-cache"
"""Among the temporary files, where neither is set."""
SLICE: Final = 262_144
"""Characters that tiktoken is given at a time, which nobody can cancel: a twentieth of a second for English, a fifth for Chinese. Its
regular expressions panic on a run of a million blanks."""
_CUT: Final = re.compile(
    r"""(?s:.*)(?:
        \n (?=[^\W_])                      # before a line that begins with a letter or a digit
        | [^\W_] (?=[ !-&(-/:-@\[-`{-~]     # before a blank or a mark behind one; an apostrophe may go on with a word
            | [\u2010-\u2027\u3001-\u3003\u3008-\u3011\uff01-\uff0f\uff1a-\uff20])
        | [A-Za-z] (?=[0-9])
        | [0-9] (?=[A-Za-z])
    )""",
    re.VERBOSE,
)
"""Up to the last place where both encodings' own patterns end a match, whatever stands around it."""
_IMPORTING: Final = threading.RLock()
"""Held while tiktoken is imported, and while the process is forked: a child would wait for ever for an import that no thread of it ends."""
if sys.platform != "win32":
    os.register_at_fork(
        before=_IMPORTING.acquire, after_in_child=_IMPORTING.release, after_in_parent=_IMPORTING.release
    )


class EncodingUnavailable(Exception):
    """The ranks are missing or damaged, or tiktoken is another one than we know. Says which."""


def load_encoding(name: str) -> Encoding:
    """The encoding of this name: most of a second if the process has not loaded it before. `EncodingUnavailable` if that fails."""
    try:
        with _IMPORTING:
            from tiktoken import Encoding  # noqa: PLC0415 - who counts nothing does not pay for it
            from tiktoken.registry import ENCODINGS  # noqa: PLC0415 - as above

            makers = import_module("tiktoken_ext.openai_public").ENCODING_CONSTRUCTORS
        if name not in ENCODINGS:
            ENCODINGS.setdefault(name, Encoding(**_parts(name, makers.get(name))))
        return ENCODINGS[name]
    except EncodingUnavailable:
        raise
    except Exception as error:
        raise EncodingUnavailable(f"{name} cannot be loaded: {type(error).__name__}: {error}") from error


def counting(encoding: Encoding) -> Callable[[str], int]:
    """Tokens of a text, which stands for itself: what looks like a special token in it is text."""
    encode = encoding.encode_ordinary

    def count(text: str) -> int:
        if len(text) <= SLICE:
            return len(encode(text))
        return sum(len(encode(part)) for part in slices(text))

    return count


def slices(text: str, size: int = SLICE) -> Iterator[str]:
    """The text in parts, cut where no token crosses: they have as many tokens as the whole. Cut elsewhere if a part has no such place."""
    start = 0
    while len(text) - start > size:
        found = _CUT.match(text, start, start + size + 1)
        end = start + size if found is None else found.end()
        yield text[start:end]
        start = end
    yield text[start:]


def _parts(name: str, made: FunctionType | None) -> dict[str, Any]:
    """What an encoding is made of, by tiktoken's own function for it, which finds its constants and our ranks, and no way to fetch any."""
    if made is None or "load_tiktoken_bpe" not in made.__code__.co_names:
        raise EncodingUnavailable(f"this tiktoken does not say what {name} is made of")

    def ranks(url: str, expected_hash: str) -> dict[bytes, int]:
        return _ranks(_bytes_of(name, url, expected_hash))

    constants = {key: value for key, value in made.__globals__.items() if isinstance(value, str)}
    parts: dict[str, Any] = FunctionType(made.__code__, {**constants, "load_tiktoken_bpe": ranks})()
    return parts


def _ranks(data: bytes) -> dict[bytes, int]:
    """A line a token: its bytes in base64, a blank, its rank."""
    lines = (line.split() for line in data.splitlines() if line)
    return {b64decode(token): int(rank) for token, rank in lines}


def _bytes_of(name: str, url: str, expected: str) -> bytes:
    ours = RANKS / f"{name}.tiktoken.gz"
    if ours.is_file():
        data = gzip.decompress(ours.read_bytes())
    else:
        cached = _cache() / _name_in_cache(url)
        if not cached.is_file():
            raise EncodingUnavailable(f"the ranks of {name} are not on this machine")
        data = cached.read_bytes()
    if hashlib.sha256(data).hexdigest() != expected:
        raise EncodingUnavailable(f"the ranks of {name} are damaged")
    return data


def _cache() -> Path:
    """Where tiktoken keeps what it fetched for others."""
    for variable in (CACHE, OTHER_CACHE):
        if variable in os.environ:
            return Path(os.environ[variable])
    return Path(tempfile.gettempdir(), DEFAULT_CACHE)


def _name_in_cache(url: str) -> str:
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
