"""Who said what, in text; and what is left out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing.rendering import BRANCH_INTRO, COMPACTION_INTRO
from sapwood.actors.projection.counter import units
from sapwood.actors.summaries.flatten import IMAGE, TOOL_RESULT_MAX, cut_result, flatten
from sapwood.events.content import ImageContent, ThinkingContent, UserContent, without_surrogates
from sapwood.events.messages import (
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    ToolResultMessage,
)
from tests.build import MS, assistant, call, result, system, text, user
from tests.strategies import MESSAGES

PICTURE = ImageContent(data="aGk=", mime_type="image/png")


def custom(content: UserContent) -> CustomMessage:
    return CustomMessage(custom_type="note", content=content, display=True, timestamp=MS)


def command(output: str = "a.py", *, excluded: bool | None = None) -> BashExecutionMessage:
    return BashExecutionMessage(
        command="ls", output=output, cancelled=False, truncated=False, exclude_from_context=excluded, timestamp=MS
    )


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (user("hello"), "[User]: hello"),
        (user((text("a"), text("b"), PICTURE, text("c"))), f"[User]: abc\n{IMAGE}"),
        (user((PICTURE, PICTURE)), f"[User]: {IMAGE}\n{IMAGE}"),
        (custom("noted"), "[User]: noted"),
        (command(), "[User]: I ran `ls`:\n\n```\na.py\n```"),
        (
            BranchSummaryMessage(summary="A dead end.", from_id=None, timestamp=MS),
            f"[User]: {BRANCH_INTRO}\n\n<summary>\nA dead end.\n</summary>",
        ),
        (
            CompactionSummaryMessage(summary="So far.", tokens_before=1, timestamp=MS),
            f"[User]: {COMPACTION_INTRO}\n\n<summary>\nSo far.\n</summary>",
        ),
        (assistant("one", " ", "two"), "[Assistant]: one\ntwo"),
        (assistant(ThinkingContent(thinking="Hm."), "said"), "[Assistant]: said"),
        (
            assistant(call("1", path="a.py", n=2.0), call("2", "bash", command='echo "é"'), call("3", "now")),
            '[Assistant tool calls]: read(path="a.py", n=2); bash(command="echo \\"é\\""); now()',
        ),
        (assistant(call("1"), "Let me look."), "[Assistant]: Let me look.\n\n[Assistant tool calls]: read()"),
        (result("1", "found"), "[Tool result]: found"),
        (
            ToolResultMessage(
                tool_call_id=call("1").id, tool_name="read", content=(PICTURE,), is_error=False, timestamp=MS
            ),
            f"[Tool result]: {IMAGE}",
        ),
        (user("half \ud83d of one"), "[User]: half \ufffd of one"),
    ],
)
def test_each_message_is_told_under_who_said_it(message: Message, told: str) -> None:
    assert flatten([message]) == [told]


@pytest.mark.parametrize(
    "message",
    [
        system(house="Be brief."),
        user(" \n"),
        user((text(""),)),
        custom(""),
        command(excluded=True),
        assistant(),
        assistant(ThinkingContent(thinking="Hm.", thinking_signature="s")),
        assistant("cut off", stop="aborted"),
        assistant("went wrong", stop="error"),
        result("1", " "),
    ],
)
def test_what_says_nothing_or_is_not_sent_is_left_out(message: Message) -> None:
    assert flatten([user("a"), message, user("b")]) == ["[User]: a", "[User]: b"]


def test_results_of_failed_answers_are_left_out_and_all_of_them_on_demand() -> None:
    talk: list[Message] = [
        assistant(call("1"), stop="aborted"),
        result("1", "lost"),
        assistant(call("2")),
        result("2", "kept"),
    ]

    assert flatten(talk) == ["[Assistant tool calls]: read()", "[Tool result]: kept"]
    assert flatten(iter(talk), results=False) == ["[Assistant tool calls]: read()"]


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("x" * 2_000, "x" * 2_000),
        ("x" * 2_005, "x" * 2_000 + "\n\n[... 5 more characters truncated]"),
        ("😀" * 1_001, "😀" * 1_000 + "\n\n[... 2 more characters truncated]"),
        ("x" + "😀" * 1_000, "x" + "😀" * 999 + "\n\n[... 2 more characters truncated]"),
    ],
)
def test_a_long_result_is_cut_between_characters_and_says_how_much_is_missing(told: str, shown: str) -> None:
    assert cut_result(told) == shown
    assert flatten([result("1", told)]) == [f"[Tool result]: {shown}"]


def test_only_results_are_cut() -> None:
    assert flatten([user("x" * 2_005)]) == ["[User]: " + "x" * 2_005]


def test_an_image_is_told_behind_what_was_cut() -> None:
    message = ToolResultMessage(
        tool_call_id=call("1").id,
        tool_name="read",
        content=(text("x" * 2_001), PICTURE),
        is_error=False,
        timestamp=MS,
    )

    assert flatten([message])[0].endswith(f"x\n\n[... 1 more characters truncated]\n{IMAGE}")


@given(st.text(st.sampled_from("x😀\ud83d漢"), min_size=1_990, max_size=2_010))
def test_a_cut_result_begins_like_the_whole_and_counts_what_is_missing(whole: str) -> None:
    shown, _, rest = cut_result(whole).partition("\n\n[... ")

    assert units(shown) <= TOOL_RESULT_MAX
    assert without_surrogates(whole).startswith(shown)
    if rest:
        assert int(rest.split()[0]) == units(whole) - units(shown)


@given(st.lists(MESSAGES, max_size=5), st.booleans())
def test_any_conversation_is_texts_that_can_be_written(messages: list[Message], results: bool) -> None:
    texts = flatten(messages, results=results)

    assert len(texts) <= len(messages)
    assert all(told.strip() and told.startswith("[") for told in texts)
    "\n\n".join(texts).encode()
