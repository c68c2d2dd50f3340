"""What every store is held to: each promise of `port`, as a function that anybody who writes a store may run.

    check_store(StoreMaker(new=..., reopen=..., refusing=...))

Each function takes a maker, opens stores of its own, and raises `AssertionError` with a sentence for the promise that is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

import attrs

from sapwood.events.codec import encode_entry
from sapwood.events.entries import Custom
from sapwood.events.errors import NotAnEntry, SapwoodError, SessionInUse, StoreClosed, StoreError
from sapwood.events.ids import EntryId
from sapwood.store.port import Store


@attrs.frozen(kw_only=True)
class StoreMaker:
    """How a check gets at stores of one make."""

    new: Callable[[], Store]
    """Opens a store that nobody has written to."""
    reopen: Callable[[Store], Store]
    """Closes a store, and opens what it has written."""
    refusing: Callable[[Store], AbstractContextManager[object]] | None = None
    """While the context lasts, every write of this store fails, at best half-way. None if writing cannot fail."""
    second: Callable[[Store, bool], Store] | None = None
    """Opens what a store has open once more, for reading alone or not. None if a session has no name by which another could open it."""


def check_store(make: StoreMaker) -> None:
    """Every promise, one after the other; the first that is broken raises `AssertionError`."""
    for promise in PROMISES:
        try:
            promise(make)
        except SapwoodError as error:
            raise AssertionError(f"{promise.__name__}: the store raised {error!r}, where nothing was wrong") from error


def check_a_new_store_is_empty(make: StoreMaker) -> None:
    store = make.new()
    _holds(len(store.tree) == 0, f"a new store holds {len(store.tree)} entries before the first append")
    _holds(store.tree.leaf is None, "a new store has a leaf before the first append")
    _holds(not store.read_only, "a new store refuses to be written")
    _raises(IndexError, lambda: store.line(0), "line(0) of an empty store")


def check_what_is_appended_is_there_in_order_and_byte_for_byte(make: StoreMaker) -> None:
    store = make.new()
    _append_and_look(store, [line("a", None)])
    _append_and_look(store, [line("b", "a"), odd_line("c", "b"), line("d", "c")])
    _append_and_look(store, [line("e", "b")])
    _holds(store.tree.path(4) == [0, 1, 4], f"the path to a branch's end is {store.tree.path(4)}")


def check_there_is_no_line_where_the_tree_has_none(make: StoreMaker) -> None:
    store = make.new()
    store.append([line("a", None), line("b", "a")])
    for index in (-3, -2, -1, 2):
        _raises(IndexError, partial(store.line, index), f"line({index}) of a store of two entries")


def check_what_is_opened_again_is_what_was_closed(make: StoreMaker) -> None:
    store = make.new()
    lines = [line("a", None), odd_line("b", "a"), line("c", "b"), line("x", "nowhere"), line("d", "a")]
    for one in lines:
        store.append([one])
    before = _seen(store)
    again = make.reopen(store)
    _holds(_seen(again) == before, f"reopened, the store shows {_seen(again)}, where it showed {before}")
    _append_and_look(again, [line("e", "d"), line("f", "e")])
    _holds(_lines(make.reopen(again))[:5] == lines, "the lines of the first opening are not what they were")


def check_the_header_stays(make: StoreMaker) -> None:
    store = make.new()
    header = store.header
    store.append([line("a", None)])
    _holds(store.header == header, "the header changed with the first append")
    _holds(make.reopen(store).header == header, "the header is another one after reopening")


def check_nothing_appended_is_nothing_changed(make: StoreMaker) -> None:
    store = make.new()
    store.append([line("a", None)])
    _append_and_look(store, [])
    _holds(_lines(make.reopen(store)) == [line("a", None)], "an append of nothing left something")


def check_reading_and_reopening_change_nothing(make: StoreMaker) -> None:
    store = make.new()
    store.append([line("a", None), line("b", "a")])
    first = _seen(store)
    for _ in range(3):
        _holds(_seen(store) == first, "a second reading shows something else")
        store = make.reopen(store)
    _holds(_seen(store) == first, "opening and closing changed the store")


def check_equal_content_under_two_ids_is_two_entries(make: StoreMaker) -> None:
    store = make.new()
    _append_and_look(store, [line("a", None), line("b", None)])
    _holds(len(make.reopen(store).tree) == 2, "two entries that differ in their ids alone became one")


def check_a_refused_line_refuses_the_whole_append(make: StoreMaker) -> None:
    store = make.new()
    store.append([line("a", None)])
    good = line("b", "a")
    for why, bad in BAD:
        for batch in ([bad], [good, bad], [bad, good]):
            _changes_nothing(store, batch, NotAnEntry, f"an append with {why} in it")
    _changes_nothing(store, [good, line("b", None)], NotAnEntry, "an append with one id twice")
    _append_and_look(store, [good])
    _holds(_lines(make.reopen(store)) == [line("a", None), good], "something of a refused append was kept")


def check_a_failed_write_changes_nothing(make: StoreMaker) -> None:
    if make.refusing is None:
        return
    for written in ([], [line("a", None), odd_line("b", "a")]):
        store = make.new()
        store.append(written)
        batch = [line("c", None), line("d", "c"), line("e", "d")]
        with make.refusing(store):
            _changes_nothing(store, batch, StoreError, "a write that fails")
            _changes_nothing(store, batch, StoreError, "a write that fails again")
        _append_and_look(store, batch)
        _holds(
            _lines(make.reopen(store)) == [*written, *batch], "after a failed write the next append left something else"
        )


def check_a_failed_write_leaves_nothing_to_find(make: StoreMaker) -> None:
    if make.refusing is None:
        return
    store = make.new()
    store.append([line("a", None)])
    with make.refusing(store):
        _changes_nothing(store, [line("b", "a"), line("c", "b")], StoreError, "a write that fails")
    _holds(_lines(make.reopen(store)) == [line("a", None)], "a failed append is there after reopening")


def check_what_is_staged_is_seen_when_it_is_committed(make: StoreMaker) -> None:
    store = make.new()
    store.append([line("a", None)])
    for one in (line("b", "a"), odd_line("c", "b")):
        before = _seen(store)
        store.stage([one])
        _holds(_seen(store) == before, f"what is staged shows before it is committed: {_seen(store)}")
        store.sync()
        _holds(_seen(store) == before, f"what is staged shows before it is committed: {_seen(store)}")
        store.commit()
        _holds(_lines(store)[-1] == one, f"committed was {one!r}, and the last line is {_lines(store)[-1]!r}")
    _holds(
        _lines(make.reopen(store))[1:] == [line("b", "a"), odd_line("c", "b")], "a commit is not there after reopening"
    )


def check_what_is_discarded_was_never_there(make: StoreMaker) -> None:
    for written in ([], [line("a", None)]):
        for hardened in (False, True):
            store = make.new()
            store.append(written)
            before = _seen(store)
            store.stage([line("b", None), line("c", "b")])
            if hardened:
                store.sync()
            store.discard()
            _holds(_seen(store) == before, f"after a discard the store shows {_seen(store)}, where it showed {before}")
            _append_and_look(store, [line("c", None)])
            there = _lines(make.reopen(store))
            _holds(there == [*written, line("c", None)], f"what was discarded is there after reopening: {there}")


def check_refreshing_where_nobody_else_wrote_changes_nothing(make: StoreMaker) -> None:
    store = make.new()
    for lines in ([], [line("a", None)], [line("b", "a")]):
        store.append(lines)
        before = _seen(store)
        store.refresh()
        _holds(_seen(store) == before, f"a refresh changed {before} to {_seen(store)}")
    _holds(not store.damage, f"a store that was only appended to is damaged: {store.damage}")


def check_a_session_has_one_writer(make: StoreMaker) -> None:
    if make.second is None:
        return
    store = make.new()
    store.append([line("a", None)])
    _raises(SessionInUse, partial(make.second, store, False), "a second writer")
    reading = make.second(store, True)
    _holds(reading.read_only, "a store that was opened for reading alone says that it may be written")
    _holds(_lines(reading) == [line("a", None)], f"a reader beside the writer sees {_lines(reading)}")
    _changes_nothing(reading, [line("b", "a")], StoreError, "an append to what was opened for reading alone")
    reading.close()
    _append_and_look(store, [line("b", "a")])
    store.close()
    _append_and_look(make.second(store, False), [line("c", "b")])


def check_a_closed_store_refuses(make: StoreMaker) -> None:
    store = make.new()
    store.append([line("a", None)])
    header, where = store.header, store.where
    store.close()
    store.close()
    for what, act in (
        ("line", lambda: store.line(0)),
        ("append", lambda: store.append([line("b", "a")])),
        ("stage", lambda: store.stage([line("b", "a")])),
        ("sync", store.sync),
        ("refresh", store.refresh),
        ("restore", store.restore),
    ):
        _raises(StoreClosed, act, f"{what}() of a closed store")
    seen = (store.header, store.where, len(store.tree))
    _holds(seen == (header, where, 1), "a closed store has forgotten its header, where it was or its tree")


def check_a_store_that_was_never_written_closes(make: StoreMaker) -> None:
    store = make.new()
    store.close()
    store.close()
    _raises(StoreClosed, lambda: store.append([line("a", None)]), "append() to a store that was closed new")


PROMISES: Final[Sequence[Callable[[StoreMaker], None]]] = (
    check_a_new_store_is_empty,
    check_what_is_appended_is_there_in_order_and_byte_for_byte,
    check_there_is_no_line_where_the_tree_has_none,
    check_what_is_opened_again_is_what_was_closed,
    check_the_header_stays,
    check_nothing_appended_is_nothing_changed,
    check_reading_and_reopening_change_nothing,
    check_equal_content_under_two_ids_is_two_entries,
    check_a_refused_line_refuses_the_whole_append,
    check_a_failed_write_leaves_nothing_to_find,
    check_a_failed_write_changes_nothing,
    check_what_is_staged_is_seen_when_it_is_committed,
    check_what_is_discarded_was_never_there,
    check_refreshing_where_nobody_else_wrote_changes_nothing,
    check_a_session_has_one_writer,
    check_a_closed_store_refuses,
    check_a_store_that_was_never_written_closes,
)

TIME: Final = "2026-01-01T00:00:00.000Z"


def line(entry_id: str, parent: str | None) -> bytes:
    """An entry as we write it."""
    parent_id = None if parent is None else EntryId(parent)
    return encode_entry(
        Custom(id=EntryId(entry_id), parent_id=parent_id, timestamp=TIME, custom_type="check", data={"n": 1})
    )


def odd_line(entry_id: str, parent: str) -> bytes:
    """An entry as nobody writes it, and as it must stay: spaces, an unknown kind, U+2028, a lone surrogate, a number of its own kind."""
    ids = f'"id" : "{entry_id}",  "parentId":"{parent}"'
    return f'  {{"zeta":[1.50,1e2],"type":"from.tomorrow", {ids}, "text":"a\u2028b \\ud800 \\u00e9"}} \t'.encode()


BAD: Final[Sequence[tuple[str, bytes]]] = (
    ("an id that is taken", line("a", None)),
    ("a line that is no JSON", b'{"type":"custom","id":"z"'),
    ("an empty line", b""),
    ("a number as id", b'{"type":"custom","id":7,"parentId":null}'),
    ("no id", b'{"type":"custom","parentId":null}'),
    ("an array", b"[1,2]"),
    ("a header", b'{"type":"session","id":"z","version":3,"timestamp":"","cwd":""}'),
    ("a newline in a line", b'{"type":"custom",\n"id":"z","parentId":null}'),
    ("a newline behind a line", line("z", None) + b"\n"),
    ("a carriage return behind a line", line("z", None) + b"\r"),
)


def _holds(promise: bool, broken: str) -> None:
    if not promise:
        raise AssertionError(broken)


def _append_and_look(store: Store, lines: Sequence[bytes]) -> None:
    before = _lines(store)
    store.append(lines)
    after = _lines(store)
    _holds(after[: len(before)] == before, f"an append changed what was there: {before} became {after}")
    _holds(after[len(before) :] == list(lines), f"appended was {list(lines)}, and there is {after[len(before) :]}")


def _changes_nothing(store: Store, batch: Sequence[bytes], error: type[SapwoodError], what: str) -> None:
    before = _seen(store)
    _raises(error, lambda: store.append(batch), what)
    _holds(_seen(store) == before, f"{what} raised, and the store shows {_seen(store)} where it showed {before}")


def _lines(store: Store) -> list[bytes]:
    try:
        return [store.line(index) for index in range(len(store.tree))]
    except IndexError as error:
        raise AssertionError(
            f"the tree counts {len(store.tree)} entries, and the store has no line for one of them"
        ) from error


def _seen(store: Store) -> object:
    """All that a store shows of its entries."""
    tree = store.tree
    entries = [
        (tree.id(index), tree.kind(index), tree.parent(index), tree.detached(index), tuple(tree.children(index)), one)
        for index, one in enumerate(_lines(store))
    ]
    return entries, tuple(tree.children(None)), tree.leaf


def _raises(error: type[Exception], act: Callable[[], object], what: str) -> None:
    try:
        act()
    except error:
        return
    except Exception as other:
        raise AssertionError(f"{what} raised {other!r}, not {error.__name__}") from other
    raise AssertionError(f"{what} raised nothing, where {error.__name__} was due")
