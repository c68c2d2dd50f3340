from __future__ import annotations

from contextvars import copy_context

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from sapwood.actors.kernel import Closed
from sapwood.actors.kernel.mailbox import ROOM, Call, Envelope, Mailbox


def call() -> Call:
    return Call(None, copy_context())


async def taken(mailbox: Mailbox, count: int) -> list[object]:
    return [(await mailbox.take()).message for _ in range(count)]


async def test_tells_and_asks_come_out_in_one_order() -> None:
    mailbox = Mailbox()
    for n in range(6):
        mailbox.put(Envelope(n, call() if n % 2 else None))
    assert await taken(mailbox, 6) == [0, 1, 2, 3, 4, 5]


async def test_what_is_told_goes_into_a_full_mailbox() -> None:
    mailbox = Mailbox()
    for n in range(3 * ROOM):
        mailbox.put(Envelope(n))
    assert await taken(mailbox, 3 * ROOM) == list(range(3 * ROOM))


async def test_an_ask_waits_outside_of_a_full_mailbox_until_there_is_room() -> None:
    mailbox = Mailbox()
    for n in range(ROOM):
        mailbox.put(Envelope(n))
    mailbox.put(Envelope("first ask", call()))
    mailbox.put(Envelope("second ask", call()))
    mailbox.put(Envelope("told later"))
    out = await taken(mailbox, ROOM + 3)
    assert out[ROOM:] == ["told later", "first ask", "second ask"]


async def test_purging_takes_the_asks_and_keeps_what_was_told_in_order() -> None:
    mailbox = Mailbox()
    for n in range(6):
        mailbox.put(Envelope(n, call() if n % 2 else None))
    assert [envelope.message for envelope in mailbox.purge()] == [1, 3, 5]
    assert await taken(mailbox, 3) == [0, 2, 4]


async def test_purging_spares_the_asks_that_wait_outside() -> None:
    mailbox = Mailbox()
    for n in range(ROOM):
        mailbox.put(Envelope(n, call()))
    mailbox.put(Envelope("outside", call()))
    assert len(mailbox.purge()) == ROOM
    assert await taken(mailbox, 1) == ["outside"]


async def test_emptying_takes_everything_even_while_a_message_is_being_handed_over(nursery: trio.Nursery) -> None:
    mailbox = Mailbox()
    nursery.start_soon(mailbox.take)
    await wait_all_tasks_blocked()
    for n in range(3):
        mailbox.put(Envelope(n))
    assert [envelope.message for envelope in mailbox.empty()] == [1, 2]


async def test_only_the_first_answer_counts() -> None:
    first = call()
    first.reply(1)
    first.reply(2)
    first.refuse(Closed("it"))
    assert await first.answer() == 1
    assert not first.open


async def test_a_refusal_is_raised_as_it_is() -> None:
    question, error = call(), Closed("it")
    question.refuse(error)
    with pytest.raises(Closed) as caught:
        await question.answer()
    assert caught.value is error


async def test_an_asker_that_left_gets_no_answer() -> None:
    question = call()
    with trio.move_on_after(0):
        await question.answer()
    assert question.left
    question.reply(1)
    assert not question.open
