"""The inbox resolves handles by the news of a run, and by the log where it missed the news."""

from __future__ import annotations

from sapwood.actors.inbox.actor import Inbox
from sapwood.actors.inbox.shelf import Handle, Shelf
from sapwood.actors.kernel import Refuse, Reply
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.commands import Delivered, Input, Returned, Withdraw, Withdrawn
from sapwood.events.errors import SessionClosed
from sapwood.events.ids import EntryId
from sapwood.events.requests import Accept, Resolve
from sapwood.events.runtime import AgentEnd, AgentSettled, MessageEnd, QueueUpdate, TurnEnd
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, MS, assistant, message_entry, user

ID = EntryId("u1")
INPUT = Input(entry_id=ID, text="hi", timestamp=MS)
ANSWER = assistant("hello")


class Desk:
    """An inbox with one accepted input."""

    def __init__(self) -> None:
        self.store = MemoryStore(HEADER)
        self.view = View(self.store)
        self.shelf = Shelf()
        self.running = True
        self.told: list[QueueUpdate] = []
        self.inbox = self.made()
        self.handle: Handle = self.shelf.put(INPUT)
        assert self.inbox.handle(Accept(input=INPUT)) == Reply()

    def made(self) -> Inbox:
        return Inbox(self.shelf, self.view, lambda: self.running, self.publish)

    def publish(self, news: QueueUpdate) -> int:
        self.told.append(news)
        return len(self.told)

    def deliver(self) -> None:
        self.store.append([encode_entry(message_entry("u1", user("hi")))])
        self.inbox.handle(MessageEnd(message=user("hi"), entry_id=ID))

    def answer(self) -> None:
        self.store.append([encode_entry(message_entry("a1", ANSWER, "u1"))])


def test_a_run_that_settles_resolves_what_it_took_up_with_its_turns_and_its_answer() -> None:
    desk = Desk()
    desk.deliver()
    desk.inbox.handle(TurnEnd(message=ANSWER, tool_results=()))
    desk.inbox.handle(AgentEnd(messages=(user("hi"), ANSWER), will_retry=False))
    assert desk.handle.outcome_nowait is None

    desk.inbox.handle(AgentSettled(aborted=False))

    assert desk.handle.outcome_nowait == Delivered(entry_id=ID, answer=ANSWER, turns=1)


def test_turns_and_answer_are_of_one_run() -> None:
    desk = Desk()
    desk.inbox.handle(TurnEnd(message=ANSWER, tool_results=()))
    desk.inbox.handle(AgentEnd(messages=(ANSWER,), will_retry=False))
    desk.inbox.handle(AgentSettled(aborted=True))
    second = desk.shelf.put(INPUT)
    desk.inbox.handle(Accept(input=INPUT))
    desk.deliver()

    desk.inbox.handle(AgentSettled(aborted=False))

    assert second.outcome_nowait == Delivered(entry_id=ID)


def test_what_did_not_reach_the_log_is_left_to_whoever_knows_why_and_is_handed_back_at_last() -> None:
    desk = Desk()

    desk.inbox.handle(AgentSettled(aborted=True))
    assert desk.handle.outcome_nowait is None
    desk.inbox.handle(Resolve(entry_id=ID))

    assert desk.handle.outcome_nowait == Returned(text="hi")


def test_what_broke_the_run_is_told_with_the_outcome() -> None:
    desk = Desk()
    desk.deliver()

    desk.inbox.handle(AgentSettled(aborted=False, error_message="the disk is full"))

    assert desk.handle.outcome_nowait == Delivered(entry_id=ID, error="the disk is full")


def test_an_input_that_nobody_waits_for_any_more_is_not_accepted() -> None:
    desk = Desk()
    desk.shelf.resolve(ID, Returned(text="hi"))

    refusal = desk.inbox.handle(Accept(input=INPUT))

    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.error, SessionClosed)


def test_the_news_of_the_end_may_get_lost_and_the_handle_is_resolved_all_the_same() -> None:
    desk = Desk()
    desk.deliver()

    assert desk.inbox.handle(Resolve(entry_id=ID)) == Reply()
    assert desk.inbox.handle(Resolve(entry_id=ID)) == Reply()

    assert desk.handle.outcome_nowait == Delivered(entry_id=ID, aborted=True)


def test_made_anew_while_the_run_goes_on_it_takes_the_answer_from_the_log() -> None:
    desk = Desk()
    desk.deliver()
    desk.answer()

    desk.inbox = desk.made()
    assert desk.handle.outcome_nowait is None
    desk.inbox.handle(AgentSettled(aborted=False))

    assert desk.handle.outcome_nowait == Delivered(entry_id=ID, answer=ANSWER, turns=1)


def test_made_anew_when_the_run_is_over_it_resolves_at_once() -> None:
    desk = Desk()
    desk.deliver()
    desk.running = False

    desk.made()

    assert desk.handle.outcome_nowait == Delivered(entry_id=ID, aborted=True)


def test_made_anew_it_leaves_what_did_not_reach_the_log_to_whoever_knows_why() -> None:
    desk = Desk()
    desk.running = False

    desk.made()  # this used to hand the input back as returned, and the disk's error was never told

    assert desk.handle.outcome_nowait is None


def test_what_was_delivered_is_not_queued_when_it_is_asked_for_again() -> None:
    """Whoever asked crashed before it had its answer, and a run had taken the input up meanwhile."""
    desk = Desk()
    desk.deliver()

    assert desk.inbox.handle(Accept(input=INPUT, queue="steering")) == Reply()

    assert ID not in desk.shelf.queues


def test_what_is_taken_back_on_its_way_never_comes_into_its_queue() -> None:
    async def never(_: EntryId) -> bool:
        raise AssertionError

    desk = Desk()
    taken = Input(entry_id=EntryId("u2"), text="later", timestamp=MS)
    handle = desk.shelf.put(taken, withdraw=never)

    assert desk.inbox.handle(Withdraw(entry_id=taken.entry_id)) == Reply(True)
    refused = desk.inbox.handle(Accept(input=taken, queue="steering"))

    assert handle.outcome_nowait == Withdrawn(text="later")
    assert isinstance(refused, Refuse)
    assert isinstance(refused.error, SessionClosed)
    assert taken.entry_id not in desk.shelf.queues
    assert desk.told == [], "it never waited, and nobody was told that it does"
    assert desk.inbox.handle(Withdraw(entry_id=ID)) == Reply(False), "a prompt is being said"


def test_what_is_accepted_for_a_queue_waits_there_and_that_is_told() -> None:
    async def withdrawn(_: EntryId) -> bool:
        return True

    desk = Desk()
    taken = Input(entry_id=EntryId("u2"), text="later", timestamp=MS)
    desk.shelf.put(taken, withdraw=withdrawn)

    for _ in range(2):  # asked again after a crash
        assert desk.inbox.handle(Accept(input=taken, queue="follow_up")) == Reply()

    assert desk.shelf.queues.present().follow_up == (taken,)
    assert desk.told == [QueueUpdate(steering=(), follow_up=("later",))]
