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
from pathlib import Path
from typing import Any

import pytest
import tiktoken.load
import tiktoken.registry
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.projection import encoding
from sapwood.actors.projection.encoding import EncodingUnavailable, counting, load_encoding, slices
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


def process(code: str, **environment: str) -> str:
    """What a process without a network prints. It has no home folder that it could write into."""
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK + code],
        env={"PATH": os.environ["PATH"], "HOME": "/proc", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_the_ranks_are_the_ones_that_tiktoken_pins() -> None:
    url, pinned = encoding._pinned("o200k_base")
    data = gzip.decompress((encoding.RANKS / "o200k_base.tiktoken.gz").read_bytes())

    assert hashlib.sha256(data).hexdigest() == pinned
    assert pinned in Path(OPENAI.__file__).read_text(encoding="utf-8")
    assert pinned in (encoding.RANKS / "README.md").read_text(encoding="utf-8")
    assert encoding._name_in_cache(url) == "fb374d419588a4632f3f557e76b4b70aebbca790"


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


def test_nothing_is_left_among_the_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(encoding.CACHE, "the user's")

    load_encoding("o200k_base")

    assert list(tmp_path.iterdir()) == []
    assert os.environ[encoding.CACHE] == "the user's"


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


def test_a_machine_without_a_place_for_temporary_files_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere at all")
    before = dict(os.environ)

    with pytest.raises(EncodingUnavailable, match="FileNotFoundError"):
        load_encoding("o200k_base")
    assert dict(os.environ) == before


def test_a_tiktoken_that_loads_otherwise_than_we_know_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(monkeypatch)
    makers: dict[str, Any] = OPENAI.ENCODING_CONSTRUCTORS

    monkeypatch.setitem(makers, "o200k_base", lambda: {"url": "x://y"})
    with pytest.raises(EncodingUnavailable, match="does not say what"):
        load_encoding("o200k_base")
    with pytest.raises(EncodingUnavailable, match="does not say what nothing is made of"):
        load_encoding("nothing")

    monkeypatch.setitem(makers, "o200k_base", lambda: {"url": "x://y", "hash": "0" * 64})
    with pytest.raises(EncodingUnavailable, match="are damaged"):
        load_encoding("o200k_base")


def test_another_encoding_is_taken_from_tiktokens_cache_if_it_is_right(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_ranks(monkeypatch)
    ranks = b"".join(b"%s %d\n" % (b64encode(bytes([byte])), byte) for byte in range(256))
    right = hashlib.sha256(ranks).hexdigest()
    (tmp_path / encoding._name_in_cache("x://ranks")).write_bytes(ranks)

    def made(expected: str) -> dict[str, Any]:
        loaded = tiktoken.load.load_tiktoken_bpe("x://ranks", expected_hash=expected)
        return {"name": "bytes", "pat_str": r"(?s).+", "mergeable_ranks": loaded, "special_tokens": {}}

    spelled = f"lambda: made('{right}') if 'x://ranks' else None"
    monkeypatch.setitem(
        OPENAI.ENCODING_CONSTRUCTORS,
        "cl100k_base",
        eval(spelled, {"made": made}),  # noqa: S307 - our own words
    )
    monkeypatch.setattr(tiktoken.registry, "ENCODING_CONSTRUCTORS", None)  # it looks again
    monkeypatch.setenv(encoding.CACHE, str(tmp_path))

    assert counting(load_encoding("cl100k_base"))("abc") == 3


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
def test_a_cut_is_before_the_last_line_that_begins_with_a_letter_if_there_is_one(
    text: str, size: int, parts: list[str]
) -> None:
    assert list(slices(text, size)) == parts


OF_LETTERS = st.builds("{}{}\n".format, st.sampled_from("aé漢1²"), st.text("aé漢1²\u0301 \t\r/.!'s<|>😀", max_size=12))
"""A line that begins with a letter or a digit."""


@given(lines=st.lists(OF_LETTERS, min_size=2, max_size=8), more=st.integers(0, 8))
def test_where_a_line_begins_with_a_letter_a_cut_changes_no_count(lines: list[str], more: int) -> None:
    text = "".join(lines)
    parts = list(slices(text, max(map(len, lines)) + more))

    assert all(part.endswith("\n") for part in parts)
    assert sum(map(COUNTED, parts)) == COUNTED(text)
