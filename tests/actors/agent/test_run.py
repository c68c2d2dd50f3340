"""What a run does next, told as the things it does: an event by its name, an effect by what it asks for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sapwood.actors.agent.run import next_step
from sapwood.actors.agent.state import IDLE, Rules
from sapwood.actors.agent.steps import (
    Answered,
    AtBoundary,
    Broke,
    CallModel,
    CallTools,
    Check,
    Checked,
    Crossed,
    Do,
    End,
    Happened,
    Hidden,
    Hide,
    Prepare,
    Prepared,
    Record,
    Recorded,
    Recover,
    Recovered,
    Started,
    TakeNext,
    Tell,
    TellQueue,
    Told,
    Took,
    ToolsDone,
    Wait,
    Waited,
)
from sapwood.actors.compaction.recovery import Recovery
from sapwood.actors.model.retry import RetryPolicy
from sapwood.events.commands import Input, QueueName
from sapwood.events.content import ToolCall
from sapwood.events.errors import CannotWrite, SapwoodError
from sapwood.events.failures import Failure, noted
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, Message, SystemMessage
from sapwood.events.requests import Ran
from sapwood.events.runtime import (
    AgentEnd,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    Diagnostic,
    MessageEnd,
    MessageStart,
    SessionCompactFailed,
    TurnEnd,
    TurnStart,
    name_of,
)
from tests.build import MS, assistant, call, result, system, user, words

CHANGE = system(house="Be brief.")
FULL = CannotWrite("s.jsonl", OSError(28, "No space left on device"))
OVERLOADED = assistant(stop="error", error="overloaded")


def said(text: str) -> Input:
    return Input(entry_id=EntryId(text), text=text, timestamp=MS)


@attrs.define
class World:
    """Does what a run says, and keeps it."""

    answers: deque[AssistantMessage]
    rules: Rules = attrs.field(factory=Rules)
    queued: dict[QueueName, list[str]] = attrs.field(factory=lambda: {"steering": [], "follow_up": []})
    changes: list[SystemMessage] = attrs.field(factory=list[SystemMessage])
    stopped: bool = False
    """From the beginning of a wait, or of the calls of tools, on."""
    terminate: bool = False
    recoveries: Sequence[tuple[AssistantMessage, Recovery]] = ()
    """What answers call for."""
    tried: bool = False
    recovers: bool = True
    words: Sequence[bool | None] = ()
    """What extensions say of going on, one boundary after the other; then nothing."""
    breaks: frozenset[int] = frozenset()
    """The nth effects that cannot be done."""
    done: list[Do] = attrs.field(factory=list[Do])
    entries: int = 0

    def play(self) -> list[Do]:
        state = replace(IDLE, rules=self.rules)
        happened: Happened = Started(said("hello"))
        while len(self.done) < 300:
            state, do = next_step(state, happened)
            self.done.append(do)
            if isinstance(do, End):
                return self.done
            happened = Broke(FULL) if len(self.done) - 1 in self.breaks else self._do(do)
        raise AssertionError("the run does not end")

    def _do(self, do: Do) -> Happened:
        match do:
            case Record(message=message, entry_id=entry_id):
                self.entries += 1
                return Recorded(message, entry_id or EntryId(f"e{self.entries}"))
            case CallModel():
                answer = self.answers.popleft()
                recovery = next((called for one, called in self.recoveries if one == answer), None)
                return Answered(answer, recovery=recovery, tried=self.tried)
            case Prepare():
                return Prepared(self.changes.pop(0) if self.changes else None)
            case TakeNext(queues=queues):
                for queue in queues:
                    if self.queued[queue] and not self.stopped:
                        return Took(do, said(self.queued[queue].pop(0)), queue)
                return Took(do, stopped=self.stopped)
            case Check():
                return Checked()
            case Hide():
                return Hidden()
            case Recover():
                return Recovered(done=self.recovers, stopped=self.stopped)
            case CallTools(calls=calls):
                return ToolsDone(tuple(map(self._ran, calls)), stopped=self.stopped)
            case Wait():
                return Waited(stopped=self.stopped)
            case AtBoundary():
                word, *rest = self.words or (None,)
                self.words = rest
                return Crossed(do, word)
            case _:
                return Told()

    def _ran(self, one: ToolCall) -> Ran:
        return Ran(message=result(one.id), entry_id=EntryId(f"r-{one.id}"), terminate=self.terminate)


def world(*answers: AssistantMessage, steering: Sequence[str] = (), follow_up: Sequence[str] = ()) -> World:
    return World(deque(answers), queued={"steering": [*steering], "follow_up": [*follow_up]})


def told(do: Do) -> str:
    """What is done, in a word or two."""
    match do:
        case Check(incoming=incoming, sends=sends):
            said_next = "".join(f" {one.text}" for one in incoming)
            return f"look{said_next}" if sends else "look behind"
        case Hide(entry_id=entry_id):
            return f"hide {entry_id}"
        case Recover(will_retry=will_retry):
            return "recover to retry" if will_retry else "recover"
        case Tell(MessageStart(message=message) | MessageEnd(message=message) as event):
            return f"{name_of(event)} {shown(message)}"
        case Tell(event):
            return name_of(event)
        case Record(message=message):
            return f"record {shown(message)}"
        case TakeNext(queues=queues, begins=begins):
            return f"{'begin with' if begins else 'take'} {' or '.join(queues)}"
        case CallModel(number):
            return f"model {number}"
        case CallTools(calls=calls, truncated=truncated):
            return f"{'refuse' if truncated else 'run'} {' '.join(one.id for one in calls)}"
        case Wait(delay_ms):
            return f"wait {delay_ms}"
        case _:
            return type(do).__name__


def shown(message: Message) -> str:
    return f"{message.role} {words(message)}".strip()


def story(world: World) -> list[str]:
    """Without the looks at the context, which have their own tests."""
    return [told(do) for do in world.play() if not isinstance(do, Check)]


def all_of(world: World) -> list[str]:
    return [told(do) for do in world.play()]


OPENING = ["agent_start", "turn_start", "Prepare"]
SAYING = ["message_start user hello", "record user hello", "message_end user hello", "take steering"]
NOBODY = ["begin with steering or follow_up", "agent_end", "begin with steering or follow_up", "End"]


def test_a_plain_answer_is_told_in_pis_order_and_nothing_before_it_is_recorded() -> None:
    assert story(world(assistant("hi"))) == [
        *OPENING,
        *SAYING,
        *("model 0", "record assistant hi", "message_end assistant hi", "turn_end"),
        *NOBODY,
    ]


def test_the_end_of_the_low_level_run_has_what_it_put_into_the_log() -> None:
    answer = assistant("hi")

    done = world(answer).play()

    assert Tell(AgentEnd(messages=(user(), answer), will_retry=False)) in done
    assert done[-1] == End(aborted=False)


def test_a_change_of_the_prompt_comes_between_the_start_of_the_turn_and_the_users_message() -> None:
    changed = world(assistant("hi"))
    changed.changes = [CHANGE]

    assert story(changed)[: len(OPENING) + 4] == [
        *OPENING,
        *("message_start system", "record system", "message_end system"),
        "message_start user hello",
    ]


CALLING = assistant(call("c1"), call("c2"), stop="toolUse")


def test_the_calls_of_an_answer_are_run_and_their_results_told_in_the_order_of_the_calls() -> None:
    assert story(world(CALLING, assistant("done"))) == [
        *OPENING,
        *SAYING,
        *("model 0", "record assistant", "message_end assistant", "run c1 c2"),
        *("message_start toolResult done", "message_end toolResult done") * 2,
        *("turn_end", "turn_start", "Prepare", "take steering"),
        *("model 1", "record assistant done", "message_end assistant done", "turn_end"),
        *NOBODY,
    ]


def test_the_turn_ends_with_its_own_answer_and_results_and_the_run_with_all_of_them() -> None:
    done = world(CALLING, assistant("done")).play()

    ends = [do.event for do in done if isinstance(do, Tell) and isinstance(do.event, TurnEnd)]
    results = (result("c1"), result("c2"))
    assert ends == [
        TurnEnd(message=CALLING, tool_results=results),
        TurnEnd(message=assistant("done"), tool_results=()),
    ]
    assert Tell(AgentEnd(messages=(user(), CALLING, *results, assistant("done")), will_retry=False)) in done


def test_calls_of_an_answer_that_was_cut_off_are_not_run() -> None:
    cut = assistant(call("c1"), stop="length")

    assert "refuse c1" in story(world(cut, assistant("done")))


def test_an_answer_that_filled_its_limit_without_a_call_is_kept_as_it_is() -> None:
    assert story(world(assistant("much", stop="length")))[-5:] == ["turn_end", *NOBODY]


def test_a_run_that_was_stopped_in_its_tools_asks_for_nothing_more() -> None:
    stopped = world(CALLING, steering=[], follow_up=["later"])
    stopped.stopped = True

    done = stopped.play()

    assert [told(do) for do in done][-3:] == ["turn_end", "agent_end", "End"]
    assert done[-1] == End(aborted=True)
    assert stopped.queued["follow_up"] == ["later"]


def test_a_run_stops_behind_its_tools_if_every_result_says_so_unless_something_waits() -> None:
    final, steered = world(CALLING), world(CALLING, assistant("ok"), steering=[], follow_up=["and?"])
    final.terminate = steered.terminate = True

    assert story(final)[-5:] == ["turn_end", *NOBODY]
    assert "record user and?" in story(steered)


def queue_taken(text: str) -> list[str]:
    return ["TellQueue", f"message_start user {text}", f"record user {text}", f"message_end user {text}"]


def test_steering_joins_the_next_request_one_at_a_time() -> None:
    steered = story(world(assistant("one"), assistant("two"), steering=["s1", "s2"]))

    first = [*OPENING, *SAYING, *queue_taken("s1"), "model 0"]
    assert steered[: len(first)] == first
    behind = steered[steered.index("turn_end") :]
    assert behind[:9] == [
        "turn_end",
        "begin with steering or follow_up",
        *("turn_start", "Prepare"),
        *queue_taken("s2"),
        "model 1",
    ]


def test_steering_enters_behind_the_tools() -> None:
    late = world(CALLING, assistant("ok"))
    told_first = story(late)
    late = world(CALLING, assistant("ok"), steering=["s1", "s2"])

    assert told_first.index("take steering") < told_first.index("run c1 c2")
    steered = story(late)
    assert steered.index("run c1 c2") < steered.index("record user s2") < steered.index("model 1")


def test_all_at_once_is_all_of_one_queue_before_one_request() -> None:
    every = world(assistant("one"), assistant("two"), steering=["s1", "s2"], follow_up=["f1", "f2"])
    every.rules = Rules(steering="all", follow_up="all")

    recorded = [one for one in story(every) if one.startswith(("record user", "model"))]

    assert recorded == [
        *("record user hello", "record user s1", "record user s2", "model 0"),
        *("record user f1", "record user f2", "model 1"),
    ]


@pytest.mark.parametrize(
    ("rules", "order"),
    [
        (Rules(steering="all"), ["hello", "s1", "s2", "model 0", "f1", "model 1", "f2", "model 2"]),
        (Rules(follow_up="all"), ["hello", "s1", "model 0", "s2", "model 1", "f1", "f2", "model 2"]),
    ],
)
def test_each_queue_has_a_mode_of_its_own(rules: Rules, order: list[str]) -> None:
    mixed = world(*[assistant("ok")] * 3, steering=["s1", "s2"], follow_up=["f1", "f2"])
    mixed.rules = rules

    assert [one.removeprefix("record user ") for one in story(mixed) if one.startswith(("record user", "model"))] == (
        order
    )


def test_turns_are_counted_from_the_beginning_of_each_low_level_run() -> None:
    done = world(CALLING, CALLING, OVERLOADED, assistant("hi")).play()

    starts = [do.event.turn_index for do in done if isinstance(do, Tell) and isinstance(do.event, TurnStart)]
    assert starts == [0, 1, 2, 0]


def test_follow_ups_have_a_turn_each_when_the_run_would_end() -> None:
    followed = story(world(assistant("one"), assistant("two"), assistant("three"), follow_up=["f1", "f2"]))

    assert [one for one in followed if one.startswith(("record user", "model"))] == [
        *("record user hello", "model 0", "record user f1", "model 1", "record user f2", "model 2"),
    ]
    assert followed.count("agent_start") == followed.count("agent_end") == 1


def test_what_is_queued_by_who_hears_of_the_end_gets_a_low_level_run_of_its_own() -> None:
    late = world(assistant("one"), assistant("two"))
    state, happened, done = replace(IDLE, rules=Rules()), Started(said("hello")), list[str]()
    step: Happened = happened
    while not (done and done[-1] == "End"):
        state, do = next_step(state, step)
        done.append(told(do))
        if done[-1] == "agent_end" and done.count("agent_end") == 1:
            late.queued["follow_up"].append("late")
        step = late._do(do)

    behind = done[done.index("agent_end") :]
    assert behind[1:10] == [
        "look behind",
        "begin with steering or follow_up",
        *("look late", "agent_start", "turn_start", "Prepare"),
        *queue_taken("late")[:-1],
    ]


# looks at the context


def test_a_run_begins_with_a_look_and_ends_with_one() -> None:
    assert all_of(world(assistant("hi"))) == [
        "look hello",
        *OPENING,
        *SAYING,
        *("model 0", "record assistant hi", "message_end assistant hi", "turn_end"),
        *("begin with steering or follow_up", "agent_end", "look behind", "begin with steering or follow_up", "End"),
    ]


def test_the_next_turn_begins_with_a_look_behind_the_results() -> None:
    looked = all_of(world(CALLING, assistant("done")))

    at = looked.index("turn_end")
    assert looked[at : at + 5] == ["turn_end", "look", "turn_start", "Prepare", "take steering"]
    assert looked.count("look") == 1


@pytest.mark.parametrize("queue", ["steering", "follow_up"])
def test_a_turn_that_begins_with_what_waited_is_looked_at_with_it(queue: QueueName) -> None:
    followed = world(assistant("one"), assistant("two"))
    followed.queued[queue] = ["joins", "f1"] if queue == "steering" else ["f1"]

    looked = all_of(followed)

    at = looked.index("turn_end")
    assert looked[at : at + 9] == [
        *("turn_end", "begin with steering or follow_up", "look f1", "turn_start", "Prepare"),
        *queue_taken("f1"),
    ]


def test_steering_joins_the_turn_that_begins_with_a_follow_up() -> None:
    # this used to wait for the turn behind it
    followed = world(assistant("one"), assistant("two"), follow_up=["f1"])
    state, happened, done = IDLE, Started(said("hello")), list[str]()
    step: Happened = happened
    while not (done and done[-1] == "End"):
        state, do = next_step(state, step)
        done.append(told(do))
        if done[-1] == "message_end user f1":
            followed.queued["steering"].append("s1")
        step = followed._do(do)

    at = done.index("message_end user f1")
    assert done[at : at + 8] == ["message_end user f1", "take steering", *queue_taken("s1"), "look", "model 1"]


def test_what_begins_with_steering_looks_for_no_more_of_it() -> None:
    steered = all_of(world(*[assistant("one")] * 3, steering=["s1", "s2", "s3"]))

    assert steered.count("take steering") == 1


def test_a_run_that_every_result_ends_is_looked_at_behind_it_alone() -> None:
    final = world(CALLING)
    final.terminate = True

    assert [one for one in all_of(final) if one.startswith("look")] == ["look hello", "look behind"]


def test_another_attempt_is_not_looked_at_and_an_aborted_run_neither() -> None:
    assert [one for one in all_of(world(OVERLOADED, assistant("hi"))) if one.startswith("look")] == [
        *("look hello", "look behind"),
    ]
    assert [one for one in all_of(world(assistant("h", stop="aborted"))) if one.startswith("look")] == ["look hello"]


def test_what_is_said_behind_a_run_is_looked_at_and_looked_behind() -> None:
    failed = world(assistant(stop="error", error="bad request"), assistant("ok"), follow_up=["f1"])

    assert [one for one in all_of(failed) if one.startswith(("look", "agent"))] == [
        *("look hello", "agent_start", "agent_end", "look behind"),
        *("look f1", "agent_start", "agent_end", "look behind"),
    ]


# what was too large, or cut off

OVERFLOW = assistant(stop="error", error="prompt is too long")
CUT_OFF = assistant("so f", stop="length")
WHOLE = assistant("whole")
HIDDEN = Recovery("overflow", retries=True)


def recovering(answer: AssistantMessage, recovery: Recovery, *more: AssistantMessage) -> World:
    overflown = world(answer, *more)
    overflown.recoveries = [(answer, recovery)]
    return overflown


@pytest.mark.parametrize("answer", [OVERFLOW, CUT_OFF])
def test_what_was_too_large_is_hidden_behind_the_end_of_its_run_and_the_model_is_asked_once_more(
    answer: AssistantMessage,
) -> None:
    overflown = recovering(answer, HIDDEN, assistant("hi"))

    played = all_of(overflown)

    at = played.index("model 0") + 1
    assert played[at:] == [
        *(f"record {shown(answer)}", f"message_end {shown(answer)}", "turn_end", "agent_end"),
        *("hide e2", "recover to retry"),
        *("agent_start", "turn_start", "Prepare", "take steering"),
        *("model 1", "record assistant hi", "message_end assistant hi", "turn_end"),
        *("begin with steering or follow_up", "agent_end", "look behind", "begin with steering or follow_up", "End"),
    ]
    assert played[:at].count("record user hello") == 1
    ends = [do.event for do in overflown.done if isinstance(do, Tell) and isinstance(do.event, AgentEnd)]
    assert ends == [
        AgentEnd(messages=(user(), answer), will_retry=True),
        AgentEnd(messages=(assistant("hi"),), will_retry=False),
    ]
    assert overflown.done[-1] == End(aborted=False)


def test_what_was_steered_meanwhile_joins_the_request_behind_the_recovery() -> None:
    overflown = recovering(OVERFLOW, HIDDEN, assistant("hi"))
    overflown.queued["steering"] = ["s1", "s2"]

    assert [one for one in story(overflown) if one.startswith(("record user", "model", "recover"))] == [
        *("record user hello", "record user s1", "model 0", "recover to retry", "record user s2", "model 1"),
    ]


@pytest.mark.parametrize("waits", [[], ["f1"]])
def test_a_recovery_that_comes_to_nothing_lets_what_waits_go_its_way(waits: list[str]) -> None:
    overflown = recovering(OVERFLOW, HIDDEN, assistant("hi"))
    overflown.recovers = False
    overflown.queued["follow_up"] = [*waits]

    played = all_of(overflown)

    at = played.index("recover to retry") + 1
    if waits:
        assert played[at : at + 3] == ["begin with steering or follow_up", "look f1", "agent_start"]
        assert played.index("hide e2") < played.index("record user f1") < played.index("model 1")
    else:
        assert played[at:] == ["begin with steering or follow_up", "End"]
    assert overflown.done[-1] == End(aborted=False)


def test_a_recovery_that_is_stopped_ends_the_run() -> None:
    overflown = recovering(OVERFLOW, HIDDEN)
    overflown.stopped = True
    overflown.queued["follow_up"] = ["later"]

    assert all_of(overflown)[-2:] == ["recover to retry", "End"]
    assert overflown.done[-1] == End(aborted=True)
    assert overflown.queued["follow_up"] == ["later"]


@pytest.mark.parametrize(
    ("recovery", "words"),
    [
        (
            HIDDEN,
            (
                "Context overflow recovery failed after one compact-and-retry attempt. "
                "Try reducing context or switching to a larger-context model."
            ),
        ),
        (
            Recovery("truncated", retries=True),
            "Truncated response recovery failed after one compact-and-retry attempt.",
        ),
    ],
)
def test_a_second_time_is_told_and_nothing_is_hidden(recovery: Recovery, words: str) -> None:
    overflown = recovering(OVERFLOW, recovery)
    overflown.tried = True

    played = all_of(overflown)

    at = played.index("turn_end")
    assert played[at:] == [
        *("turn_end", "agent_end", "compaction_end", "session_compact_failed"),
        *("begin with steering or follow_up", "End"),
    ]
    told_of = [do.event for do in overflown.done if isinstance(do, Tell)][-3:]
    assert told_of == [
        AgentEnd(messages=(user(), OVERFLOW), will_retry=False),
        CompactionEnd(reason="overflow", aborted=False, will_retry=False, error_message=words),
        SessionCompactFailed(
            reason="overflow", error_message=words, aborted=False, will_retry=False, from_extension=False
        ),
    ]


@pytest.mark.parametrize("tried", [False, True])
@pytest.mark.parametrize("recovers", [False, True])
def test_a_whole_answer_to_what_was_too_large_stays_and_the_past_is_compacted(*, tried: bool, recovers: bool) -> None:
    overflown = recovering(WHOLE, Recovery("overflow", retries=False))
    overflown.tried, overflown.recovers = tried, False
    if recovers:
        overflown.queued["follow_up"] = ["f1"]
        overflown.answers.append(assistant("hi"))

    played = all_of(overflown)

    at = played.index("turn_end")
    assert played[at : at + 4] == ["turn_end", "agent_end", "recover", "begin with steering or follow_up"]
    assert not [one for one in played if one.startswith("hide")]
    assert Tell(AgentEnd(messages=(user(), WHOLE), will_retry=False)) in overflown.done
    assert ("record user f1" in played) is recovers


def test_retries_before_a_recovery_are_told_as_over() -> None:
    overflown = world(OVERLOADED, OVERFLOW, assistant("hi"))
    overflown.recoveries = [(OVERFLOW, HIDDEN)]

    played = all_of(overflown)

    at = played.index("hide e3")
    assert played[at - 3 : at] == ["turn_end", "agent_end", "auto_retry_end"]
    assert [do.event for do in overflown.done if isinstance(do, Tell) and isinstance(do.event, AutoRetryEnd)] == [
        AutoRetryEnd(success=False, attempt=1),
    ]


def test_retries_before_a_whole_answer_that_was_too_large_are_told_as_good() -> None:
    overflown = world(OVERLOADED, WHOLE)
    overflown.recoveries = [(WHOLE, Recovery("overflow", retries=False))]
    overflown.recovers = False

    assert Tell(AutoRetryEnd(success=True, attempt=1)) in overflown.play()


def test_attempts_are_counted_anew_behind_a_recovery() -> None:
    overflown = world(OVERLOADED, OVERFLOW, OVERLOADED, assistant("hi"))
    overflown.recoveries = [(OVERFLOW, HIDDEN)]

    starts = [
        do.event.attempt for do in overflown.play() if isinstance(do, Tell) and isinstance(do.event, AutoRetryStart)
    ]
    assert starts == [1, 1]


# another attempt


def test_a_failed_answer_is_asked_for_again_after_a_wait_with_the_news_of_it() -> None:
    done = world(OVERLOADED, assistant("hi")).play()

    names = [told(do) for do in done]
    wait = next(do for do in done if isinstance(do, Wait))
    at = names.index("turn_end")
    assert names[at : at + 8] == [
        *("turn_end", "agent_end", "auto_retry_start", told(wait)),
        *("agent_start", "turn_start", "Prepare", "take steering"),
    ]
    assert names[at + 8 : at + 13] == [
        *("model 1", "record assistant hi", "message_end assistant hi", "auto_retry_end", "turn_end"),
    ]
    assert Tell(AgentEnd(messages=(user(), OVERLOADED), will_retry=True)) in done
    assert Tell(AgentEnd(messages=(assistant("hi"),), will_retry=False)) in done
    assert Tell(AutoRetryEnd(success=True, attempt=1)) in done
    [start] = [do.event for do in done if isinstance(do, Tell) and isinstance(do.event, AutoRetryStart)]
    assert (start.attempt, start.max_attempts, start.error_message) == (1, 3, "overloaded")
    assert start.delay_ms == wait.delay_ms


def test_what_was_steered_in_the_wait_joins_the_next_attempt() -> None:
    retried = world(OVERLOADED, assistant("hi"), steering=["s1", "s2"])

    recorded = [one for one in story(retried) if one.startswith(("record user", "model"))]

    assert recorded == ["record user hello", "record user s1", "model 0", "record user s2", "model 1"]


def test_attempts_are_counted_until_an_answer_is_good_and_no_further_than_the_policy_says() -> None:
    ending = world(*[OVERLOADED] * 4)
    recovering = world(OVERLOADED, OVERLOADED, CALLING, OVERLOADED, assistant("hi"))

    done, recovered = ending.play(), recovering.play()

    starts = [do.event.attempt for do in done if isinstance(do, Tell) and isinstance(do.event, AutoRetryStart)]
    assert starts == [1, 2, 3]
    assert [told(do) for do in done][-6:] == [
        "turn_end",
        "agent_end",
        "auto_retry_end",
        "look behind",
        NOBODY[0],
        "End",
    ]
    assert Tell(AutoRetryEnd(success=False, attempt=3, final_error="overloaded")) in done
    again = [do.event.attempt for do in recovered if isinstance(do, Tell) and isinstance(do.event, AutoRetryStart)]
    assert again == [1, 2, 1]


def test_a_policy_that_is_off_asks_once() -> None:
    once = world(OVERLOADED)
    once.rules = Rules(retry=RetryPolicy(enabled=False))

    assert "auto_retry_start" not in story(once)


def test_what_waits_is_said_behind_an_answer_that_failed_for_good() -> None:
    failed = world(assistant(stop="error", error="bad request"), assistant("ok"), follow_up=["f1"])

    names = story(failed)

    assert names.count("agent_start") == 2
    assert names.index("agent_end") < names.index("record user f1")


def test_a_run_that_was_stopped_and_finds_nothing_to_say_ends_as_stopped() -> None:
    # this used to end as if nobody had stopped it
    stopped = world(assistant("hi"), follow_up=["later"])
    stopped.stopped = True

    assert all_of(stopped)[-3:] == ["begin with steering or follow_up", "agent_end", "End"]
    assert stopped.done[-1] == End(aborted=True)
    assert stopped.queued["follow_up"] == ["later"]


def test_a_wait_that_is_stopped_ends_the_run() -> None:
    stopped = world(OVERLOADED, follow_up=["later"])
    stopped.stopped = True

    done = stopped.play()

    assert done[-1] == End(aborted=True)
    [end] = [do.event for do in done if isinstance(do, Tell) and isinstance(do.event, AutoRetryEnd)]
    assert (end.success, end.attempt, end.final_error) == (False, 1, "the wait before another attempt was cancelled")
    assert stopped.queued["follow_up"] == ["later"]


def test_an_answer_that_was_stopped_ends_the_run_whatever_waits() -> None:
    stopped = world(assistant("h", stop="aborted"), follow_up=["later"])

    done = stopped.play()

    assert [told(do) for do in done][-3:] == ["turn_end", "agent_end", "End"]
    assert done[-1] == End(aborted=True)


def test_another_attempt_that_is_stopped_is_told_as_given_up() -> None:
    done = world(OVERLOADED, assistant(stop="aborted", error="stopped")).play()

    assert [told(do) for do in done][-4:] == ["turn_end", "agent_end", "auto_retry_end", "End"]
    assert Tell(AutoRetryEnd(success=False, attempt=1, final_error="stopped")) in done


# what breaks


def test_a_run_that_breaks_before_it_has_begun_ends_with_the_reason_and_tells_of_no_end() -> None:
    breaking = world(assistant("hi"))
    breaking.breaks = frozenset({0})

    assert [told(do) for do in breaking.play()] == ["look hello", "End"]
    assert breaking.done[-1] == End(aborted=False, error=FULL)


@pytest.mark.parametrize("step", range(1, 12))
def test_a_run_that_breaks_tells_its_end_and_ends_with_the_reason(step: int) -> None:
    breaking = world(assistant("hi"))
    breaking.breaks = frozenset({step})

    *_, last, end = breaking.play()

    # an answer that came and could not be recorded goes along
    assert end == End(aborted=False, error=FULL, unrecorded=assistant("hi") if step == 9 else None)
    assert isinstance(last, Tell)
    assert isinstance(last.event, AgentEnd)
    assert not last.event.will_retry


def test_a_run_that_breaks_again_in_telling_its_end_ends_with_the_first_reason() -> None:
    breaking = world(assistant("hi"))
    breaking.breaks = frozenset({9, 10})

    done = breaking.play()

    assert [told(do) for do in done[9:]] == ["record assistant hi", "agent_end", "End"]
    assert done[-1] == End(aborted=False, error=FULL, unrecorded=assistant("hi"))


@pytest.mark.parametrize("answers", [[CALLING], [assistant("hi")]], ids=["tools", "nothing to say"])
def test_a_stopped_run_that_breaks_in_telling_its_end_tells_it_once(answers: list[AssistantMessage]) -> None:
    whole = world(*answers)
    breaking = world(*answers)
    whole.stopped = breaking.stopped = True
    breaking.breaks = frozenset({all_of(whole).index("agent_end")})

    played = all_of(breaking)

    assert played[-2:] == ["agent_end", "End"]
    assert played.count("agent_end") == 1
    assert breaking.done[-1] == End(aborted=False, error=FULL)


def test_a_run_that_breaks_in_its_tools_says_what_it_put_into_the_log() -> None:
    breaking = world(CALLING)
    breaking.breaks = frozenset({all_of(world(CALLING, assistant("x"))).index("run c1 c2")})

    *_, last, end = breaking.play()

    assert last == Tell(AgentEnd(messages=(user(), CALLING), will_retry=False))
    assert end == End(aborted=False, error=FULL)


ANSWERS = st.sampled_from([assistant("hi"), WHOLE, OVERFLOW, CALLING, OVERLOADED, assistant("h", stop="aborted")])
RECOVERIES = st.sampled_from(
    [[], [(OVERFLOW, HIDDEN)], [(OVERFLOW, HIDDEN), (WHOLE, Recovery("overflow", retries=False))]]
)


@given(
    st.lists(ANSWERS, min_size=20, max_size=20),
    st.frozensets(st.integers(0, 60), max_size=3),
    st.tuples(*(st.lists(st.sampled_from(names), max_size=2, unique=True) for names in (["s1", "s2"], ["f1", "f2"]))),
    st.booleans(),
    st.tuples(RECOVERIES, st.booleans(), st.booleans()),
)
def test_every_run_ends_and_tells_each_end_once_whatever_breaks(
    answers: list[AssistantMessage],
    breaks: frozenset[int],
    waiting: tuple[list[str], list[str]],
    stopped: bool,
    recovering: tuple[list[tuple[AssistantMessage, Recovery]], bool, bool],
) -> None:
    steering, follow_up = waiting
    any_world = world(*answers, *[assistant("hi")] * 20, steering=steering, follow_up=follow_up)
    any_world.breaks, any_world.stopped = breaks, stopped

    any_world.recoveries, any_world.tried, any_world.recovers = recovering

    done = any_world.play()

    names = [told(do) for do in done]
    error: SapwoodError | None = done[-1].error if isinstance(done[-1], End) else None
    assert error in {None, FULL}
    assert names.count("agent_start") - names.count("agent_end") in {0, 1} if error else True
    if error is None:
        assert names.count("agent_start") == names.count("agent_end")
        assert names.count("turn_start") == names.count("turn_end")
    assert TellQueue() not in done or steering or follow_up


def test_a_wait_that_no_retry_has_is_told() -> None:
    """The answer says that the server is busy, and not that it asks for an hour."""
    failed = assistant(stop="error", error="429 slow down")
    asked = Failure(kind="rate_limit", status=429, retry_after_ms=3_600_000)
    answer = msgspec.structs.replace(failed, diagnostics=noted(asked, MS))

    [told_why] = [do.event for do in world(answer).play() if isinstance(do, Tell) and isinstance(do.event, Diagnostic)]

    assert (told_why.code, "3600 s" in told_why.message) == ("not_retried", True)


ONE_CALL = assistant(call("c1"), stop="toolUse")
ASKING = Rules(asks_at_turn_end=True, asks_before_settle=True)


def asked_and_told(world: World) -> list[str]:
    """The boundaries and the ends that were told, in order."""
    told: list[str] = []
    for do in world.play():
        if isinstance(do, AtBoundary):
            told.append(f"{type(do.question).__name__} {do.question.outcome} {do.goes_on}")
        elif isinstance(do, Tell) and name_of(do.event) in {"turn_end", "agent_end"}:
            told.append(name_of(do.event))
        elif isinstance(do, CallModel):
            told.append("request")
    return told


TURN, SETTLE = "BeforeTurnEnd completed False", "AgentBeforeSettle completed False"


@pytest.mark.parametrize(
    ("answers", "words", "told"),
    [
        ([assistant("a")], [], ["request", TURN, "turn_end", "agent_end", SETTLE]),
        (
            [assistant("a"), assistant("b")],
            [True],
            ["request", TURN, "turn_end", "request", TURN, "turn_end", "agent_end", SETTLE],
        ),
        (
            [assistant("a"), assistant("b")],
            [None, True],
            ["request", TURN, "turn_end", "agent_end", SETTLE, "request", TURN, "turn_end", "agent_end", SETTLE],
        ),
        (
            [ONE_CALL],
            [False],
            ["request", "BeforeTurnEnd completed True", "turn_end", "agent_end", SETTLE],
        ),
        (
            [assistant(stop="error", error="bad key")],
            [True, True],
            ["request", "BeforeTurnEnd error None", "turn_end", "agent_end", "AgentBeforeSettle error None"],
        ),
    ],
    ids=["nothing is said", "go on in this run", "go on with a run of its own", "stop behind the tools", "a failure"],
)
def test_extensions_are_asked_before_a_turn_ends_and_before_the_run_settles(
    answers: list[AssistantMessage], words: list[bool | None], told: list[str]
) -> None:
    assert asked_and_told(World(deque(answers), rules=ASKING, words=words)) == told


def test_of_what_was_stopped_nobody_is_asked() -> None:
    assert asked_and_told(World(deque([ONE_CALL]), rules=ASKING, stopped=True)) == ["request", "turn_end", "agent_end"]
    aborted = assistant("a", stop="aborted")
    assert asked_and_told(World(deque([aborted]), rules=ASKING)) == ["request", "turn_end", "agent_end"]


def test_what_is_said_while_they_are_asked_is_taken_before_the_run_settles() -> None:
    world = World(deque([assistant("a"), assistant("b")]), rules=ASKING)
    world.queued["follow_up"].append("more")

    assert asked_and_told(world).count("request") == 2
