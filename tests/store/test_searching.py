"""Whether something is said in a session: in its texts, and not in how they are stored."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.codec import decode_entry, encode_entry
from sapwood.events.entries import Entry
from sapwood.store import searching
from sapwood.store.searching import FEW, Needle, said_in
from tests.build import assistant, call, message_entry, result, system, user
from tests.store.stores import file_of, line


def found(text: str, data: bytes, block: int = 7) -> bool:
    def blocks() -> Iterator[bytes]:
        return (data[at : at + block] for at in range(0, len(data), block))

    *_, last = [False, *Needle(text).steps(blocks())]
    return last


TALK = file_of(
    *map(
        encode_entry,
        [
            message_entry("s", system(rules="Beware of resin.")),
            message_entry("u", user('Which "wood"? Ménage\nà trois')),
            message_entry("a", assistant("Ash is Heavy.", call("c1", path="larch.md"))),
            message_entry("r", result("c1", "beech and birch")),
        ],
    ),
    line("k", "r", "compaction", summary="of poplar", firstKeptEntryId="k", tokensBefore=1),
    line("b", "k", "branch_summary", summary="of elm", fromId="r"),
    line("l", "b", "label", targetId="u", label="maple"),
    line("n", "l", "session_info", name="walnut"),
    line("m", "n", "custom_message", customType="x", content="cherry", display=True),
    line("c", "m", "custom", customType="yew", data={"text": "yew"}),
    line(
        "e",
        "c",
        "message",
        message={
            "role": "bashExecution",
            "command": "ls lime",
            "output": "alder",
            "timestamp": 0,
            "exitCode": 0,
            "cancelled": False,
            "truncated": False,
        },
    ),
)


SAID = 'wood|"wood"|WOOD|ménage|MÉNAGE|Ménage\nà|ash is heavy|beech|poplar|elm|maple|walnut|cherry|ls lime|alder| is '


@pytest.mark.parametrize("text", SAID.split("|"))
@pytest.mark.parametrize("block", [1, 7, 100_000])
def test_what_is_said_is_found(text: str, block: int) -> None:
    assert found(text, TALK, block)


@pytest.mark.parametrize("text", ["yew", "resin", "role", "toolCall", "2026", "larch", "oak", "\\n", "heavy. "])
def test_what_is_only_stored_is_not(text: str) -> None:
    assert not found(text, TALK)


def test_the_last_line_needs_no_end_and_no_line_must_be_one() -> None:
    assert found("wood", b"\0{\n" + encode_entry(message_entry("u", user("wood"))))
    assert not found("wood", b'{"wood\n"wood"\n')


def test_version_1_has_no_ids_and_is_searched_all_the_same() -> None:
    said = {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "old wood", "timestamp": 1}}

    assert found("old wood", json.dumps(said).encode() + b"\n")


def test_no_block_is_taken_behind_the_one_in_which_it_is_found() -> None:
    taken: list[int] = []

    def blocks() -> Iterator[bytes]:
        for nth in range(5):
            taken.append(nth)
            yield encode_entry(message_entry(f"u{nth}", user("wood" if nth == 2 else "no"))) + b"\n"

    assert list(Needle("wood").steps(blocks())) == [False, False, True]
    assert taken == [0, 1, 2]


def test_a_line_beyond_all_measure_is_searched_as_it_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "LONGEST_LINE", 100)
    data = encode_entry(message_entry("u", user("x" * 200 + " wood " + "x" * 5000)))

    assert found("wood", data, block=50)
    assert not found("oak", data, block=50)
    assert not found("ä", data, block=50)


def test_a_name_is_compared_without_regard_to_great_and_small() -> None:
    assert Needle("ASH").is_in("an ash")
    assert not Needle("oak").is_in("an ash")
    assert not Needle("").is_in(None)


@given(words=st.text(max_size=8), text=st.text(min_size=1, max_size=3), ascii_only=st.booleans())
def test_it_is_found_just_where_its_text_holds_it(words: str, text: str, ascii_only: bool) -> None:
    row = json.loads(encode_entry(message_entry("u", user("."))))
    row["message"]["content"] = words
    data = json.dumps(row, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") + b"\n"

    (said,) = said_in(decode_entry(data.strip()))

    assert found(text, data) == (text.casefold() in said.casefold())


@pytest.mark.parametrize("rubbish", [b"\n", b"wood \xc3\xa9\n", b"{}\n", b'{"type":"custom"}\n'])
@pytest.mark.parametrize("text", ["wood", "é"])
def test_lines_that_say_nothing_are_passed_over(rubbish: bytes, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[bytes]()

    def counted(line: bytes) -> Entry:
        read.append(line)
        return decode_entry(line)

    monkeypatch.setattr(searching, "decode_entry", counted)

    assert not found(text, rubbish * 100, block=64)
    assert read == []


def test_lines_that_take_long_are_read_a_few_at_a_time() -> None:
    """A block of lines that are nearly entries takes seconds: whoever waits may leave after a few."""
    nearly = b'{"type":"message","id":7,"said":"wood"}\n'
    data = nearly * (10 * FEW)

    steps = Needle("wood").steps([data])

    assert [*steps] == [False] * (10 + 2), "after every few of them, after the block, and at the end"
    assert [*Needle("wood").steps([b"\n" * 10_000])] == [False, False], "those that are passed over take nothing"
    assert [*Needle("wood").steps([data, encode_entry(message_entry("u", user("wood")))])][-1]
