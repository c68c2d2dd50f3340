"""Encodings are loaded from what is on the machine, and tiktoken never reaches for the network."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import tempfile
from base64 import b64encode
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn, cast

import pytest
import regex
import tiktoken.load
import tiktoken.registry
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sapwood.actors.projection import encoding
from sapwood.actors.projection.encoding import SLICE, EncodingUnavailable, counting, load_encoding, slices
from tests.counting import NO_NETWORK, damaged_ranks, without_ranks

OPENAI: Any = import_module("tiktoken_ext.openai_public")  # it has no types

COUNT = """
import os
from sapwood.actors.projection.encoding import counting, load_encoding
before = dict(os.environ)
print(counting(load_encoding("o200k_base"))("hello world"), dict(os.environ) == before)
"""


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the network is asked for")

    monkeypatch.setattr(tiktoken.load, "read_file", refused)


def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process had loaded nothing yet."""
    monkeypatch.delitem(tiktoken.registry.ENCODINGS, "o200k_base", raising=False)


def process(code: str, *arguments: str, **environment: str) -> str:
    """What a process without a network prints. It has no home folder that it could write into."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", NO_NETWORK + code, *arguments],
        env={"PATH": os.environ["PATH"], "HOME": "/proc", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_the_ranks_are_the_ones_that_tiktoken_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    pins: list[tuple[str, str, str]] = []

    def noted(name: str, url: str, pinned: str) -> bytes:
        pins.append((name, url, pinned))
        return b"IQ== 0"

    monkeypatch.setattr(encoding, "_bytes_of", noted)
    encoding._parts("o200k_base", OPENAI.ENCODING_CONSTRUCTORS["o200k_base"])
    data = gzip.decompress((encoding.RANKS / "o200k_base.tiktoken.gz").read_bytes())

    [(name, url, pinned)] = pins
    assert name == "o200k_base"
    assert hashlib.sha256(data).hexdigest() == pinned
    assert pinned in (encoding.RANKS / "README.md").read_text(encoding="utf-8")
    assert encoding._name_in_cache(url) == "fb374d419588a4632f3f557e76b4b70aebbca790"


def test_it_is_the_one_that_tiktoken_itself_makes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh(monkeypatch)
    ours = load_encoding("o200k_base")
    data = gzip.decompress((encoding.RANKS / "o200k_base.tiktoken.gz").read_bytes())
    (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(data)
    monkeypatch.setenv(encoding.CACHE, str(tmp_path))
    fresh(monkeypatch)
    theirs = tiktoken.registry.get_encoding("o200k_base")

    assert ours is not theirs
    assert (ours.name, ours._pat_str, ours._special_tokens, ours._mergeable_ranks) == (
        theirs.name,
        theirs._pat_str,
        theirs._special_tokens,
        theirs._mergeable_ranks,
    )


@pytest.mark.slow
def test_it_counts_without_a_network_and_leaves_the_environment_as_it_was() -> None:
    assert process(COUNT) == "2 True"


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_cache_of_the_users_is_neither_needed_nor_touched(variable: str, tmp_path: Path) -> None:
    bad = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    bad.write_bytes(b"damaged")  # tiktoken itself would delete it, and fetch another one

    assert process(COUNT, **{variable: str(tmp_path)}) == "2 True"
    assert process(COUNT, **{variable: ""}) == "2 True"  # tiktoken itself would fetch it each time
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"damaged"]


class Untouched(dict[str, str]):
    """An environment that nobody may so much as look at."""

    def _refuse(self, *_: object) -> NoReturn:
        raise AssertionError("the environment is asked for")

    __getitem__ = __setitem__ = __delitem__ = __contains__ = get = pop = _refuse


def test_to_load_it_touches_neither_the_environment_nor_a_temporary_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Other threads and processes used to see another `TIKTOKEN_CACHE_DIR`, and a kill left a folder behind."""
    fresh(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere at all")
    with monkeypatch.context() as patched:
        patched.setattr(os, "environ", Untouched())
        load_encoding("o200k_base")

    assert list(tmp_path.iterdir()) == []


FORKED = """
import concurrent.futures.thread, os, signal, sys, threading  # the first has locks that a fork takes: it is to be there before
from sapwood.actors.projection import encoding

begun, forked = threading.Event(), threading.Event()
parent, bytes_of = os.getpid(), encoding._bytes_of

def waiting(*asked):
    if os.getpid() == parent:
        begun.set()
        forked.wait()
    return bytes_of(*asked)

class Slowly:
    def find_spec(self, name, path=None, target=None):
        if name == "tiktoken.core" and os.getpid() == parent:
            begun.set()
            forked.wait(0.2)  # the fork waits for the import
        return None

if sys.argv[1] == "data":
    encoding._bytes_of = waiting
else:
    sys.meta_path.insert(0, Slowly())
loading = threading.Thread(target=encoding.load_encoding, args=("o200k_base",))
loading.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    print(encoding.counting(encoding.load_encoding("o200k_base"))("hello world"), flush=True)
    os._exit(0)
forked.set()
loading.join()
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("during", ["import", "data"])
def test_a_child_that_was_forked_while_it_was_loaded_loads_it_for_itself(during: str) -> None:
    """It used to hang for ever on a lock that a thread of its parent had."""
    assert process(FORKED, during) == "2\n0"


def test_a_process_loads_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_encoding("o200k_base")
    without_ranks(monkeypatch)
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "o200k_base", first)

    assert load_encoding("o200k_base") is first


def test_ranks_that_are_missing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    without_ranks(monkeypatch)

    for name in ("o200k_base", "cl100k_base"):
        with pytest.raises(EncodingUnavailable, match=f"the ranks of {name} are not on this machine"):
            load_encoding(name)


def test_ranks_that_are_damaged_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_ranks(monkeypatch, damaged_ranks(tmp_path))

    with pytest.raises(EncodingUnavailable, match="are damaged"):
        load_encoding("o200k_base")

    (tmp_path / "o200k_base.tiktoken.gz").write_bytes(b"\x1f\x8b\x08half")
    with pytest.raises(EncodingUnavailable, match="o200k_base cannot be loaded"):
        load_encoding("o200k_base")


def made_of(source: str, **known: object) -> FunctionType:
    """A function of tiktoken's for an encoding, as another tiktoken may have it."""
    names: dict[str, Any] = {"load_tiktoken_bpe": tiktoken.load.load_tiktoken_bpe, **known}
    return cast("FunctionType", eval(f"lambda: {source}", names))  # noqa: S307 - our own words


def test_a_tiktoken_that_loads_otherwise_than_we_know_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(monkeypatch)
    makers: dict[str, Any] = OPENAI.ENCODING_CONSTRUCTORS

    with pytest.raises(EncodingUnavailable, match="does not say what nothing is made of"):
        load_encoding("nothing")
    monkeypatch.setitem(makers, "o200k_base", made_of('{"url": "x://y"}'))
    with pytest.raises(EncodingUnavailable, match="does not say what"):
        load_encoding("o200k_base")

    for other in (
        'load_tiktoken_bpe("x://y") or fetch()',
        'load_tiktoken_bpe(fetch("x://y"), expected_hash="0")',
        'fetch("x://y") or load_tiktoken_bpe',
    ):
        monkeypatch.setitem(makers, "o200k_base", made_of(other, fetch=tiktoken.load.read_file))
        with pytest.raises(EncodingUnavailable, match=r"o200k_base cannot be loaded: \w+Error"):
            load_encoding("o200k_base")

    monkeypatch.setitem(makers, "o200k_base", made_of('load_tiktoken_bpe("x://y", expected_hash="0" * 64)'))
    with pytest.raises(EncodingUnavailable, match="are damaged"):
        load_encoding("o200k_base")


def test_another_encoding_is_taken_from_tiktokens_cache_if_it_is_right(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_ranks(monkeypatch)
    ranks = b"".join(b"%s %d\n" % (b64encode(bytes([byte])), byte) for byte in range(256)) + b"\n"
    right = hashlib.sha256(ranks).hexdigest()
    (tmp_path / encoding._name_in_cache("x://ranks")).write_bytes(ranks)
    made = made_of(
        '{"name": NAME, "pat_str": "(?s).+", "special_tokens": {},'
        f' "mergeable_ranks": load_tiktoken_bpe("x://ranks", expected_hash="{right}")}}',
        NAME="bytes",
    )
    monkeypatch.setitem(OPENAI.ENCODING_CONSTRUCTORS, "cl100k_base", made)
    monkeypatch.setenv(encoding.CACHE, str(tmp_path))

    assert counting(load_encoding("cl100k_base"))("abc") == 3
    assert tiktoken.registry.ENCODINGS["cl100k_base"].name == "bytes"


def test_where_tiktoken_keeps_its_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(encoding.CACHE, raising=False)
    monkeypatch.delenv(encoding.OTHER_CACHE, raising=False)
    assert encoding._cache() == tmp_path / "data-gym-cache"

    monkeypatch.setenv(encoding.OTHER_CACHE, "second")
    assert encoding._cache() == Path("second")
    monkeypatch.setenv(encoding.CACHE, "first")
    assert encoding._cache() == Path("first")


COUNTED = counting(load_encoding("o200k_base"))


def test_what_looks_like_a_special_token_is_text() -> None:
    assert COUNTED("<|endoftext|>") > 1
    assert COUNTED("<|endofprompt|> and more") > 1


def test_half_a_character_is_counted() -> None:
    assert COUNTED("a\ud800b") >= 2
    assert COUNTED("\udc00" * 10) >= 1


@pytest.mark.slow
def test_a_million_blanks_are_counted() -> None:
    """Tiktoken's regular expressions panic on them."""
    assert COUNTED(" " * 1_100_000) > 1000
    assert COUNTED("x" + "\t " * 600_000) > 1000


LINES = st.lists(
    st.text("aé漢1²\u0301 \t\r\n/.!'s<|>😀", max_size=20) | st.sampled_from(["\n", "\n\n", "\r\n", ".\n/a", " \na"])
)


@given(lines=LINES, size=st.integers(1, 40))
def test_a_text_that_is_cut_loses_nothing(lines: list[str], size: int) -> None:
    text = "".join(lines)
    parts = list(slices(text, size))

    assert "".join(parts) == text
    assert all(len(part) <= size for part in parts)


@pytest.mark.parametrize(
    ("text", "size", "parts"),
    [
        ("ab\ncd\nef", 7, ["ab\ncd\n", "ef"]),
        ("ab\ncd\nef", 6, ["ab\ncd\n", "ef"]),
        ("ab\ncd\nef", 5, ["ab\n", "cd\nef"]),
        ("ab\n/c\n d", 6, ["ab\n/c\n", " d"]),
        ("ab\ncd\n/f", 7, ["ab\n", "cd\n/f"]),
        ("abcdef", 4, ["abcd", "ef"]),
    ],
)
def test_a_cut_is_before_a_line_that_begins_with_a_letter(text: str, size: int, parts: list[str]) -> None:
    assert list(slices(text, size)) == parts


def _one_rank(*_: object) -> bytes:
    return b"IQ== 0"


def pattern(name: str) -> regex.Pattern[str]:
    """How an encoding cuts a text into what it makes tokens of."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(encoding, "_bytes_of", _one_rank)
        return regex.compile(encoding._parts(name, OPENAI.ENCODING_CONSTRUCTORS[name])["pat_str"])


ANY = st.text("aſS é漢1²٣\u0301々〇， 。’'’\u00a0\x1c \t\r\n/.!-_`{|~s<>😀", max_size=24)


@pytest.mark.parametrize("splits", [pattern("o200k_base"), pattern("cl100k_base")], ids=["o200k_base", "cl100k_base"])
@given(before=ANY, after=ANY)
@example(before="it's", after=", and")
@example(before="e\u0301", after="!")
@example(before="a\n", after="  b")
def test_no_token_crosses_a_cut(splits: regex.Pattern[str], before: str, after: str) -> None:
    text = before + after
    found = encoding._CUT.match(text, 0, len(before) + 1)
    if found is not None:
        cut = found.end()
        assert splits.findall(text[:cut]) + splits.findall(text[cut:]) == splits.findall(text)


@given(text=ANY.map(lambda said: said + "\nword, word"), size=st.integers(8, 30))
def test_a_cut_changes_no_count(text: str, size: int) -> None:
    parts = list(slices(text, size))

    assume(all(encoding._CUT.fullmatch(part + after[:1], 0, len(part)) for part, after in pairwise(parts)))
    assert sum(map(COUNTED, parts)) == COUNTED(text)


@pytest.mark.parametrize(
    ("text", "size", "parts"),
    [
        ("one two", 5, ["one", " two"]),
        ("it's, it", 6, ["it's", ", it"]),
        ("漢字，漢字", 4, ["漢字", "，漢字"]),
        ("dead001beef", 8, ["dead001", "beef"]),
        ("e\u0301e!e\u0301", 5, ["e\u0301e", "!e\u0301"]),
        ("let's", 4, ["let'", "s"]),
    ],
)
def test_a_text_without_such_lines_is_cut_between_words_and_marks(text: str, size: int, parts: list[str]) -> None:
    """Any place used to do, in the middle of a word too."""
    assert list(slices(text, size)) == parts


@pytest.mark.slow
@pytest.mark.parametrize("words", ["one two ", "漢字，", "deadbeef0123", '{"a":1},'])
def test_a_long_text_counts_what_it_counts_as_one(words: str) -> None:
    text = words * (SLICE // len(words) + 9)
    whole = len(load_encoding("o200k_base").encode_ordinary(text))

    assert len(list(slices(text))) == 2
    assert COUNTED(text) == whole
