"""What waits keeps its place until it is in the log, is taken back, or has its outcome."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.inbox.queues import Queues
from sapwood.events.commands import Input, QueuedInputs, QueueName
from sapwood.events.ids import EntryId
from tests.build import MS


def said(text: str) -> Input:
    return Input(entry_id=EntryId(text), text=text, timestamp=MS)


def waiting(*, steering: str = "", follow_up: str = "") -> Queues:
    queues = Queues()
    for text in steering:
        queues.add("steering", said(text))
    for text in follow_up:
        queues.add("follow_up", said(text))
    return queues


def shown(queue: QueuedInputs) -> tuple[str, str]:
    return "".join(one.text for one in queue.steering), "".join(one.text for one in queue.follow_up)


def test_each_queue_gives_its_oldest() -> None:
    queues = waiting(steering="ab", follow_up="cd")

    assert queues.take("follow_up") == said("c")
    assert queues.take("steering") == said("a")
    assert queues.take("steering") == said("b")
    assert queues.take("steering") is None
    assert shown(queues.present()) == ("", "d")


def test_what_was_taken_and_not_recorded_is_the_oldest_again() -> None:
    queues = waiting(steering="abc")
    queues.take("steering")
    queues.take("steering")
    queues.remove(EntryId("a"))  # it is in the log

    assert queues.put_back()
    assert not queues.put_back()

    assert shown(queues.present()) == ("bc", "")
    assert queues.take("steering") == said("b")


def test_what_is_in_the_log_is_not_put_back_though_nobody_has_said_so() -> None:
    queues = waiting(steering="abc")
    queues.take("steering")
    queues.take("steering")

    assert queues.put_back({EntryId("a")})

    assert shown(queues.present()) == ("bc", "")
    queues.take("steering")
    assert not queues.put_back({EntryId("b")})


def test_what_waits_can_be_taken_back_and_what_is_being_recorded_cannot() -> None:
    queues = waiting(steering="ab")
    queues.take("steering")

    assert not queues.withdraw(EntryId("a"))
    assert queues.withdraw(EntryId("b"))
    assert not queues.withdraw(EntryId("b"))

    assert EntryId("a") in queues
    assert EntryId("b") not in queues


QUEUES: tuple[QueueName, ...] = ("steering", "follow_up")
STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(QUEUES)),
    st.tuples(st.just("take"), st.sampled_from(QUEUES)),
    st.tuples(st.sampled_from(["put back", "record", "withdraw"]), st.just("steering")),
)


@given(st.lists(STEPS, max_size=40))
def test_nothing_is_lost_nothing_is_doubled_and_the_order_is_kept(steps: list[tuple[str, QueueName]]) -> None:
    queues = Queues()
    added: dict[QueueName, list[str]] = {"steering": [], "follow_up": []}
    gone: list[str] = []
    taken: list[Input] = []
    for n, (step, queue) in enumerate(steps):
        if step == "add":
            added[queue].append(str(n))
            queues.add(queue, said(str(n)))
        elif step == "take":
            one = queues.take(queue)
            if one is not None:
                taken.append(one)
        elif step == "put back":
            queues.put_back()
            taken.clear()
        elif step == "record" and taken:
            gone.append(taken[0].text)
            queues.remove(taken.pop(0).entry_id)
        elif step == "withdraw":
            rest = queues.present().follow_up
            if rest and queues.withdraw(rest[-1].entry_id):
                gone.append(rest[-1].text)
    queues.put_back()

    present = queues.present()
    assert [one.text for one in present.steering] == [one for one in added["steering"] if one not in gone]
    assert [one.text for one in present.follow_up] == [one for one in added["follow_up"] if one not in gone]
