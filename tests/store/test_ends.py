"""What the beginning and the end of a file tell, and what they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.errors import NotAnEntry
from sapwood.events.times import milliseconds
from sapwood.store.ends import LONGEST_TEXT, Ends, ends_of
from tests.interop.trees import lines, tree
from tests.store.stores import HEAD, file_of, line

DATA = Path(__file__).parents[1] / "data"
GAP = b'{"cut":"'
"""The end of the first part of a long file, and the beginning of the last."""


def user(entry_id: str, words: Any, when: str = "2026-01-01T00:00:01.000Z") -> bytes:
    row = json.loads(line(entry_id, None, "message", message={"role": "user", "content": words, "timestamp": 0}))
    return json.dumps({**row, "timestamp": when}).encode()


def named(entry_id: str, name: str | None) -> bytes:
    return line(entry_id, None, "session_info", name=name)


def long(head: bytes, tail: bytes) -> Ends:
    """Of a file with much between."""
    return ends_of(head + GAP, b'x"}\n' + tail)


def test_a_whole_file_tells_everything() -> None:
    ends = ends_of(file_of(user("a", "Which wood?"), named("n", "ash\nor oak")), None)

    assert (ends.header.id, ends.name, ends.first_message) == ("s1", "ash or oak", "Which wood?")
    assert ends.last_activity_ms == milliseconds("2026-01-01T00:00:01.000Z")
    assert not ends.short_of


def test_a_name_of_the_beginning_may_be_another_one_by_now() -> None:
    assert long(file_of(named("n", "old"), user("a", "one")), file_of(user("b", "two"), head=b"")).name is None
    assert long(file_of(named("n", "old")), file_of(named("o", "new"), user("b", "two"), head=b"")).name == "new"


@pytest.mark.parametrize("cleared", ["", "  ", None])
def test_a_name_that_was_taken_back_is_none(cleared: str | None) -> None:
    assert ends_of(file_of(named("n", "old"), named("o", cleared)), None).name is None


def test_the_words_of_a_name_inside_of_something_else_are_no_name() -> None:
    said = line("a", None, "custom", data={"type": "session_info", "name": "no"})

    assert ends_of(file_of(named("n", "yes"), said, said), None).name == "yes"


def test_omp_keeps_the_name_in_its_first_line() -> None:
    slot = b'{"type":"title","v":1,"title":"ash","pad":"   "}\n'

    assert long(slot + HEAD, b"").name == "ash"
    assert long(slot + HEAD, named("n", "oak") + b"\n").name == "oak"
    assert ends_of(b'{"type":"titled","title":"no"}\n' + HEAD, None).name is None
    assert ends_of(b'{"title"\n' + HEAD, None).name is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("one", "one"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ("x" * 5000, "x" * LONGEST_TEXT),
        (" \n", None),
        ([{"type": "image", "data": "aGk=", "mimeType": "image/png"}], None),
    ],
)
def test_the_first_message_is_the_first_with_words(words: Any, told: str | None) -> None:
    ends = ends_of(file_of(user("a", words), user("b", "second")), None)

    assert ends.first_message == (told or "second")


def test_a_message_that_is_cut_is_not_told_by_half() -> None:
    head = file_of(user("a", "a long one"))

    assert ends_of(head[:-6], b"").first_message is None
    assert ends_of(head[:-6], b"").short_of


def test_what_a_model_says_of_a_user_is_no_message_of_one() -> None:
    said = {
        "role": "assistant",
        "content": [{"type": "toolCall", "id": "c", "name": "n", "arguments": {"role": "user"}}],
    }

    assert ends_of(file_of(line("a", None, "message", message=said), user("b", "me")), None).first_message == "me"


def test_bookkeeping_is_no_activity() -> None:
    later = [named("n", "x"), line("l", "a", "label", targetId="a", label="x"), line("c", "a", "custom")]

    ends = ends_of(file_of(user("a", "one", "2025-05-05T00:00:00.000Z"), *later), None)

    assert ends.last_activity_ms == milliseconds("2025-05-05T00:00:00.000Z")
    assert long(file_of(), file_of(*later, head=b"")).last_activity_ms is None


def test_a_session_in_which_nothing_was_said_was_active_when_it_was_begun() -> None:
    assert ends_of(HEAD, None).last_activity_ms == milliseconds("2026-01-01T00:00:00.000Z")


def test_lines_that_are_none_are_passed_over() -> None:
    ends = ends_of(file_of(b'{"role":"user"', user("a", "one"), b"\0\0\0", b'{"type":"message"', b"7"), None)

    assert (ends.first_message, ends.last_activity_ms) == ("one", milliseconds("2026-01-01T00:00:01.000Z"))


@pytest.mark.parametrize("name", ["v1", "v2", "pi-all-kinds", "pi-ringing-v3"])
def test_files_of_every_version_tell_their_first_message(name: str) -> None:
    assert ends_of((DATA / f"{name}.jsonl").read_bytes(), None).first_message


@pytest.mark.parametrize("data", [b"", b"hello\n", b'{"type":"message","id":"a"}\n', HEAD[:-20]])
def test_without_a_header_there_is_no_session(data: bytes) -> None:
    with pytest.raises(NotAnEntry):
        ends_of(data, None)


@given(seed=st.integers(0, 2**16), head=st.integers(0, 4000), tail=st.integers(0, 4000))
def test_parts_tell_what_the_whole_tells_or_nothing(seed: int, head: int, tail: int) -> None:
    data = lines(tree(seed)[0])
    whole = ends_of(data, None)
    first = max(head, data.index(b"\n") + 1)

    ends = ends_of(data[:first], data[len(data) - min(tail, len(data)) :])

    assert ends.name in (whole.name, None)
    assert ends.first_message in (whole.first_message, None)
    assert ends.last_activity_ms in (whole.last_activity_ms, None)


@given(data=st.binary(max_size=300))
def test_nothing_that_a_file_holds_raises(data: bytes) -> None:
    ends_of(HEAD + data, data)
    ends_of(HEAD + data, None)
