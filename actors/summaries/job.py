"""What a summary job does next (C8 to C10). No I/O, no clock, no awaits.

1. `next_step(state, happened) -> (state, Do)`: one effect at a time, until `Written` or `GaveUp`. It ends after `most_calls` calls at most.
2. The conversation is folded in parts, each of which continues the summary of those before; no request is larger than the room.
3. A failed answer is asked for again by the one policy, with the same bytes. What overflowed is never sent again: half the room is taken
   away, and what is left is regrouped, `HALVINGS` times at most.
4. The last answer is held to the format, if the instructions are ours: asked once more with what was missing, and then taken as it is.
   An answer that is there is not given up because a second one could not be had; only who stops the job leaves it with none.
5. What any call was billed is in the sum, whatever became of it.
"""

from __future__ import annotations

from typing import Final, assert_never

import attrs

from sapwood.actors.billing import added
from sapwood.actors.model.retry import Again, retry_answer
from sapwood.actors.summaries.contract import HEADINGS, LABELS, lacking, refusal, text_of
from sapwood.actors.summaries.file_lists import unlisted
from sapwood.actors.summaries.frame import framed, neutral
from sapwood.actors.summaries.parts import Text, Texts, next_part, shortened, size_of
from sapwood.actors.summaries.prompts import MISSING
from sapwood.actors.summaries.steps import Answered, Ask, Begun, Do, GaveUp, Happened, Job, Sizes, Wait, Waited, Written
from sapwood.events.messages import NO_USAGE, AssistantMessage, Usage

HALVINGS: Final = 5
"""To a thirty-second of the room: a window that was misjudged by more is none that we know anything of."""
LEAST: Final = 256
"""Tokens of material in a request: with less, it would be nearly all frame."""
SEAM: Final = 4
"""Tokens that the place may cost where two texts meet, beyond the blank line: a tag of ours may come together there, or a token apart."""
LEAST_PART: Final = LEAST // 8
"""Tokens that a part takes on the average, at least: half of the material may be the summary before, no two neighbours fit into one part,
and a text is cut where a line ends."""
NOTHING: Final = "there is nothing to summarize"
STOPPED: Final = "the wait before another attempt was cancelled"


@attrs.frozen(kw_only=True)
class JobState:
    """A job, between two steps."""

    job: Job
    room: int
    ask: Ask
    """The present request."""
    frame: int = 0
    """Tokens of a request without its material, at most."""
    seam: int = 0
    rest: Texts = ()
    """What no answer covers and no request asks for."""
    part: Texts = ()
    """What the present request asks for."""
    summary: str | None = None
    """Of all before the part, neutral."""
    shown: str | None = None
    """As much of it as the present request shows."""
    earlier: str | None = None
    """The answer that missed the format, once it is asked for again."""
    told: str = ""
    """The instructions of the part."""
    attempt: int = 1
    """Of the present request."""
    overflows: int = 0
    parts: int = 0
    most_parts: int = 0
    cut: bool = False
    usage: Usage | None = None
    calls: int = 0


def begun(job: Job) -> JobState:
    """The state that a job begins with. Take its first step with `Begun()`."""
    return JobState(job=job, room=job.room, ask=Ask("", job.words.system))


def least_room(job: Job) -> int:
    """The smallest room that a job can be done in: its words, and `LEAST` tokens of material."""
    return _frame(job) + LEAST


def most_calls(job: Job) -> int:
    """More calls than this no job takes: (parts + the one for the format) x (retries + 1).

    Parts are at most one for each `LEAST_PART` tokens of material, and one more for each time that the room is halved. That is for the
    worst of rooms; nearly always there are as many calls as the material fills rooms.
    """
    return (_most_parts(job) + 1) * (job.retry.max_retries * job.retry.enabled + 1)


def next_step(state: JobState, happened: Happened) -> tuple[JobState, Do]:
    """The state after what happened, and the one thing to do now. Nothing more is to be done after `Written` or `GaveUp`."""
    match happened:
        case Begun():
            return _begin(state)
        case Waited(stopped=True):
            return _failed(state, STOPPED, aborted=True)
        case Waited():
            return state, state.ask
        case Answered(message=message):
            usage = None if message.usage == NO_USAGE else message.usage
            state = attrs.evolve(state, calls=state.calls + 1, usage=added(state.usage, usage))
            return _answered(state, message, happened)
        case _:
            assert_never(happened)


def _begin(state: JobState) -> tuple[JobState, Do]:
    job = state.job
    texts, seam = _texts(job), _seam(job)
    state = attrs.evolve(
        state,
        frame=_frame(job),
        seam=seam,
        rest=texts,
        summary=neutral(unlisted(job.previous)) if job.previous is not None else None,
        most_parts=_most_parts(job),
    )
    return _next_part(state) if texts else _failed(state, NOTHING)


def _answered(state: JobState, message: AssistantMessage, answered: Answered) -> tuple[JobState, Do]:
    refused = refusal(message, LABELS[state.job.kind])
    if refused is not None and message.stop_reason == "aborted":
        return _gave_up(state, refused, aborted=True)
    if answered.overflowed:
        return _overflowed(state) if state.earlier is None else _written(state, state.earlier)
    if message.stop_reason == "error":
        again = retry_answer(message, state.attempt, state.job.retry, jitter=answered.jitter)
        if isinstance(again, Again):
            wait = Wait(again.delay_ms, state.attempt, message.error_message or "")
            return attrs.evolve(state, attempt=state.attempt + 1), wait
    if refused is not None:
        return _gave_up(state, refused) if state.earlier is None else _written(state, state.earlier)
    return _said(state, text_of(message))


