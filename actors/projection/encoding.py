"""Encodings of tiktoken's, without a network ever.

1. The ranks of o200k_base come with this package; those of another encoding are used where tiktoken's own cache already has them.
2. tiktoken is asked only when the bytes that it will ask for are known to be the right ones: they are checked against the hash that it
   pins, and lie in a private folder that is its cache for the moment. What it would have to fetch is refused here.
3. Afterwards the process is as it was: its environment variables too. The encoding stays in tiktoken's own registry, so it is loaded once.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tiktoken import Encoding

RANKS: Traversable = files("sapwood.actors.projection") / "ranks"
CACHE: Final = "TIKTOKEN_CACHE_DIR"
OTHER_CACHE: Final = "DATA_GYM_CACHE_DIR"
"""What tiktoken asks for second."""
DEFAULT_CACHE: Final = "data-gym-cache"
"""Among the temporary files, where neither is set."""
SLICE: Final = 500_000
"""Characters that tiktoken is given at a time: its regular expressions panic on a run of a million blanks."""
_ALONE: Final = threading.Lock()
"""The environment is the process's, and so is what guards it."""
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class EncodingUnavailable(Exception):
    """The ranks are missing or damaged, or tiktoken is another one than we know. Says which."""


def load_encoding(name: str) -> Encoding:
    """The encoding of this name: most of a second if the process has not loaded it before. `EncodingUnavailable` if that fails."""
    try:
        from tiktoken.registry import ENCODINGS, get_encoding  # noqa: PLC0415 - who counts nothing does not pay for it

        with _ALONE:
            if name in ENCODINGS:
                return ENCODINGS[name]
            url, expected = _pinned(name)
            data = _bytes_of(name, url, expected)
            with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
                Path(folder, _name_in_cache(url)).write_bytes(data)
                with _set(CACHE, folder):
                    return get_encoding(name)
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
    """The text in parts, cut before a line that begins with a letter or a digit, which no token crosses; elsewhere if there is none."""
    start = 0
    while len(text) - start > size:
        end = _line_before(text, start, start + size)
        yield text[start:end]
        start = end
    yield text[start:]


def _line_before(text: str, start: int, end: int) -> int:
    at = end
    while (at := text.rfind("\n", start, at)) > start:
        if text[at + 1].isalnum():
            return at + 1
    return end


def _pinned(name: str) -> tuple[str, str]:
    """The address and the hash that tiktoken has for an encoding: constants of the function that makes it, which is not called for this."""
    made = import_module("tiktoken_ext.openai_public").ENCODING_CONSTRUCTORS.get(name)
    constants: Sequence[object] = () if made is None else made.__code__.co_consts
    texts = [constant for constant in constants if isinstance(constant, str)]
    urls = [text for text in texts if "://" in text]
    hashes = [text for text in texts if _HASH.fullmatch(text)]
    if len(urls) != 1 or len(hashes) != 1:
        raise EncodingUnavailable(f"this tiktoken does not say what {name} is made of")
    return urls[0], hashes[0]


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


@contextmanager
def _set(variable: str, value: str) -> Iterator[None]:
    before = os.environ.get(variable)
    os.environ[variable] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before
