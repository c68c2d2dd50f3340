"""Handles get exactly one outcome."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from sapwood.actors.inbox.shelf import Handle, Shelf
from sapwood.events.commands import Delivered, Failed, Input, Returned
from sapwood.events.content import ImageContent
from sapwood.events.errors import Refused
from sapwood.events.ids import EntryId
from tests.build import MS

ID = EntryId("u1")
INPUT = Input(entry_id=ID, text="hi", timestamp=MS)
BUSY = Refused("busy", "not now")


async def test_an_outcome_is_given_once_and_the_first_one_stays() -> None:
    shelf = Shelf()
    handle = shelf.put(INPUT)
    assert handle.outcome_nowait is None
    assert "waiting" in repr(handle)

    shelf.resolve(ID, Delivered(entry_id=ID))
    shelf.resolve(ID, Returned(text="hi"))
    shelf.fail(ID, BUSY)

    assert await handle.outcome() == Delivered(entry_id=ID)
    assert (handle.entry_id, handle.input) == (ID, INPUT)


async def test_what_kept_an_input_out_is_raised_and_the_input_is_handed_back_whole() -> None:
    shelf = Shelf()
    handle = shelf.put(INPUT)

    shelf.fail(ID, BUSY)

    assert handle.outcome_nowait == Failed(reason="not now", text="hi")
    with pytest.raises(Refused, match="not now"):
        await handle.outcome()
    await handle.done()


async def test_whoever_waits_may_leave_without_taking_the_outcome_along(
    autojump_clock: trio.testing.MockClock,
) -> None:
    shelf = Shelf()
    handle = shelf.put(INPUT)
    with trio.move_on_after(1):
        await handle.outcome()

    shelf.resolve(ID, Delivered(entry_id=ID))

    assert await handle.outcome() == Delivered(entry_id=ID)


async def test_whoever_must_not_wait_for_it_is_told_at_once() -> None:
    def guard() -> None:
        raise BUSY

    handle = Shelf().put(INPUT, guard)

    with pytest.raises(Refused, match="not now"):
        await handle.outcome()
    with pytest.raises(Refused, match="not now"):
        await handle.done()


def test_only_accepted_inputs_wait_and_only_those_without_an_outcome_stand_on_the_shelf() -> None:
    shelf = Shelf()
    handle = shelf.put(INPUT)
    assert (list(shelf.waiting()), shelf.handles(), shelf.get(ID)) == ([], (handle,), handle)
    assert ID in shelf

    shelf.accept(ID)
    assert list(shelf.waiting()) == [handle]

    shelf.resolve(ID, Delivered(entry_id=ID))
    assert (list(shelf.waiting()), shelf.handles(), shelf.get(ID)) == ([], (), None)
    assert ID not in shelf


def test_an_unknown_input_has_nothing_to_resolve() -> None:
    shelf = Shelf()

    shelf.resolve(ID, Delivered(entry_id=ID))
    shelf.fail(ID, BUSY)

    assert shelf.handles() == ()


def test_what_waits_in_a_queue_or_is_on_its_way_there_is_not_under_way() -> None:
    async def never(_: EntryId) -> bool:
        return False

    shelf = Shelf()
    prompt, on_its_way, waiting, said = (
        Input(entry_id=EntryId(name), text=name, timestamp=MS) for name in ("prompt", "on its way", "waiting", "said")
    )
    shelf.put(prompt)
    for one in (on_its_way, waiting, said):
        shelf.put(one, withdraw=never)
    for one in (waiting, said):
        shelf.accept(one.entry_id)
    shelf.queues.add("steering", waiting)

    assert [handle.input for handle in shelf.under_way()] == [prompt, said]


def test_what_is_for_a_queue_is_on_its_way_until_it_is_accepted() -> None:
    async def never(_: EntryId) -> bool:
        raise AssertionError

    shelf = Shelf()
    prompt = Input(entry_id=EntryId("u2"), text="go", timestamp=MS)
    shelf.put(INPUT, withdraw=never)
    shelf.put(prompt)
    assert [shelf.on_its_way(one) for one in (ID, prompt.entry_id, EntryId("x"))] == [True, False, False]

    shelf.accept(ID)

    assert not shelf.on_its_way(ID)


def test_what_waits_is_handed_back_whole_and_in_order_and_what_is_recorded_is_not() -> None:
    shelf = Shelf()
    image = ImageContent(data="aGk=", mime_type="image/png")
    names = ("f1", "s1", "recorded", "s2", "said", "prompt")
    handles: dict[str, Handle] = {}
    for name in names:
        one = Input(entry_id=EntryId(name), text=name, images=(image,) if name == "s1" else (), timestamp=MS)
        handles[name] = shelf.put(one)
        shelf.accept(one.entry_id)
        if name != "prompt":
            shelf.queues.add("follow_up" if name == "f1" else "steering", one)
    shelf.queues.remove(EntryId("said"))

    returned = shelf.hand_back({"recorded"})

    assert returned == (Returned(text="s1", images=(image,)), Returned(text="s2"), Returned(text="f1"))
    assert {name: handle.outcome_nowait for name, handle in handles.items()} == {
        "s1": returned[0],
        "s2": returned[1],
        "f1": returned[2],
        **dict.fromkeys(("recorded", "said", "prompt")),
    }
    queued = shelf.queues.present()
    assert ([one.text for one in queued.steering], queued.follow_up) == (["recorded"], ())
    assert shelf.hand_back({"recorded"}) == ()
