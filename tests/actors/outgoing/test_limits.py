"""What a model takes at most, on the way out and never in the log (P11)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing import Limited, prepare
from sapwood.actors.outgoing.limits import EVICTED, TOO_LARGE, keep_within
from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import AssistantMessage, Message, SystemMessage, ToolResultMessage
from sapwood.events.models import LEAST_CALL_ID, LEAST_TEXT_BYTES, Limits
from tests.actors.outgoing.paired import assert_paired
from tests.build import MS, assistant, call, result, system, text, user


def image(data: str = "aGk=") -> ImageContent:
    return ImageContent(data=data, mime_type="image/png")


def shown(call_id: str, *images: ImageContent) -> ToolResultMessage:
    return msgspec.structs.replace(result(call_id), content=images)


def sent(messages: Sequence[Message], limits: Limits) -> tuple[tuple[OutgoingMessage, ...], tuple[Limited, ...]]:
    outgoing = prepare(messages, provider="scripted", model="talker", limits=limits)
    return outgoing.messages, outgoing.limited


LEAST = {"images": 0, "image_bytes": 0, "text_bytes": LEAST_TEXT_BYTES, "call_id_length": LEAST_CALL_ID}


@pytest.mark.parametrize("limit", [field.name for field in msgspec.structs.fields(Limits)])
def test_each_limit_that_can_be_declared_is_kept(limit: str) -> None:
    name = "a" * (LEAST_CALL_ID + 1)
    messages: list[Message] = [user((text("x" * (LEAST_TEXT_BYTES + 1)), image())), assistant(call(name)), result(name)]

    outgoing, limited = sent(messages, Limits(**{limit: LEAST[limit]}))

    assert [(one.limit, one.times) for one in limited] == [(limit, 1)]
    assert outgoing != sent(messages, Limits())[0]


def test_what_is_within_all_limits_goes_as_it_is() -> None:
    messages = (
        system(rules="x" * 90),
        user((text("x" * 64), image("x" * 8))),
        assistant(call("a" * 16)),
        result("a" * 16),
    )
    limits = Limits(images=1, image_bytes=8, text_bytes=64, call_id_length=16)

    outgoing, limited = sent(messages, limits)

    assert (outgoing, limited) == (messages, ())
    assert keep_within(messages, limits)[0] is messages
    assert sent(messages, Limits()) == (messages, ())


def test_in_the_place_of_an_image_that_is_too_large_stands_a_word() -> None:
    messages: list[Message] = [
        user((image("x" * 9), text("look"))),
        assistant(call("a")),
        shown("a", image("x" * 8), image("x" * 9)),
    ]

    outgoing, limited = sent(messages, Limits(image_bytes=8))

    assert outgoing == (
        user((text(TOO_LARGE), text("look"))),
        assistant(call("a")),
        msgspec.structs.replace(result("a"), content=(image("x" * 8), text(TOO_LARGE))),
    )
    assert limited == (Limited("image_bytes", 2),)


def held(messages: Sequence[OutgoingMessage]) -> list[bool]:
    """For each image that there was, whether it is sent."""
    return [
        isinstance(block, ImageContent)
        for message in messages
        for block in message.content
        if isinstance(block, ImageContent) or block in (text(EVICTED), text(TOO_LARGE))
    ]


@pytest.mark.parametrize(
    ("most", "images", "evicted"),
    [(4, 4, 0), (4, 5, 2), (4, 6, 2), (4, 7, 4), (1, 3, 2), (3, 4, 1), (0, 2, 2), (5, 20, 16)],
)
def test_too_many_images_go_by_age_and_in_steps(most: int, images: int, evicted: int) -> None:
    messages = [user((text(str(n)), image())) for n in range(images)]

    outgoing, limited = sent(messages, Limits(images=most))

    assert held(outgoing) == [False] * evicted + [True] * (images - evicted)
    assert limited == ((Limited("images", evicted),) if evicted else ())


def test_an_image_that_is_too_large_is_none_of_those_that_are_too_many() -> None:
    messages = [user((image(), image("x" * 9), image()))]

    outgoing, limited = sent(messages, Limits(images=2, image_bytes=8))

    assert held(outgoing) == [True, False, True]
    assert limited == (Limited("image_bytes", 1),)


def test_between_two_evictions_the_beginning_stays_as_it_is() -> None:
    messages = [user((text(str(n)), image())) for n in range(40)]
    requests = [sent(messages[:n], Limits(images=10))[0] for n in range(1, 41)]

    breaks = [n for n, (one, other) in enumerate(pairwise(requests), 1) if other[: len(one)] != one]

    assert breaks == [10, 15, 20, 25, 30, 35], "each makes room for five more"


def test_a_long_text_keeps_its_ends_wherever_it_stands() -> None:
    long = "head" + "漢" * 200 + "tail"
    signed = TextContent(text=long, text_signature="sig")
    messages: list[Message] = [user(long), user((text(long),)), assistant(signed, call("a")), result("a", long)]

    outgoing, limited = sent(messages, Limits(text_bytes=100))

    cut = str(outgoing[0].content)
    assert re.fullmatch(r"head漢*\n\[\.\.\. \d+ of 608 bytes left out \.\.\.\]\n漢*tail", cut)
    assert len(cut.encode()) <= 100
    assert outgoing == (user(cut), user((text(cut),)), assistant(cut, call("a")), result("a", cut))
    assert limited == (Limited("text_bytes", 4),)


def test_a_prompt_a_thought_and_arguments_are_never_cut() -> None:
    long = "x" * 1000
    thought = ThinkingContent(thinking=long, thinking_signature="s")
    messages = (
        SystemMessage(content=long, sections={"rules": long}, timestamp=MS),
        SystemMessage(content=(text(long),), timestamp=MS),
        assistant(thought, call("a", path=long)),
        result("a"),
    )

    assert sent(messages, Limits(text_bytes=64)) == (messages, ())
    assert sent((*messages, user(long)), Limits(text_bytes=64))[0][:-1] == messages, "beside what is cut as well"


def ids_of(messages: Sequence[OutgoingMessage]) -> list[str]:
    return [
        one
        for message in messages
        for one in (
            [message.tool_call_id]
            if isinstance(message, ToolResultMessage)
            else [block.id for block in message.content if isinstance(block, ToolCall)]
            if isinstance(message, AssistantMessage)
            else []
        )
    ]


def test_an_id_that_the_model_does_not_take_is_another_one_for_call_and_result() -> None:
    odd = ["fc_1|" + "x" * 115, "fc_1+" + "x" * 115, "x" * 65, "", "call.1"]
    fine = ["ends_in_", "x" * 64, "a-B_9"]
    messages = [one for call_id in [*odd, *fine] for one in (assistant(call(call_id)), result(call_id))]

    outgoing, limited = sent(messages, Limits(call_id_length=64))

    names = ids_of(outgoing)
    assert names[::2] == names[1::2]
    assert len(set(names)) == len(odd) + len(fine)
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert names[2 * len(odd) :: 2] == fine
    assert names[0].startswith("fc_1_x")
    assert limited == (Limited("call_id_length", len(odd)),)
    assert [message.tool_call_id for message in messages if isinstance(message, ToolResultMessage)] == [*odd, *fine]


def test_the_shortest_id_still_tells_how_the_call_was_called_and_is_no_other_ones() -> None:
    calls = [f"read_{n}|{'x' * 40}" for n in range(200)]
    messages = [one for call_id in calls for one in (assistant(call(call_id)), result(call_id))]

    names = ids_of(sent(messages, Limits(call_id_length=LEAST_CALL_ID))[0])[::2]

    assert len(set(names)) == len(calls)
    assert {(name[:4], len(name)) for name in names} == {("rea-", LEAST_CALL_ID)}


def test_an_id_that_is_given_already_is_given_to_no_other_call() -> None:
    (first, _), _ = sent([assistant(call("a|b")), result("a|b")], Limits(call_id_length=16))
    taken = ids_of([first])[0]
    messages: list[Message] = [assistant(call("a|b")), result("a|b"), assistant(call(taken)), result(taken)]

    names = ids_of(sent(messages, Limits(call_id_length=16))[0])

    assert names[:2] == [taken, taken], "the earlier one keeps it"
    assert names[2] == names[3] != taken
    assert len(names[2]) <= 16


BLOCKS: list[UserBlock] = [text("short"), text("x" * 200), image(), image("x" * 9)]
IDS = st.sampled_from(["a", "b|", "b+", "", "x" * 17])
MESSAGES = st.lists(
    st.one_of(
        st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=3).map(lambda blocks: user(tuple(blocks))),
        st.lists(IDS, max_size=2).map(lambda calls: assistant("é" * 50, *map(call, calls))),
        IDS.map(lambda name: shown(name, image())),
    ),
    max_size=12,
)
LIMITS = st.builds(
    Limits,
    images=st.none() | st.integers(0, 3),
    image_bytes=st.none() | st.just(8),
    text_bytes=st.none() | st.integers(64, 120),
    call_id_length=st.none() | st.just(16),
)


@given(MESSAGES, LIMITS)
def test_whatever_a_log_holds_goes_out_within_the_limits_and_paired(messages: list[Message], limits: Limits) -> None:
    outgoing, limited = sent(messages, limits)

    blocks = [block for message in outgoing if not isinstance(message.content, str) for block in message.content]
    images = [block for block in blocks if isinstance(block, ImageContent)]
    assert_paired(outgoing)
    assert limits.images is None or len(images) <= limits.images
    assert limits.image_bytes is None or all(len(one.data) <= limits.image_bytes for one in images)
    if limits.text_bytes is not None:
        assert all(len(one.text.encode()) <= limits.text_bytes for one in blocks if isinstance(one, TextContent))
    if limits.call_id_length is not None:
        assert all(re.fullmatch("[A-Za-z0-9_-]{1,16}", ToolCallId(one)) for one in ids_of(outgoing))
    assert (limited == ()) == (outgoing == sent(messages, Limits())[0])
