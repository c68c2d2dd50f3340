"""Stories that the real Pi and a session of ours can both play.

What a story may say is at the top of `tests/pi/events.mjs`, which plays it with Pi; `telling.py` plays it with ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from tests.sapwood.summarizing import SUMMARY

Step = tuple[Any, ...]
Json = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Story:
    answers: Sequence[Json]
    steps: Sequence[Step]
    past: Sequence[Step] = ()
    tools: Sequence[Json] = ()
    settings: Json = attrs.field(factory=dict[str, Any])
    window: int = 200_000
    summaries: Sequence[Json] = ({"text": SUMMARY, "tokens": 90},)


def say(text: str = "Done.", **more: Any) -> Json:
    return {"text": text, **more}


def use(*calls: tuple[str, str, Json], **more: Any) -> Json:
    return {"calls": calls, **more}


def named(name: str, **more: Any) -> Json:
    return {"name": name, **more}


PROMPT: Final = ("prompt", "Which oak?")
SUBMIT: Final = ("submit", "Which oak?")
ANSWERING: Final = ("until", {"type": "message_start", "role": "assistant"})
SPEAKING: Final = ("until", {"type": "message_update", "piece": "text_delta"})
SUMMING_UP: Final = ("until", {"type": "compaction_start"})
LOOKING: Final = ("until", {"type": "tool_execution_start"})
LONG: Final = "It stands behind the mill, where the slope is wet until May. " * 8
"""120 tokens: two such turns are more than what `TIGHT` keeps."""
TIGHT: Final = {"compaction": {"reserveTokens": 500, "keepRecentTokens": 150}}
TWO_TURNS: Final = (("prompt", f"Which oak? {LONG}"), ("prompt", f"Which alder? {LONG}"))
ELM: Final = ("prompt", "And the elm?")
TOO_MUCH: Final = {"error": "prompt is too long: 2100 tokens > 2000 maximum"}
BUSY: Final = say("Half", error="overloaded")
CUT_OFF: Final = say("Half of", ends="length", tokens=900)
SLOWLY: Final = (say(SUMMARY, seconds=1, tokens=90),)
HALF: Final = say("Half of an", stalls=True)
LOOK: Final = named("look")
SLOW: Final = named("look", seconds=1)
ONE_CALL: Final = use(("c1", "look", {"n": 1}))
TWO_MORE: Final = (("steer", "Not that one."), ("steer", "The other one."))
TWO_AFTER: Final = (("follow_up", "And the alder?"), ("follow_up", "And the elm?"))


def cutting(*answers: Json, behind: Sequence[Step], settings: Json = TIGHT, **more: Any) -> Story:
    """Two turns that a compaction cuts apart, these behind them, and these answers to those."""
    said = [say(LONG, tokens=200), say(LONG, tokens=400), *answers]
    return Story(answers=said, steps=[*TWO_TURNS, *behind], window=2_000, settings=settings, **more)


def full(*answers: Json, steps: Sequence[Step], **more: Any) -> Story:
    """A session that is opened with more in it than a request may have."""
    past = [("user", LONG), ("assistant", LONG, 400), ("user", LONG), ("assistant", LONG, 1_600)]
    return Story(answers=answers, past=past, steps=steps, window=2_000, settings=TIGHT, **more)


def queued(mode: str, kind: str, *things: Step) -> Story:
    return Story(
        tools=[SLOW],
        answers=[ONE_CALL, say("One."), say("Two."), say("Three.")],
        settings={kind: mode},
        steps=[SUBMIT, LOOKING, *things, ("settle",)],
    )


STORIES: Final[Mapping[str, Story]] = {
    "plain answer": Story(answers=[say()], steps=[PROMPT]),
    "two prompts": Story(answers=[say(), say()], steps=[PROMPT, ("prompt", "And the alder?")]),
    "one tool": Story(tools=[LOOK], answers=[say("I look.", calls=[("c1", "look", {"n": 1})]), say()], steps=[PROMPT]),
    "a tool that tells how far it is": Story(
        tools=[named("look", tells="half")], answers=[ONE_CALL, say()], steps=[PROMPT]
    ),
    "three tools side by side": Story(
        tools=[named("slow", seconds=3), named("quick", seconds=1), named("middling", seconds=2)],
        answers=[use(("c1", "slow", {}), ("c2", "quick", {}), ("c3", "middling", {})), say()],
        steps=[PROMPT],
    ),
    "unknown tool": Story(tools=[LOOK], answers=[use(("c1", "saw", {})), say()], steps=[PROMPT]),
    "invalid arguments": Story(tools=[LOOK], answers=[use(("c1", "look", {"n": "many"})), say()], steps=[PROMPT]),
    "a tool that raises": Story(tools=[named("look", fails="no light")], answers=[ONE_CALL, say()], steps=[PROMPT]),
    "one call that goes and one that does not": Story(
        tools=[SLOW], answers=[use(("c1", "look", {"n": 1}), ("c2", "saw", {})), say()], steps=[PROMPT]
    ),
    "two tools, one after the other": Story(
        tools=[named("look", alone=True)],
        answers=[use(("c1", "look", {"n": 1}), ("c2", "look", {"n": 2})), say()],
        steps=[PROMPT],
    ),
    "a tool behind which the run is to end": Story(
        tools=[named("look", last=True)], answers=[ONE_CALL], steps=[PROMPT]
    ),
    "two tools, and the run is to end behind one": Story(
        tools=[LOOK, named("stop", seconds=1, last=True)],
        answers=[use(("c1", "look", {"n": 1}), ("c2", "stop", {})), say()],
        steps=[PROMPT],
    ),
    "cut off with calls": Story(
        tools=[LOOK],
        answers=[use(("c1", "look", {"n": 1}), ("c2", "look", {"n": 2}), ends="length", tokens=9), say()],
        steps=[PROMPT],
    ),
    "steering while a tool runs": queued("one-at-a-time", "steeringMode", TWO_MORE[0]),
    "steering, one at a time": queued("one-at-a-time", "steeringMode", *TWO_MORE),
    "steering, all at once": queued("all", "steeringMode", *TWO_MORE),
    "a follow-up": queued("one-at-a-time", "followUpMode", TWO_AFTER[0]),
    "follow-ups, one at a time": queued("one-at-a-time", "followUpMode", *TWO_AFTER),
    "follow-ups, all at once": queued("all", "followUpMode", *TWO_AFTER),
    "steering and follow-ups": queued("one-at-a-time", "followUpMode", TWO_AFTER[0], TWO_MORE[0]),
    "steering while the model speaks": Story(
        answers=[say("One.", seconds=1), say("Two.")], steps=[SUBMIT, ANSWERING, TWO_MORE[0], ("settle",)]
    ),
    "steering before a run": Story(answers=[say(), say()], steps=[TWO_MORE[0], PROMPT]),
    "a follow-up before a run": Story(answers=[say(), say()], steps=[TWO_AFTER[0], PROMPT]),
    "another attempt": Story(answers=[BUSY, say()], steps=[PROMPT]),
    "another attempt behind a tool": Story(tools=[LOOK], answers=[ONE_CALL, BUSY, say()], steps=[PROMPT]),
    "two more attempts, and a tool": Story(tools=[LOOK], answers=[BUSY, BUSY, ONE_CALL, say()], steps=[PROMPT]),
    "another attempt, stopped in its stream": Story(
        answers=[BUSY, HALF], steps=[SUBMIT, ("until", {"type": "auto_retry_start"}), SPEAKING, ("abort",)]
    ),
    "another attempt, stopped in a tool": Story(
        tools=[SLOW], answers=[BUSY, ONE_CALL], steps=[SUBMIT, LOOKING, ("abort",)]
    ),
    "no attempt is left, and something waits": Story(
        answers=[say("Half", error="overloaded", seconds=1), BUSY, say(), say()],
        settings={"retry": {"maxRetries": 1, "baseDelayMs": 1}},
        steps=[SUBMIT, ANSWERING, TWO_AFTER[0], ("settle",)],
    ),
    "an error that is final, and something waits": Story(
        answers=[say("Half", error="no such model", seconds=1), say(), say()],
        steps=[SUBMIT, ANSWERING, TWO_AFTER[0], TWO_MORE[0], ("settle",)],
    ),
    "stopped while nothing is on": Story(answers=[say()], steps=[("abort",), PROMPT]),
    "no attempt is left": Story(
        answers=[BUSY, BUSY],
        settings={"retry": {"maxRetries": 1, "baseDelayMs": 1}},
        steps=[PROMPT],
    ),
    "an error before anything came": Story(answers=[{"error": "no such model", "unstarted": True}], steps=[PROMPT]),
    "two prompts at once": Story(answers=[say(), say()], steps=[SUBMIT, ("submit", "And the alder?"), ("settle",)]),
    "a prompt in the middle of a run": Story(
        answers=[say(seconds=1), say()], steps=[SUBMIT, ANSWERING, ("submit", "And the alder?"), ("settle",)]
    ),
    "stopped in the wait before another attempt": Story(
        answers=[BUSY, say()],
        settings={"retry": {"baseDelayMs": 60_000}},
        steps=[SUBMIT, ("until", {"type": "auto_retry_start"}), ("abort",)],
    ),
    "steering in the wait before another attempt": Story(
        answers=[BUSY, say()],
        settings={"retry": {"baseDelayMs": 100}},
        steps=[SUBMIT, ("until", {"type": "auto_retry_start"}), TWO_MORE[0], ("settle",)],
    ),
    "an error that is final": Story(answers=[say("Half", error="the key is revoked")], steps=[PROMPT]),
    "stopped before the first word": Story(answers=[say(seconds=1)], steps=[SUBMIT, ANSWERING, ("abort",)]),
    "stopped in the stream": Story(
        answers=[HALF],
        steps=[SUBMIT, SPEAKING, ("abort",)],
    ),
    "stopped in a tool": Story(tools=[SLOW], answers=[ONE_CALL, say()], steps=[SUBMIT, LOOKING, ("abort",)]),
    "stopped in one of two tools": Story(
        tools=[SLOW, named("quick")],
        answers=[use(("c1", "quick", {}), ("c2", "look", {"n": 1})), say()],
        steps=[SUBMIT, ("until", {"type": "tool_execution_end", "toolCallId": "c1"}), ("abort",)],
    ),
    "stopped in the first of two tools, one after the other": Story(
        tools=[named("look", alone=True, seconds=1)],
        answers=[use(("c1", "look", {"n": 1}), ("c2", "look", {"n": 2})), say()],
        steps=[SUBMIT, LOOKING, ("abort",)],
    ),
    "stopped with a queue, and gone on": Story(
        answers=[HALF, say("One."), say("Two.")],
        steps=[
            SUBMIT,
            SPEAKING,
            TWO_MORE[0],
            TWO_AFTER[0],
            ("abort",),
            ("prompt", "And now?"),
        ],
    ),
    "a compaction before a run": full(say(tokens=700), steps=[PROMPT]),
    "a compaction before a run, with the summary failing": full(say(tokens=1_610), steps=[PROMPT], summaries=[]),
    "a compaction before a run, stopped": full(
        say(tokens=700),
        summaries=SLOWLY,
        steps=[SUBMIT, SUMMING_UP, ("abort",)],
    ),
    "a compaction between turns": cutting({**ONE_CALL, "tokens": 1_600}, say(tokens=700), tools=[LOOK], behind=[ELM]),
    "a compaction behind a run": cutting(say(tokens=1_600), behind=[ELM]),
    "a compaction behind a run, with a queue": cutting(
        say(tokens=1_600, seconds=1), say(tokens=700), behind=[SUBMIT, ANSWERING, TWO_AFTER[0], ("settle",)]
    ),
    "steering and a follow-up in a compaction before a run": full(
        say(tokens=700),
        say(tokens=700),
        summaries=SLOWLY,
        steps=[SUBMIT, SUMMING_UP, TWO_AFTER[0], TWO_MORE[0], ("settle",)],
    ),
    "steering in a compaction between turns": cutting(
        {**ONE_CALL, "tokens": 1_600},
        say(tokens=700),
        tools=[LOOK],
        summaries=SLOWLY,
        behind=[SUBMIT, SUMMING_UP, TWO_MORE[0], ("settle",)],
    ),
    "a compaction between turns, stopped": cutting(
        {**ONE_CALL, "tokens": 1_600}, say(), tools=[LOOK], summaries=SLOWLY, behind=[SUBMIT, SUMMING_UP, ("abort",)]
    ),
    "a compaction behind a run, stopped": cutting(
        say(tokens=1_600), summaries=SLOWLY, behind=[SUBMIT, SUMMING_UP, ("abort",)]
    ),
    "a follow-up in a compaction behind a run": cutting(
        say(tokens=1_600), say(tokens=700), summaries=SLOWLY, behind=[SUBMIT, SUMMING_UP, TWO_AFTER[0], ("settle",)]
    ),
    "steering in a compaction before a follow-up": cutting(
        say(tokens=1_600, seconds=1),
        say(tokens=700),
        say(tokens=700),
        summaries=SLOWLY,
        behind=[SUBMIT, ANSWERING, TWO_AFTER[0], SUMMING_UP, TWO_MORE[0], ("settle",)],
    ),
    "an answer that filled its own limit": cutting(say("Long.", ends="length", tokens=900, output=400), behind=[ELM]),
    "steering in the compaction of an overflow": cutting(
        TOO_MUCH, say(tokens=700), summaries=SLOWLY, behind=[SUBMIT, SUMMING_UP, TWO_MORE[0], ("settle",)]
    ),
    "an overflow, stopped in its compaction": cutting(
        TOO_MUCH, say(tokens=700), summaries=SLOWLY, behind=[SUBMIT, SUMMING_UP, ("abort",)]
    ),
    "an overflow, and another one behind a good answer": cutting(
        TOO_MUCH,
        {**ONE_CALL, "tokens": 700},
        TOO_MUCH,
        say(tokens=700),
        tools=[LOOK],
        summaries=[{"text": SUMMARY}] * 2,
        behind=[ELM],
    ),
    "an overflow in another attempt": cutting(BUSY, TOO_MUCH, say(tokens=700), behind=[ELM]),
    "an answer that is cut off early in another attempt": cutting(BUSY, CUT_OFF, say(tokens=700), behind=[ELM]),
    "another attempt behind an overflow": cutting(TOO_MUCH, BUSY, say(tokens=700), behind=[ELM]),
    "a compaction behind an error": cutting(say(tokens=1_600, error="no such model"), behind=[ELM]),
    "an overflow": cutting(TOO_MUCH, say(tokens=700), behind=[ELM]),
    "an overflow, and another one": cutting(TOO_MUCH, TOO_MUCH, behind=[ELM]),
    "an overflow, with the summary failing": cutting(TOO_MUCH, summaries=[], behind=[ELM]),
    "an overflow without automatic compaction": cutting(
        TOO_MUCH, settings={"compaction": {**TIGHT["compaction"], "enabled": False}}, behind=[ELM]
    ),
    "a whole answer that was too much": cutting(say(tokens=2_100), behind=[ELM]),
    "an answer that is cut off early": cutting(CUT_OFF, say(tokens=700), behind=[ELM]),
    "an answer that is cut off early, twice": cutting(CUT_OFF, CUT_OFF, behind=[ELM]),
    "a compaction that somebody asks for": cutting(behind=[("compact",)]),
    "a compaction that has nothing to do": Story(answers=[say()], steps=[PROMPT, ("compact",)]),
    "a compaction of what is compacted": cutting(behind=[("compact",), ("compact",)]),
    "a compaction that somebody asks for, stopped": cutting(
        summaries=SLOWLY, behind=[("compacting",), SUMMING_UP, ("abort",)]
    ),
    "a prompt in a compaction that somebody asks for": cutting(
        say(), summaries=SLOWLY, behind=[("compacting",), SUMMING_UP, ELM, ("settle",)]
    ),
    "a follow-up in a compaction that somebody asks for": cutting(
        say(), summaries=SLOWLY, behind=[("compacting",), SUMMING_UP, TWO_AFTER[0], ("settle",)]
    ),
    "a summary that is asked for again": cutting(
        summaries=[{"error": "overloaded"}, say(SUMMARY, tokens=90)], behind=[("compact",)]
    ),
    "a compaction that is asked for in a run": cutting(HALF, behind=[SUBMIT, SPEAKING, ("compact",)]),
    "a compaction that is asked for in a run, with a queue": cutting(
        HALF, say(), say(), behind=[SUBMIT, SPEAKING, *TWO_MORE, *TWO_AFTER, ("compact",), ("settle",)]
    ),
}