def _said(state: JobState, text: str) -> tuple[JobState, Do]:
    """What follows a good answer."""
    if state.rest:
        return _next_part(attrs.evolve(state, summary=neutral(unlisted(text))))
    missing = _lacking(state.job, text)
    if state.earlier is not None:
        better = len(missing) <= len(_lacking(state.job, state.earlier))
        return _written(state, text if better else state.earlier)
    return _ask_again(state, text, missing) if missing else _written(state, text)


def _overflowed(state: JobState) -> tuple[JobState, Do]:
    """The same again in less room than what was refused took."""
    asked = state.job.count(state.ask.system) + state.job.count(state.ask.prompt)
    room = min(state.room, asked) // 2
    rest = (*state.part, *state.rest)
    return _next_part(attrs.evolve(state, room=room, rest=rest, overflows=state.overflows + 1), asked=asked)


def _next_part(state: JobState, *, asked: int = 0) -> tuple[JobState, Do]:
    """Ask for as much of what is left as fits. `asked`: tokens of the request that was too large, if one was."""
    job, free = state.job, state.room - state.frame
    why = _why_not(state, asked, state.frame + LEAST)
    if why is not None:
        return _failed(state, why, sizes=Sizes(asked=asked, room=state.room, least=state.frame + LEAST))
    shown = None if state.summary is None else shortened(state.summary, free // 2, job.count)
    part, rest = next_part(state.rest, free - _tokens(job, shown), job.count, seam=state.seam)
    told = _instructions(job, update=shown is not None and bool(shown.strip()))
    cut = state.cut or shown != state.summary
    state = attrs.evolve(state, part=part, rest=rest, shown=shown, told=told, cut=cut, parts=state.parts + 1)
    return _asking(state, told)


def _why_not(state: JobState, asked: int, least: int) -> str | None:
    """Why there can be no further part, with the sizes."""
    if state.overflows > HALVINGS:
        return f"a request of {asked} tokens was too large, and so were {HALVINGS} larger ones before it"
    if state.room < least and state.overflows:
        return (
            f"a request of {asked} tokens was too large, and half of that is too small to be of use: "
            f"the smallest takes {least} tokens"
        )
    if state.room < least:
        return f"a request may take {state.room} tokens, and the smallest that is of use takes {least}"
    if state.parts >= state.most_parts:
        return f"{state.parts} requests of up to {state.room} tokens did not get to the end of the conversation"
    return None


def _ask_again(state: JobState, text: str, missing: tuple[str, ...]) -> tuple[JobState, Do]:
    """The same material, the answer as far as there is room for it, and what it lacks."""
    job = state.job
    left = state.room - state.frame - _tokens(job, state.shown) - size_of(state.part, state.seam)
    told = _again(job, state.told, missing)
    return _asking(attrs.evolve(state, earlier=text), told, shortened(neutral(text), left, job.count))


def _asking(state: JobState, told: str, earlier: str | None = None) -> tuple[JobState, Do]:
    conversation = "\n\n".join(one.text for one in state.part)
    prompt = framed(conversation, told, previous=state.shown, earlier=earlier, focus=state.job.focus)
    ask = Ask(prompt, state.job.words.system)
    return attrs.evolve(state, ask=ask, attempt=1), ask


def _written(state: JobState, text: str) -> tuple[JobState, Do]:
    missing = _lacking(state.job, text)
    return state, Written(text=text, usage=state.usage, lacking=missing, shortened=state.cut, calls=state.calls)


def _failed(state: JobState, why: str, *, aborted: bool = False, sizes: Sizes | None = None) -> tuple[JobState, Do]:
    return _gave_up(state, f"{LABELS[state.job.kind]} failed: {why}", aborted=aborted, sizes=sizes)


def _gave_up(state: JobState, reason: str, *, aborted: bool = False, sizes: Sizes | None = None) -> tuple[JobState, Do]:
    return state, GaveUp(reason=reason, aborted=aborted, usage=state.usage, calls=state.calls, sizes=sizes)


def _lacking(job: Job, text: str) -> tuple[str, ...]:
    return lacking(text, job.kind) if _replaced(job) is None else ()


def _replaced(job: Job) -> str | None:
    """A person's instructions, if there are any."""
    return job.instructions if job.instructions is not None and job.instructions.strip() else None


def _instructions(job: Job, *, update: bool) -> str:
    replaced = _replaced(job)
    if replaced is None:
        return job.words.update if update else job.words.first
    return f"{replaced}\n\n{job.words.part}" if update else replaced


def _again(job: Job, told: str, missing: tuple[str, ...]) -> str:
    return f"{told}\n\n" + job.words.ask_again.replace(MISSING, "\n".join(missing))


def _texts(job: Job) -> Texts:
    """The conversation, neutral, without what is blank. What changes by that is counted anew."""
    pairs = ((text, neutral(text), tokens) for text, tokens in zip(job.texts, job.tokens, strict=True) if text.strip())
    return tuple(Text(clean, tokens if clean == text else job.count(clean)) for text, clean, tokens in pairs)


def _tokens(job: Job, text: str | None) -> int:
    return job.count(text) if text else 0


def _seam(job: Job) -> int:
    return job.count("\n\n") + SEAM


def _frame(job: Job) -> int:
    """All that a request may hold besides its material: the role, the longest instructions, the tags, and what two seams a tag may cost."""
    longest = max(
        job.count(
            framed(
                "",
                _again(job, _instructions(job, update=update), HEADINGS[job.kind]),
                previous=".",
                earlier=".",
                focus=job.focus,
            )
        )
        for update in (False, True)
    )
    return job.count(job.words.system) + longest + 6 * SEAM


def _most_parts(job: Job) -> int:
    return size_of(_texts(job), _seam(job)) // LEAST_PART + 2 + HALVINGS
