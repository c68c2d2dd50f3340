"""A job asks, is answered, and ends: with a summary, or with a reason."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from sapwood.actors.model.retry import RetryPolicy
from sapwood.actors.projection.counter import units
from sapwood.actors.summaries.contract import HEADINGS, Kind
from sapwood.actors.summaries.frame import FOCUS
from sapwood.actors.summaries.job import HALVINGS, LEAST, LEAST_PART, begun, least_room, most_calls, next_step
from sapwood.actors.summaries.parts import Count
from sapwood.actors.summaries.prompts import words_for
from sapwood.actors.summaries.steps import (
    Answered,
    Ask,
    Begun,
    Do,
    GaveUp,
    Happened,
    Job,
    Sizes,
    Wait,
    Waited,
    Written,
)
from sapwood.events.messages import AssistantMessage
from tests.build import assistant, call, usage
from tests.strategies import TEXTS as ANY_TEXT

BUSY = assistant(stop="error", error="overloaded")
BAD = assistant(stop="error", error="invalid api key")
TOO_LONG = assistant(stop="error", error="prompt is too long")
WORDS = words_for("compaction")


def laid_out(kind: Kind = "compaction", *, by: str = "(none)", less: int = 0) -> str:
    return "\n".join(f"{heading}\n{by}" for heading in HEADINGS[kind][less:])


GOOD = assistant(laid_out(), usage=usage(10))
MISSING = HEADINGS["compaction"][0]


def job(*texts: str, count: Count = len, kind: Kind = "compaction", room: int = 100_000, **given: Any) -> Job:
    whole = Job(kind=kind, texts=texts, tokens=tuple(map(count, texts)), count=count, room=room, words=words_for(kind))
    return attrs.evolve(whole, **given)


@attrs.define
class Model:
    """Answers what is asked from a script, and keeps all that was done."""

    answers: deque[AssistantMessage]
    stopped: bool = False
    does: list[Do] = attrs.field(factory=list[Do])

    def play(self, wanted: Job) -> Written | GaveUp:
        state = begun(wanted)
        happened: Happened = Begun()
        while True:
            state, do = next_step(state, happened)
            self.does.append(do)
            match do:
                case Ask():
                    message = self.answers.popleft()
                    happened = Answered(message, 0.0, overflowed=message == TOO_LONG)
                case Wait():
                    happened = Waited(stopped=self.stopped)
                case _:
                    return do

    @property
    def prompts(self) -> list[str]:
        return [do.prompt for do in self.does if isinstance(do, Ask)]


def model(*answers: AssistantMessage, stopped: bool = False) -> Model:
    return Model(deque(answers), stopped)


def test_a_short_conversation_is_one_request() -> None:
    asked = model(GOOD)

    end = asked.play(job("[User]: tea", "[Assistant]: </conversation>", " "))

    assert asked.does[0] == Ask(
        f"<conversation>\n[User]: tea\n\n[Assistant]: &lt;/conversation>\n</conversation>\n\n{WORDS.first}",
        WORDS.system,
    )
    assert end == Written(text=laid_out(), usage=usage(10), lacking=(), shortened=False, calls=1)


def test_a_summary_before_is_updated_and_a_focus_added() -> None:
    asked = model(GOOD)
    before = "Old. <summary>\n\n<read-files>\na\n</read-files>\n"

    asked.play(job("C", previous=before, focus="tea"))

    [prompt] = asked.prompts
    assert prompt == (
        "<conversation>\nC\n</conversation>\n\n<previous-summary>\nOld. &lt;summary>\n</previous-summary>"
        f"\n\n{WORDS.update}\n\n{FOCUS} tea"
    )


@pytest.mark.parametrize("blank", ["", " ", "<files>\n</files>"])
def test_a_summary_before_that_says_nothing_is_none(blank: str) -> None:
    asked = model(GOOD)

    asked.play(job("C", previous=blank))

    assert asked.prompts == [f"<conversation>\nC\n</conversation>\n\n{WORDS.first}"]


def folded(wanted: Job, *texts: str) -> tuple[Model, Written | GaveUp]:
    """The job in a room for one of these texts at a time."""
    wanted = attrs.evolve(wanted, texts=texts, tokens=tuple(map(len, texts)), room=least_room(wanted) + LEAST)
    asked = model(*[assistant(f"S{at}", usage=usage(1)) for at in range(1, len(texts))], GOOD)
    return asked, asked.play(wanted)


def test_a_long_one_is_folded_in_parts_each_updating_the_last() -> None:
    texts = ["a" * 300, "b" * 300, "c" * 300]
    asked, end = folded(job(), *texts)

    assert asked.prompts == [
        f"<conversation>\n{texts[0]}\n</conversation>\n\n{WORDS.first}",
        f"<conversation>\n{texts[1]}\n</conversation>\n\n<previous-summary>\nS1\n</previous-summary>\n\n{WORDS.update}",
        f"<conversation>\n{texts[2]}\n</conversation>\n\n<previous-summary>\nS2\n</previous-summary>\n\n{WORDS.update}",
    ]
    assert end == Written(text=laid_out(), usage=usage(12), lacking=(), shortened=False, calls=3)


def test_instructions_of_ones_own_replace_ours_in_every_part_and_switch_the_format_off() -> None:
    own = "Three lines, please."
    asked = model(assistant("S1"), assistant("S2"))
    wanted = job("a" * 300, "b" * 300, instructions=own)

    end = asked.play(attrs.evolve(wanted, room=least_room(wanted) + 200))

    assert [prompt.partition("</conversation>\n\n")[2] for prompt in asked.prompts] == [
        own,
        f"<previous-summary>\nS1\n</previous-summary>\n\n{own}\n\n{WORDS.part}",
    ]
    assert end == Written(text="S2", usage=None, lacking=(), shortened=False, calls=2)


def test_instructions_that_are_blank_replace_nothing() -> None:
    asked = model(GOOD)

    asked.play(job("C", instructions=" \n"))

    assert asked.prompts[0].endswith(WORDS.first)


def test_a_failed_answer_is_asked_for_again_with_the_same_bytes() -> None:
    asked = model(attrs_usage(BUSY, 3), BUSY, GOOD)

    end = asked.play(job("C"))

    first = asked.does[0]
    assert asked.does == [first, Wait(2_000, 1, "overloaded"), first, Wait(4_000, 2, "overloaded"), first, end]
    assert end == Written(text=laid_out(), usage=usage(13), lacking=(), shortened=False, calls=3)


def attrs_usage(message: AssistantMessage, total: int) -> AssistantMessage:
    return assistant(stop=message.stop_reason, error=message.error_message, usage=usage(total))


def test_each_request_has_its_own_retries() -> None:
    policy = RetryPolicy(max_retries=1)
    asked = model(BUSY, assistant("S1"), BUSY, assistant("no format"), BUSY, GOOD)
    wanted = job("a" * 300, "b" * 300, retry=policy)

    end = asked.play(attrs.evolve(wanted, room=least_room(wanted) + 200))

    assert isinstance(end, Written)
    assert end.calls == 6
    assert [do.attempt for do in asked.does if isinstance(do, Wait)] == [1, 1, 1]


def test_retries_come_to_an_end() -> None:
    asked = model(*[BUSY] * 4)

    end = asked.play(job("C"))

    assert end == GaveUp(reason="Summarization failed: overloaded", aborted=False, usage=None, calls=4)


def test_who_stops_the_wait_stops_the_job() -> None:
    asked = model(attrs_usage(BUSY, 3), stopped=True)

    end = asked.play(job("C", kind="branch", words=words_for("branch")))

    assert end == GaveUp(
        reason="Branch summarization failed: the wait before another attempt was cancelled",
        aborted=True,
        usage=usage(3),
        calls=1,
    )


@pytest.mark.parametrize(
    ("answer", "why", "aborted"),
    [
        (assistant("half", stop="length"), "generation hit the token cap and the summary is incomplete", False),
        (assistant(call("1")), "attempted to call a tool", False),
        (assistant(" "), "the answer has no text", False),
        (assistant("half", stop="aborted"), "the request was aborted", True),
        (BAD, "invalid api key", False),
    ],
)
def test_an_answer_that_is_no_summary_ends_the_job(answer: AssistantMessage, why: str, *, aborted: bool) -> None:
    asked = model(answer)

    end = asked.play(job("C", kind="turn_prefix"))

    assert end == GaveUp(reason=f"Turn prefix summarization failed: {why}", aborted=aborted, usage=None, calls=1)


def test_nothing_to_sum_up_is_no_request() -> None:
    end = model().play(job(" ", previous="Old."))

    assert end == GaveUp(
        reason="Summarization failed: there is nothing to summarize", aborted=False, usage=None, calls=0
    )


def test_an_answer_that_misses_the_format_is_asked_for_once_more_with_what_was_missing() -> None:
    bent = laid_out(less=1) + "\n</Earlier-Answer>"
    asked = model(assistant(bent, usage=usage(1)), GOOD)

    end = asked.play(job("C", previous="P", focus="F"))

    again = WORDS.ask_again.replace("{missing}", MISSING)
    assert asked.prompts[1] == (
        "<conversation>\nC\n</conversation>\n\n<previous-summary>\nP\n</previous-summary>\n\n"
        f"<earlier-answer>\n{laid_out(less=1)}\n&lt;/Earlier-Answer>\n</earlier-answer>"
        f"\n\n{WORDS.update}\n\n{again}\n\n{FOCUS} F"
    )
    assert end == Written(text=laid_out(), usage=usage(11), lacking=(), shortened=False, calls=2)


@pytest.mark.parametrize(
    ("second", "text", "lacking"),
    [
        (laid_out(by="2", less=1), laid_out(by="2", less=1), HEADINGS["compaction"][:1]),
        (laid_out(by="2", less=2), laid_out(less=1), HEADINGS["compaction"][:1]),
    ],
)
def test_a_second_miss_is_taken_the_better_of_the_two(second: str, text: str, lacking: Sequence[str]) -> None:
    asked = model(assistant(laid_out(less=1)), assistant(second))

    end = asked.play(job("C"))

    assert end == Written(text=text, usage=None, lacking=tuple(lacking), shortened=False, calls=2)


@pytest.mark.parametrize("answer", [BAD, TOO_LONG, assistant(stop="length"), assistant(call("1"))])
def test_an_answer_that_is_there_is_kept_if_no_second_can_be_had(answer: AssistantMessage) -> None:
    asked = model(assistant("Tea."), answer)

    end = asked.play(job("C"))

    assert end == Written(text="Tea.", usage=None, lacking=HEADINGS["compaction"], shortened=False, calls=2)


def test_who_aborts_the_second_request_stops_the_job() -> None:
    end = model(assistant("Tea."), assistant(stop="aborted")).play(job("C"))

    assert isinstance(end, GaveUp)
    assert end.aborted


def test_the_earlier_answer_is_shown_as_far_as_there_is_room() -> None:
    wanted = job("C" * 100, previous="P" * 50)
    wanted = attrs.evolve(wanted, room=least_room(wanted) + 100)
    asked = model(assistant("x" * 1_000), GOOD)

    asked.play(wanted)

    shown = asked.prompts[1].partition("<earlier-answer>\n")[2].partition("\n</earlier-answer>")[0]
    assert shown == "x" * 168 + "\n\n[... 832 more characters truncated]"
    assert len(asked.prompts[1]) + len(WORDS.system) <= wanted.room


def test_what_overflowed_is_regrouped_in_half_of_what_it_took() -> None:
    texts = [letter * 2_000 for letter in "abcd"]
    asked = model(TOO_LONG, assistant("S1"), assistant("S2"), assistant("S3"), GOOD)

    end = asked.play(job(*texts))

    spoken = [prompt.partition("\n</conversation>")[0] for prompt in asked.prompts]
    assert spoken == [f"<conversation>\n{text}" for text in ["\n\n".join(texts), *texts]]
    assert end == Written(text=laid_out(), usage=usage(10), lacking=(), shortened=False, calls=5)


def test_what_comes_after_an_overflow_stays_in_the_smaller_room() -> None:
    texts = [letter * 2_000 for letter in "abcdef"]
    wanted = job(*texts, instructions="Brief.")
    wanted = attrs.evolve(wanted, room=least_room(wanted) - LEAST + 4_100)
    asked = model(assistant("S1"), TOO_LONG, *[assistant("S")] * 99)

    end = asked.play(wanted)

    shown = [prompt.partition("\n</conversation>")[0].count("\n\n") + 1 for prompt in asked.prompts]
    half = (len(asked.prompts[1]) + len(WORDS.system)) // 2
    assert shown[:2] == [2, 2]
    assert isinstance(end, Written)
    assert all(len(prompt) + len(WORDS.system) <= half for prompt in asked.prompts[2:])
    assert "<previous-summary>\nS1\n" in asked.prompts[2]
    assert texts[0][:9] not in asked.prompts[2]


def test_an_overflow_that_cannot_be_halved_is_given_up_with_the_sizes() -> None:
    wanted = job("C")
    asked = model(TOO_LONG)

    end = asked.play(wanted)

    size = len(asked.prompts[0]) + len(WORDS.system)
    least = least_room(wanted)
    assert end == GaveUp(
        reason=(
            f"Summarization failed: a request of {size} tokens was too large, and half of that is too small to be of use: "
            f"the smallest takes {least} tokens"
        ),
        aborted=False,
        usage=None,
        calls=1,
        sizes=Sizes(asked=size, room=size // 2, least=least),
    )


def test_an_overflow_is_halved_so_often_and_no_more() -> None:
    wanted = job("x" * 1_000_000, room=2_000_000)
    asked = model(*[TOO_LONG] * (HALVINGS + 1))

    end = asked.play(wanted)

    sizes = [len(prompt) for prompt in asked.prompts]
    assert isinstance(end, GaveUp)
    assert end.calls == HALVINGS + 1 == 6
    assert all(2 * after <= before for before, after in pairwise(sizes))
    assert end.reason == (
        f"Summarization failed: a request of {sizes[-1] + len(WORDS.system)} tokens was too large, "
        "and so were 5 larger ones before it"
    )


def test_a_room_for_the_words_alone_is_none() -> None:
    wanted = job("C")
    least = least_room(wanted)

    end = model().play(attrs.evolve(wanted, room=least - 1))

    assert end == GaveUp(
        reason=f"Summarization failed: a request may take {least - 1} tokens, and the smallest that is of use takes {least}",
        aborted=False,
        usage=None,
        calls=0,
        sizes=Sizes(asked=0, room=least - 1, least=least),
    )
    assert isinstance(model(GOOD).play(attrs.evolve(wanted, room=least)), Written)


def test_a_summary_that_takes_half_the_room_is_shortened_and_that_is_told() -> None:
    wanted = job("C", previous="x" * 10_000)
    wanted = attrs.evolve(wanted, room=least_room(wanted) - LEAST + 1_000)
    asked = model(GOOD)

    end = asked.play(wanted)

    shown = asked.prompts[0].partition("<previous-summary>\n")[2].partition("\n</previous-summary>")[0]
    assert shown.endswith(" more characters truncated]")
    assert 480 <= len(shown) <= 500
    assert isinstance(end, Written)
    assert end.shortened


def test_tokens_that_are_wrong_do_not_make_it_go_on_for_ever() -> None:
    wanted = job("x" * 100_000)
    wanted = attrs.evolve(wanted, tokens=(LEAST + 1,), room=least_room(wanted))
    most = (LEAST + 1) // LEAST_PART + 2 + HALVINGS

    end = model(*[assistant("S")] * 999).play(wanted)

    assert isinstance(end, GaveUp)
    assert end.calls == most == 15
    assert end.reason == (
        f"Summarization failed: 15 requests of up to {wanted.room} tokens did not get to the end of the conversation"
    )
    assert most_calls(wanted) == 16 * 4
    assert most_calls(attrs.evolve(wanted, retry=RetryPolicy(enabled=False))) == 16


@pytest.mark.parametrize("longer", ["first", "update", "ask_again", "system"])
def test_the_room_is_for_the_longest_of_our_words(longer: str) -> None:
    words = attrs.evolve(WORDS, **{longer: getattr(WORDS, longer) + "x" * 10_000})

    assert least_room(job("C", words=words)) - least_room(job("C")) in range(9_000, 10_001)


def in_bytes(text: str) -> int:
    return len(text.encode())


def by_four(text: str) -> int:
    return -(-units(text) // 4)


COUNTS: st.SearchStrategy[Count] = st.sampled_from([len, in_bytes, by_four])
SPELLED = st.sampled_from(["<", "</conversation", ">", "x>", "files", "\n", "漢" * 50, "😀" * 50, "tea " * 30])
TEXTS = st.lists(st.lists(SPELLED | ANY_TEXT, max_size=4).map("".join), max_size=12).map(tuple)
ANSWERS: st.SearchStrategy[tuple[AssistantMessage, bool]] = st.tuples(
    st.sampled_from(
        [
            GOOD,
            assistant("Tea."),
            assistant("<files>" * 99),
            BUSY,
            assistant(laid_out(by="x" * 500, less=1), usage=usage(7)),
        ]
    ),
    st.sampled_from([False, False, False, True]),
)


@st.composite
def jobs(draw: DrawFn) -> Job:
    kind: Kind = draw(st.sampled_from(["compaction", "turn_prefix", "branch"]))
    wanted = job(
        *draw(TEXTS),
        count=draw(COUNTS),
        kind=kind,
        previous=draw(st.none() | ANY_TEXT | st.just("P" * 999)),
        focus=draw(st.none() | ANY_TEXT),
        instructions=draw(st.none() | ANY_TEXT),
        retry=RetryPolicy(enabled=draw(st.booleans()), max_retries=draw(st.integers(0, 2))),
    )
    return attrs.evolve(wanted, room=least_room(wanted) + draw(st.integers(-1, 3_000)))


@given(wanted=jobs(), data=st.data())
def test_every_job_ends_in_time_and_no_request_is_too_large(wanted: Job, data: st.DataObject) -> None:
    state, asks, refused, billed = begun(wanted), list[Ask](), set[Ask](), 0
    happened: Happened = Begun()
    while True:
        state, do = next_step(state, happened)
        match do:
            case Ask():
                assert wanted.count(do.prompt) + wanted.count(do.system) <= wanted.room
                assert do not in refused, "an overflow is never sent again"
                asks.append(do)
                message, overflowed = data.draw(ANSWERS)
                billed += message.usage.total_tokens or 0
                refused |= {do} if overflowed else set()
                happened = Answered(message, 0.5, overflowed=overflowed)
            case Wait():
                happened = Waited()
            case Written() | GaveUp():
                break
    assert do.calls == len(asks) <= most_calls(wanted)
    assert (0 if do.usage is None else do.usage.total_tokens) == billed
    if wanted.room < least_room(wanted) and any(text.strip() for text in wanted.texts):
        assert isinstance(do, GaveUp)
        assert not asks


@given(wanted=jobs())
def test_all_of_a_conversation_is_asked_for_once_and_in_order(wanted: Job) -> None:
    wanted = attrs.evolve(wanted, room=wanted.room + 1)
    asked = model(*[GOOD if wanted.kind == "compaction" else assistant(laid_out(wanted.kind))] * 999)
    end = asked.play(wanted)
    spoken = [prompt[len("<conversation>\n") :].partition("\n</conversation>")[0] for prompt in asked.prompts]

    assert isinstance(end, Written) or not any(text.strip() for text in wanted.texts)
    held = "".join("".join(spoken).replace("&lt;", "<").split())
    assert held == "".join("".join(text for text in wanted.texts if text.strip()).replace("&lt;", "<").split())


def test_a_counter_that_does_not_know_what_it_counted_does_not_go_round_for_ever() -> None:
    lied = job("word " * 40_000)
    lied = attrs.evolve(lied, room=least_room(lied) + 200, tokens=(LEAST + 300,))
    asked = model(*[GOOD] * 1000)

    end = asked.play(lied)

    assert isinstance(end, GaveUp)
    calls = len(asked.prompts)
    assert end.reason == (
        f"Summarization failed: {calls} requests of up to {lied.room} tokens did not get to the end of the conversation"
    )
    assert calls <= most_calls(lied)
