"""How the answers of several handlers come to one: the table, hook by hook, and what holds for any answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.extensions.extension import event_of
from sapwood.actors.extensions.merging import (
    FIELDS,
    MOST_WORDS,
    RULES,
    AnyAnswer,
    Asking,
    Came,
    Lost,
    NoAnswer,
    With,
    after,
    joined,
    shown,
)
from sapwood.events.base import Json
from sapwood.events.hooks import (
    AddBeforeStart,
    AfterProviderResponse,
    AgentBeforeSettle,
    AnyQuestion,
    BeforeAgentStart,
    BeforeMessageAppend,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    BeforeTurnEnd,
    Block,
    Boundary,
    Cancel,
    ChangeArguments,
    ChangeHeaders,
    ChangeInput,
    ChangeMessage,
    ChangeMessages,
    ChangePayload,
    ChangeResult,
    CompactionPreparation,
    ContextQuestion,
    ContextWithSystem,
    DraftMessage,
    Handled,
    InputReceived,
    ProvideSummary,
    Question,
    SessionBeforeCompact,
    SessionBeforeFork,
    SessionBeforeTree,
    SessionShutdown,
    SessionStart,
    ToolCallQuestion,
    ToolResultQuestion,
    TreeAnswer,
    TreePreparation,
)
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import Usage
from tests.build import assistant, text, usage, user
from tests.events.answers import answers_of
from tests.strategies import PER_KIND, of

COMPACT = SessionBeforeCompact(
    preparation=CompactionPreparation(
        messages_to_summarize=(),
        turn_prefix_messages=(),
        is_split_turn=False,
        tokens_before=9,
        first_kept_entry_id=None,
        settings={},
    ),
    branch_entry_ids=(),
    reason="manual",
    will_retry=False,
)
TREE = SessionBeforeTree(
    preparation=TreePreparation(
        target_id=None, old_leaf_id=None, common_ancestor_id=None, entry_ids_to_summarize=(), user_wants_summary=True
    )
)
CALL = ToolCallQuestion(tool_name="rm", tool_call_id=ToolCallId("c1"), arguments={"path": "a"})
RESULT = ToolResultQuestion(
    tool_name="rm", tool_call_id=ToolCallId("c1"), content=(text("gone"),), details=1, is_error=False
)
INPUT = InputReceived(text="hi", source="host")
HEADERS = BeforeProviderHeaders(header_names=("Accept", "X-Trace"))
START = BeforeAgentStart(prompt="hi", sections={})
SETTLE = AgentBeforeSettle(outcome="completed")
BROKE = NoAnswer("ValueError: oops")


def note(name: str) -> DraftMessage:
    return DraftMessage(custom_type="note", content=name)


def summary(words: str, **more: Any) -> ProvideSummary:
    return ProvideSummary(text=words, **more)


def asked(question: AnyQuestion, came: Sequence[Came]) -> Asking:
    """The question after handlers of the extensions a, b, c …"""
    asking = Asking(question)
    for extension, one in zip("abcdefgh", came, strict=False):
        asking = after(asking, extension, one)
    return asking


CASES: list[tuple[AnyQuestion, list[Came], AnyAnswer | None]] = [
    # the first that cancels has the last word; else a later summary takes the place of an earlier one, and both were paid for
    (COMPACT, [None, None], None),
    (COMPACT, [BROKE, summary("x")], summary("x")),
    (COMPACT, [Cancel(reason="one"), Cancel(reason="two")], Cancel(reason="one", by="a")),
    (COMPACT, [Cancel(), summary("x")], Cancel(by="a")),
    # it bears the name of whoever gave it, whatever he says himself
    (COMPACT, [Cancel(by="somebody else")], Cancel(by="a")),
    (COMPACT, [summary("x"), Cancel(reason="no")], Cancel(reason="no", by="b")),
    (COMPACT, [summary("x", usage=usage(1)), None, summary("y", usage=usage(2))], summary("y", usage=usage(3))),
    (COMPACT, [summary("x", first_kept=EntryId("e1"), details={"a": 1}), summary("y")], summary("y")),
    (COMPACT, [summary("x"), summary("y", first_kept="nothing")], summary("y", first_kept="nothing")),
    # the fields of a tree's answer come from whoever gives them last; what a summary or instructions bring along stays with them
    (TREE, [TreeAnswer(summary="x"), TreeAnswer(label="l")], TreeAnswer(summary="x", label="l")),
    (TREE, [TreeAnswer(label="l"), TreeAnswer(label="m")], TreeAnswer(label="m")),
    (TREE, [TreeAnswer(summary="x", details=1), TreeAnswer(summary="y")], TreeAnswer(summary="y")),
    (TREE, [TreeAnswer(summary="x"), TreeAnswer(details=2)], TreeAnswer(summary="x", details=2)),
    (
        TREE,
        [TreeAnswer(instructions="i", replace_instructions=True), TreeAnswer(instructions="j")],
        TreeAnswer(instructions="j"),
    ),
    (
        TREE,
        [TreeAnswer(instructions="i", replace_instructions=True), TreeAnswer(label="l")],
        TreeAnswer(instructions="i", replace_instructions=True, label="l"),
    ),
    (
        TREE,
        [TreeAnswer(instructions="i"), TreeAnswer(replace_instructions=False)],
        TreeAnswer(instructions="i", replace_instructions=False),
    ),
    (TREE, [TreeAnswer(usage=usage(1)), TreeAnswer(usage=usage(2))], TreeAnswer(usage=usage(3))),
    (TREE, [TreeAnswer(label="l"), Cancel()], Cancel(by="b")),
    (
        SessionBeforeFork(entry_id=None, whole_tree=True),
        [None, Cancel(reason="x"), Cancel()],
        Cancel(reason="x", by="b"),
    ),
    # who only listens says nothing
    (SessionStart(reason="new"), [None, BROKE], None),
    (SessionShutdown(), [None], None),
    (AfterProviderResponse(status=200, headers={}), [BROKE], None),
    # the first that handles an input has the last word; else each sees what the one before made of it
    (INPUT, [ChangeInput(text="a"), ChangeInput(text="b")], ChangeInput(text="b")),
    (INPUT, [ChangeInput(text="a", images=()), ChangeInput(text="b")], ChangeInput(text="b", images=())),
    (INPUT, [ChangeInput(text="a"), Handled(), ChangeInput(text="b")], Handled(by="b")),
    # messages of all, the prompt of the last one
    (
        START,
        [AddBeforeStart(messages=(note("m"),), system_prompt="p"), AddBeforeStart(messages=(note("n"),))],
        AddBeforeStart(messages=(note("m"), note("n")), system_prompt="p"),
    ),
    (START, [AddBeforeStart(system_prompt="p"), AddBeforeStart(system_prompt="q")], AddBeforeStart(system_prompt="q")),
    # whole replacements, one behind the other
    (
        ContextQuestion(messages=(user(),)),
        [ChangeMessages(messages=(user("a"),)), ChangeMessages(messages=())],
        ChangeMessages(messages=()),
    ),
    (
        ContextWithSystem(messages=(user(),)),
        [ChangeMessages(messages=(user("a"),)), None],
        ChangeMessages(messages=(user("a"),)),
    ),
    (
        BeforeMessageAppend(message=user()),
        [ChangeMessage(message=user("a")), ChangeMessage(message=user("b"))],
        ChangeMessage(message=user("b")),
    ),
    (
        BeforeProviderRequest(payload={"a": 1}),
        [ChangePayload(payload={"b": 1}), ChangePayload(payload=None)],
        ChangePayload(payload=None),
    ),
    # entries of all, the word of the last one on whether to go on
    (
        BeforeTurnEnd(turn_index=0, message=assistant("x"), tool_results=(), outcome="completed"),
        [Boundary(entries=(note("m"),), go_on=True), Boundary(), Boundary(entries=(note("n"),), go_on=False)],
        Boundary(entries=(note("m"), note("n")), go_on=False),
    ),
    (SETTLE, [Boundary(go_on=True), Boundary(entries=(note("n"),))], Boundary(entries=(note("n"),), go_on=True)),
    (SETTLE, [Boundary(entries=(note("n"),)), Boundary(go_on=True)], Boundary(entries=(note("n"),), go_on=True)),
    # each header by its name, in whatever letters
    (
        HEADERS,
        [ChangeHeaders(headers={"x-trace": None, "X-A": "1"}), ChangeHeaders(headers={"X-TRACE": "t", "X-B": "2"})],
        ChangeHeaders(headers={"X-A": "1", "X-TRACE": "t", "X-B": "2"}),
    ),
    # the first that blocks a call has the last word, and who fails blocks it; else each sees the arguments that the one before made
    (
        CALL,
        [ChangeArguments(arguments={"path": "b"}), ChangeArguments(arguments={})],
        ChangeArguments(arguments={}),
    ),
    (CALL, [ChangeArguments(arguments={}), Block(reason="no"), Block(reason="never")], Block(reason="no")),
    (
        CALL,
        [None, BROKE, ChangeArguments(arguments={})],
        Block(
            reason="the call was not run: the extension 'b', which decides on it, failed: ValueError: oops",
        ),
    ),
    # what is given changes
    (
        RESULT,
        [
            ChangeResult(content=(), usage=usage(1)),
            ChangeResult(details=2, usage=usage(2)),
            ChangeResult(is_error=True),
        ],
        ChangeResult(content=(), details=2, is_error=True, usage=usage(3)),
    ),
    (RESULT, [ChangeResult(details=2), BROKE, ChangeResult(details=3)], ChangeResult(details=3)),
]


@pytest.mark.parametrize(("question", "came", "answer"), CASES)
def test_answers_come_to_one(question: AnyQuestion, came: list[Came], answer: AnyAnswer | None) -> None:
    assert asked(question, came).answer == answer


SHOWN: list[tuple[AnyQuestion, AnyAnswer, dict[str, Any]]] = [
    (CALL, ChangeArguments(arguments={"path": "b"}), {"arguments": {"path": "b"}}),
    (RESULT, ChangeResult(details=2, usage=usage(1)), {"details": 2}),
    (RESULT, ChangeResult(content=(), is_error=True), {"content": (), "is_error": True}),
    (INPUT, ChangeInput(text="b"), {"text": "b"}),
    (INPUT, ChangeInput(text="b", images=()), {"text": "b", "images": ()}),
    (ContextQuestion(messages=(user(),)), ChangeMessages(messages=()), {"messages": ()}),
    (ContextWithSystem(messages=()), ChangeMessages(messages=(user(),)), {"messages": (user(),)}),
    (BeforeMessageAppend(message=user("a")), ChangeMessage(message=user("b")), {"message": user("b")}),
    (BeforeProviderRequest(payload={"a": 1}), ChangePayload(payload=None), {"payload": None}),
    (
        HEADERS,
        ChangeHeaders(headers={"x-trace": None, "ACCEPT": "*", "X-New": "1", "X-Not": None}),
        {"header_names": ("ACCEPT", "X-New")},
    ),
    # what decides does not change what it decides on
    (CALL, Block(), {}),
    (INPUT, Handled(), {}),
    (COMPACT, summary("x"), {}),
    (TREE, TreeAnswer(instructions="i"), {}),
    (START, AddBeforeStart(system_prompt="p"), {}),
    (SETTLE, Boundary(go_on=True), {}),
]


@pytest.mark.parametrize(("question", "answer", "changed"), SHOWN)
def test_the_next_handler_sees_what_the_last_one_made_of_a_question_that_chains(
    question: AnyQuestion, answer: AnyAnswer, changed: dict[str, Any]
) -> None:
    assert shown(question, answer) == msgspec.structs.replace(question, **changed)
    assert after(Asking(question), "a", answer).question == shown(question, answer)


LOST: list[tuple[AnyQuestion, list[Came], list[Lost]]] = [
    (COMPACT, [summary("x"), None, summary("y")], [Lost("text", "a", "c")]),
    (COMPACT, [summary("x"), summary("x")], []),
    (
        COMPACT,
        [summary("x", first_kept="nothing", details=1, usage=usage(1)), summary("y")],
        [Lost("text", "a", "b"), Lost("first_kept", "a", "b"), Lost("details", "a", "b")],
    ),
    (
        COMPACT,
        [summary("x", details=1, usage=usage(1)), Cancel()],
        [Lost("text", "a", "b"), Lost("usage", "a", "b"), Lost("details", "a", "b")],
    ),
    (COMPACT, [summary("x"), summary("y"), summary("z")], [Lost("text", "a", "b"), Lost("text", "b", "c")]),
    (COMPACT, [Cancel(), summary("y")], []),
    (TREE, [TreeAnswer(summary="x"), TreeAnswer(label="l")], []),
    (
        TREE,
        [TreeAnswer(summary="x", label="l"), TreeAnswer(label="m"), TreeAnswer(summary="y")],
        [Lost("label", "a", "b"), Lost("summary", "a", "c")],
    ),
    (START, [AddBeforeStart(system_prompt="p"), AddBeforeStart(system_prompt="q")], [Lost("system_prompt", "a", "b")]),
    (START, [AddBeforeStart(messages=(note("m"),)), AddBeforeStart(messages=(note("n"),))], []),
    (
        SETTLE,
        [Boundary(entries=(note("m"),), go_on=True), Boundary(entries=(), go_on=False)],
        [Lost("go_on", "a", "b")],
    ),
    # seen by who changed it
    (CALL, [ChangeArguments(arguments={}), Block()], []),
    (CALL, [ChangeArguments(arguments={}), BROKE], []),
    (RESULT, [ChangeResult(details=2), ChangeResult(details=3)], []),
]


@pytest.mark.parametrize(("question", "came", "lost"), LOST)
def test_what_is_overridden_unseen_is_told(question: AnyQuestion, came: list[Came], lost: list[Lost]) -> None:
    assert list(asked(question, came).lost) == lost


@pytest.mark.parametrize(
    ("question", "came", "over"),
    [
        (COMPACT, Cancel(), True),
        (COMPACT, summary("x"), False),
        (INPUT, Handled(), True),
        (CALL, Block(), True),
        (CALL, BROKE, True),
        (CALL, None, False),
        (RESULT, BROKE, False),
        (TREE, BROKE, False),
    ],
)
def test_after_the_last_word_nobody_is_asked(question: AnyQuestion, came: Came, *, over: bool) -> None:
    assert asked(question, [came]).over is over


def test_a_long_failure_is_told_to_the_model_in_part() -> None:
    answers = [asked(CALL, [NoAnswer("x" * length)]).answer for length in (MOST_WORDS, MOST_WORDS + 1)]

    reasons = [answer.reason.split(": ")[-1] for answer in answers if isinstance(answer, Block)]
    assert reasons == ["x" * MOST_WORDS, "x" * MOST_WORDS + " …"]


def test_only_a_tool_call_fails_closed() -> None:
    assert [question for question, rule in RULES.items() if rule.closed] == [ToolCallQuestion]


@pytest.mark.parametrize("question", get_args(AnyQuestion), ids=event_of)
def test_every_question_has_a_rule_that_admits_what_its_type_says(question: type[Question[Any]]) -> None:
    rule = RULES[question]

    assert set(rule.admits) == answers_of(question)
    assert len(rule.admits) == len(set(rule.admits))


def test_every_field_of_an_answer_that_several_may_give_has_a_rule() -> None:
    several = {rule.changes for rule in RULES.values()} - {None}

    assert set(FIELDS) == several
    assert {kind: set(fields) for kind, fields in FIELDS.items()} == {
        kind: set(kind.__struct_fields__) for kind in several if kind is not None
    }
    assert all(how.head in fields for fields in FIELDS.values() for how in fields.values() if isinstance(how, With))


def test_whatever_stops_is_nothing_that_several_may_give() -> None:
    assert {rule.stops for rule in RULES.values()} & set(FIELDS) == set()


SEVERAL = [question for question, rule in RULES.items() if rule.changes is not None]
GATHERED = [question for question in SEVERAL if not RULES[question].chains]
CHAINED = [question for question in SEVERAL if RULES[question].chains]


def answers(question: type[Question[Any]]) -> st.SearchStrategy[list[AnyAnswer]]:
    """Some answers of several handlers; none of them is the last word."""
    return st.lists(of(RULES[question].changes), max_size=4)


@pytest.mark.parametrize("question", CHAINED, ids=event_of)
@PER_KIND
@given(data=st.data())
def test_the_one_answer_changes_a_question_as_all_of_them_did(
    question: type[Question[Any]], data: st.DataObject
) -> None:
    begin: AnyQuestion = data.draw(of(question))

    end = asked(begin, data.draw(answers(question)))

    assert end.question == (begin if end.answer is None else shown(begin, end.answer))
    assert end.lost == ()


@pytest.mark.parametrize("question", GATHERED, ids=event_of)
@PER_KIND
@given(data=st.data())
def test_what_somebody_gave_is_in_the_answer_or_told_as_lost(
    question: type[Question[Any]], data: st.DataObject
) -> None:
    came: list[AnyAnswer] = data.draw(answers(question))
    came += data.draw(st.sampled_from([[], [Cancel()]])) if RULES[question].stops else []
    end = asked(data.draw(of(question)), came)

    def values(field: str, whose: str) -> Json:
        return getattr(came["abcdefgh".index(whose)], field)

    lost = [(one.field, values(one.field, one.whose)) for one in end.lost]
    for answer in came:
        for field, how in FIELDS.get(type(answer), {}).items():
            given = getattr(answer, field)
            if how == "follows":
                assert all(one in getattr(end.answer, field) for one in given or ())
            elif given is not None and not (how == "adds" and type(end.answer) is type(answer)):
                assert (field, given) in lost or getattr(end.answer, field) == given


@pytest.mark.parametrize("kind", FIELDS, ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_it_makes_no_difference_which_two_come_to_one_first(kind: type[AnyAnswer], data: st.DataObject) -> None:
    a, b, c = (_unpaid(data.draw(of(kind))) for _ in range(3))

    assert joined(joined(a, b), c) == joined(a, joined(b, c))


def _unpaid(answer: AnyAnswer) -> AnyAnswer:
    """Sums of fractions depend on their order."""
    paid = "usage" in answer.__struct_fields__
    return msgspec.structs.replace(answer, usage=Usage.of(input=1, output=1)) if paid else answer


@pytest.mark.parametrize("question", SEVERAL, ids=event_of)
@PER_KIND
@given(data=st.data())
def test_one_answer_alone_is_the_answer_and_none_changes_nothing(
    question: type[Question[Any]], data: st.DataObject
) -> None:
    begin, answer = data.draw(of(question)), data.draw(of(RULES[question].changes))

    alone = asked(begin, [None, answer, None])

    assert alone == after(Asking(begin), "b", answer)
    assert (alone.answer, alone.over) == (answer, False)
    over = attrs.evolve(alone, over=True)
    assert after(over, "c", answer) is after(over, "c", BROKE) is over
