"""A message that is too large is told by its beginning, in its own role, and says what is missing."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.navigation.cutting import RESULT_MAX, as_told, cut_to_fit
from sapwood.actors.summaries.flatten import TOOL_RESULT_MAX, flatten
from sapwood.events.messages import CompactionSummaryMessage, Message
from tests.actors.navigation.left_behind import PICTURE, THOUGHT, command, custom, letters
from tests.build import MS, assistant, call, result, system, text, user

MARK = "\n\n[... {} more characters truncated]"
SUMMARY = CompactionSummaryMessage(summary="s" * 100, tokens_before=1, timestamp=MS)


def cut(message: Message, room: int, *, always: bool = False) -> Message | None:
    return cut_to_fit(message, room, letters, always=always)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user("hello"), user("hello")),
        (
            user((PICTURE, text("a"), PICTURE, text("b"))),
            user((text("a"), text("b"), text("[image]"), text("[image]"))),
        ),
        (custom((PICTURE,)), custom((text("[image]"),))),
        (custom("note"), custom("note")),
        (assistant(THOUGHT, "a", call("c1"), THOUGHT), assistant("a", call("c1"))),
        (assistant("a"), assistant("a")),
        (result("c1", "r" * 2_000), result("c1", "r" * 2_000)),
        (result("c1", "r" * 2_007), result("c1", "r" * 2_000 + MARK.format(7))),
        (command("ls", "out"), command("ls", "out")),
        (SUMMARY, SUMMARY),
        (system(rules="x"), system(rules="x")),
    ],
)
def test_what_is_told_of_a_message_has_no_thinking_no_images_and_no_long_result(
    message: Message, expected: Message
) -> None:
    assert as_told(message) == expected


def test_the_images_of_a_result_are_marks_behind_its_text() -> None:
    shown = msgspec.structs.replace(result("c1"), content=(PICTURE, text("a"), text("b")))

    assert as_told(shown) == msgspec.structs.replace(shown, content=(text("ab"), text("[image]")))


@pytest.mark.parametrize(
    ("message", "room", "expected"),
    [
        (user("u" * 100), 50, user("u" * 13 + MARK.format(87))),
        (user((text("u" * 50), PICTURE, text("v" * 50))), 90, user("u" * 50 + "vvv" + MARK.format(55))),
        (user((text("hello"), PICTURE)), 13, user("hello\n[image]")),
        (user((PICTURE,)), 7, user("[image]")),
        (custom("u" * 100), 50, custom("u" * 13 + MARK.format(87))),
        (assistant("a" * 50, THOUGHT, "  ", "b" * 50), 97, assistant("a" * 50 + "\n\n" + "b" * 8 + MARK.format(42))),
        (
            assistant("so", call("c1", "write", path="a.py", content="x" * 90)),
            80,
            assistant('so\n\nwrite(path="a.py", content="xxxxxxxxxxx' + MARK.format(81)),
        ),
        (assistant(call("c1", path="a"), call("c2", path="b")), 28, None),
        (result("c1", "r" * 100), 50, result("c1", "r" * 13 + MARK.format(87))),
        (command("ls", "o" * 100), 50, command("ls", "o" * 11 + MARK.format(89))),
        (command("c" * 100, "out"), 50, command("c" * 13 + MARK.format(87), "")),
        (command("c" * 50, "out"), 50, command("c" * 50, "")),
        (command("c" * 49, "out"), 50, None),
        (SUMMARY, 50, CompactionSummaryMessage(summary="s" * 13 + MARK.format(87), tokens_before=1, timestamp=MS)),
        (user("  \n" + "u" * 100), 50, user("u" * 13 + MARK.format(87))),
        (user("u" * 100), 37, None),
        (user("u" * 100), 0, None),
        (user("u" * 100), -5, None),
        (system(rules="x" * 9), 5, None),
    ],
)
def test_what_is_cut_keeps_its_beginning_and_its_role(message: Message, room: int, expected: Message | None) -> None:
    assert cut(message, room) == expected


@pytest.mark.parametrize(
    ("message", "room", "expected"),
    [
        (user("u" * 100), 37, user("u" * 37)),
        (user("  uv" + "u" * 96), 0, user("u")),
        (user("u" * 100), -9, user("u")),
        (command("ls", "out"), 3, command("ls", "o")),
        (command("ls", "out"), 2, command("ls", "")),
        (command("ls", "out"), 1, command("l", "")),
        (command("ls", "out"), 0, command("l", "")),
        (assistant(call("c1", path="a")), 0, assistant("r")),
        (assistant(call("c1", path="a"), call("c2", path="b")), 28, assistant('read(path="a")\n\nread(path="b')),
    ],
)
def test_what_is_always_in_has_a_character_at_least(message: Message, room: int, expected: Message) -> None:
    assert cut(message, room, always=True) == expected


def test_a_result_that_is_cut_is_not_cut_again_when_it_is_told() -> None:
    made = cut(result("c1", "r" * 9_000), 2_030)

    assert made is not None
    (told,) = flatten([made])
    kept = told.count("r", len("[Tool result]: ")) - MARK.count("r")
    assert told == "[Tool result]: " + "r" * kept + MARK.format(9_000 - kept)
    assert RESULT_MAX * 63 // 64 <= kept <= RESULT_MAX
    assert len(told) - len("[Tool result]: ") <= TOOL_RESULT_MAX


@given(st.text("ab \n漢😀", min_size=1, max_size=80), st.integers(-5, 90), st.booleans())
def test_what_is_cut_fits_or_is_a_character(words: str, room: int, always: bool) -> None:
    if not words.strip():
        return
    for message in (user(words), assistant(words), command(words, words), result("c1", words)):
        made = cut(message, room, always=always)
        if made is None:
            assert not always
        elif letters(made) > room:
            assert always
            assert letters(made) == 1
