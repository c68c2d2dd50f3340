"""The header, wherever it stands."""

from __future__ import annotations

import time

import pytest

from sapwood.events.errors import NotAnEntry
from sapwood.store.heads import early_header, end_of_line, find_header
from tests.store.stores import file_of, header_of, line

HEAD = header_of(3)


@pytest.mark.parametrize(
    ("before", "behind"),
    [(b"", b""), (b"\xef\xbb\xbf", b""), (b"rubbish\n", b""), (b"", b"\r"), (b'{"ty', b""), (line("a"), line("b"))],
)
def test_it_is_found_where_it_stands(before: bytes, behind: bytes) -> None:
    data = before + HEAD + behind + b"\n" + line("c") + b"\n"
    head = find_header(data)

    assert (head.header.id, head.header.version, head.goes_on_beside) == ("old", 3, False)
    assert data[head.offset : head.offset + head.length] == HEAD
    assert data[head.start : head.end].endswith(HEAD + behind)


def test_the_first_one_counts() -> None:
    assert find_header(file_of(line("a"), header_of(3, "first"), HEAD, head=b"")).header.id == "first"


def test_what_only_speaks_of_sessions_is_none_and_is_told_at_once() -> None:
    many = b'{"type":"log","of":"session","id":"x"}\n' * 100_000
    began = time.process_time()
    with pytest.raises(NotAnEntry, match="no line of it is a session header"):
        find_header(many)

    assert time.process_time() - began < 5  # a look at each for what may be in it took twelve


def test_where_a_line_ends() -> None:
    assert [end_of_line(b"ab\nc", at) for at in (0, 2, 3)] == [2, 2, 4]


@pytest.mark.parametrize("rest", [b"", b"rubbish\n", header_of(None) + b"\n"])
def test_nothing_speaks_against_version_1_where_no_entry_can_be_read(rest: bytes) -> None:
    head = find_header(header_of(None) + b"\n" + rest)

    assert (head.header.version, head.goes_on_beside) == (1, True)


@pytest.mark.parametrize(
    ("head", "rest", "sure"),
    [
        (HEAD, b"", True),
        (header_of(None), b"", False),
        (header_of(None), b"rubbish\n", False),
        (header_of(None), line("a") + b"\n", False),
        (header_of(None), line("a") + b'\n{"type":"message"}\n', True),
    ],
)
def test_it_is_sure_when_nothing_that_follows_could_make_another_of_it(head: bytes, rest: bytes, sure: bool) -> None:
    assert find_header(head + b"\n" + rest).is_sure == sure


def test_it_is_told_early_where_the_first_bytes_tell_it() -> None:
    old = header_of(None) + b"\n"
    assert early_header(HEAD + b"\n", final=False) == find_header(HEAD + b"\n")
    assert early_header(old, final=True) == find_header(old)
    assert early_header(old, final=False) is early_header(b"rubbish\n", final=False) is None
    with pytest.raises(NotAnEntry):
        early_header(b"rubbish\n", final=True)
