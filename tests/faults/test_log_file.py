"""D: what a log's file may hold: damage, odd payloads, foreign files, graphs that are none. What happens to it meanwhile is beside this.

A test's name begins with the fault's, as README.md lists them; of forks (D14) they are in `test_forks.py`. What is to be looked for
in features that do not exist yet comes with them:

- the catalogue: keys of folders (N03), and the listings of D09, D13 and N04;
- a switch of the running model (D16), a cancelled navigation (D13), exports and blobs (N02, N06);
- a tool's own run (E06, M04, M09) and queues (E06): results and messages are appended here as those will append them.

Nothing ever rewrites a file, so that what befalls rewriters is nothing to us (E03, N05); and no index or other file beside the log could
say something else than it does (D16).
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing

from sapwood import (
    Delivered,
    NewerVersion,
    NotASession,
    read,
)
from sapwood.actors.environment import Environment
from sapwood.events.base import Json, is_object
from sapwood.events.codec import decode_event, encode_entry, encode_event
from sapwood.events.damage import DamageKind
from sapwood.events.entries import Custom, KnownEntry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.runtime import DamageFound, MessageEnd, StoreDegraded, StoreRecovered
from tests.build import MODEL, TIME, assistant, call, message_entry, user, words
from tests.faults.logs import (
    LOOKING,
    append,
    assert_whole,
    cli,
    lines_of,
    nth_id,
    nth_label,
    nth_message,
    put,
    rows,
    said,
    wired,
)
from tests.store.faults import FaultyDisk
from tests.store.stores import HEAD, Watched, file_of, line
from tests.talking import drain, talking

LENGTH: Final = 1000
CUT_LINE: Final = 400
"""As an editor counts: the header is line 1."""
CUT: Final = CUT_LINE - 2
"""The entry on it."""
IN_THE_PAYLOAD: Final = 0.8
IN_THE_ID: Final = 0.2


def long_log(path: Path, *, kind: Callable[[int], KnownEntry] = nth_message, cut_at: float = 1.0) -> list[KnownEntry]:
    """A chain whose line 400 ends too early; the entries that it had."""
    entries = [nth_message(nth) if nth != CUT else kind(nth) for nth in range(LENGTH)]
    lines = lines_of(entries)
    lines[CUT_LINE - 1] = lines[CUT_LINE - 1][: round(len(lines[CUT_LINE - 1]) * cut_at)]
    put(path, lines)
    return entries


def offset_of_line(path: Path, number: int) -> int:
    return sum(len(one) + 1 for one in path.read_bytes().split(b"\n")[: number - 1])


def messages_of(entries: Iterable[KnownEntry]) -> list[str]:
    return [words(entry.message) for entry in entries if isinstance(entry, MessageEntry)]


def test_d01_a_metadata_line_that_is_cut_changes_nothing_of_what_the_model_sees(tmp_path: Path) -> None:
    """D01 (a)."""
    path = tmp_path / "s.jsonl"
    entries = long_log(path, kind=nth_label, cut_at=IN_THE_PAYLOAD)
    with read(path) as session:
        assert list(session.entries()) == [*entries[:CUT], *entries[CUT + 1 :]]
        assert said(session) == messages_of(entries)
        assert len(said(session)) == LENGTH - 1
        [damage] = session.damage
        assert (damage.kind, damage.line, damage.bridged) == ("cut_line", CUT_LINE, True)
        assert damage.offset == offset_of_line(path, CUT_LINE)


async def test_d01_a_message_that_is_cut_is_named_bridged_and_shown_and_the_session_goes_on(tmp_path: Path) -> None:
    """D01 (b)."""
    path = tmp_path / "s.jsonl"
    entries = long_log(path, cut_at=IN_THE_PAYLOAD)
    before, place = path.read_bytes(), offset_of_line(path, CUT_LINE)
    kept = [*entries[:CUT], *entries[CUT + 1 :]]
    with read(path) as session:
        assert list(session.entries()) == kept
        assert said(session) == messages_of(kept)
        assert session.context().gaps == {nth_id(CUT + 1): nth_id(CUT)}
        [damage] = session.damage
        assert (damage.kind, damage.severity, damage.line, damage.offset) == ("cut_line", "lost", CUT_LINE, place)
        assert (damage.entry_id, damage.parent_id, damage.bridged) == (nth_id(CUT), nth_id(CUT - 1), True)

    checked = cli("check", path)
    assert checked.return_value == 3
    assert f"line {CUT_LINE}, byte {place}" in checked.output
    assert f"gap: the entry {nth_id(CUT)}, which stood here, is lost" in cli("show", path).output

    async with wired("an answer", where=path) as (session, requests):
        reader = session.events(since=0)
        assert [event.records for event in drain(reader) if isinstance(event, DamageFound)] == [(damage,)]
        await session.prompt("go on")
        assert [words(message) for message in requests[0].messages] == [*messages_of(kept), "go on"]
    assert path.read_bytes().startswith(before)


@pytest.mark.parametrize("kind", [nth_message, nth_label])
def test_d01_where_a_cut_line_does_not_show_its_parent_there_is_a_gap_and_never_a_silent_shorter_history(
    kind: Callable[[int], KnownEntry], tmp_path: Path
) -> None:
    """D01 (b), where nothing is left to bridge by."""
    path = tmp_path / "s.jsonl"
    entries = long_log(path, kind=kind, cut_at=IN_THE_ID)
    with read(path) as session:
        assert list(session.entries()) == [*entries[:CUT], *entries[CUT + 1 :]]
        assert [(one.kind, one.line, one.severity) for one in session.damage] == [
            ("cut_line", CUT_LINE, "lost"),
            ("missing_parent", CUT_LINE + 1, "lost"),
        ]
        assert session.context().gaps == {nth_id(CUT + 1): nth_id(CUT)}
        tree = session.tree()
        assert [tree.id(top) for top in tree.children(None)] == [nth_id(0), nth_id(CUT + 1)]
    for command in ("tree", "show"):
        assert "gap" in cli(command, path).output


BRACES: Final = ('a }{ b }\n{"type":"message","id":"x"}', "}{", '\\"}{\\', "plain", '{"id":"00000001"}{}', "}")


def glued(path: Path, at: Sequence[int]) -> list[KnownEntry]:
    """A log whose lines `at` (0 is the header's) have lost the newline behind them."""
    entries = [nth_message(nth, words) for nth, words in enumerate(BRACES)]
    lines = lines_of(entries)
    path.write_bytes(b"".join(one if nth in at else one + b"\n" for nth, one in enumerate(lines)))
    return entries


@pytest.mark.parametrize("at", [(k,) for k in range(6)] + [(2, 3), (0, 1), (4, 5), (1, 3), tuple(range(6))], ids=str)
def test_d03_records_that_a_lost_newline_glued_are_all_recovered(at: tuple[int, ...], tmp_path: Path) -> None:
    """D03: with braces in the texts, which are no seams."""
    path = tmp_path / "s.jsonl"
    entries = glued(path, at)
    with read(path) as session:
        assert list(session.entries()) == entries
        assert said(session) == list(BRACES)
        assert [one.kind for one in session.damage] == ["lost_newline"] * len(at)
        assert [one.severity for one in session.damage] == ["mended"] * len(at)
        assert session.context().gaps == {}
        tree = session.tree()
        assert [tree.parent(place) for place in range(len(tree))] == [None, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("percent", [5, 20, 40, 60, 80, 95, 99])
@pytest.mark.parametrize("place", [0, 3, 5], ids=["first", "middle", "last"])
def test_d04_a_record_behind_its_own_beginning_is_there_once(place: int, percent: int, tmp_path: Path) -> None:
    """D04: the writer was interrupted, and wrote all of it again on the same line."""
    entries = [nth_message(nth, words) for nth, words in enumerate(BRACES)]
    lines = lines_of(entries)
    record = lines[place + 1]
    lines[place + 1] = record[: len(record) * percent // 100] + record
    path = put(tmp_path / "s.jsonl", lines)
    with read(path) as session:
        assert list(session.entries()) == entries
        assert said(session) == list(BRACES)
        assert [(one.kind, one.severity) for one in session.damage] == [("doubled_start", "mended")]


@pytest.mark.parametrize("takes", [1, 7, 64])
async def test_d04_short_and_interrupted_writes_are_gone_on_with(takes: int, tmp_path: Path) -> None:
    """D04, the writer: EINTR at every second write, and a few bytes at each other one."""
    disk, path = FaultyDisk(), tmp_path / "s.jsonl"
    disk.takes = takes
    disk.plan = lambda number, name: 4 if name == "write" and number % 2 else None
    async with talking("one", "two", where=str(path), environment=Environment.scripted(disk=disk)) as session:
        await session.prompt("first")
        await session.prompt("second")
    assert_whole(path)
    with read(path) as again:
        assert said(again) == ["first", "one", "second", "two"]
        assert again.damage == ()
    assert disk.open_descriptors == set()


async def test_d04_what_an_interrupted_write_left_is_gone_before_the_next_append(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """D04, the writer: the disk took 40 bytes, refused the rest, and refused to have them cut off."""
    disk, path = FaultyDisk(), tmp_path / "s.jsonl"
    disk.takes_before_failing = 40
    async with talking("one", "two", where=str(path), environment=Environment.scripted(disk=disk)) as session:
        await session.prompt("first")
        before, reader = path.read_bytes(), session.events()
        with disk.failing(28, names=("write", "truncate")):
            handle = session.submit("second")
            await trio.sleep(5)
            left = path.read_bytes()
            assert left.startswith(before)
            assert len(left) == len(before) + 40, "the test is about a part that is left"
            with read(path) as meanwhile:
                assert said(meanwhile) == ["first", "one"]
                assert [one.kind for one in meanwhile.damage] == ["torn_tail"]
        assert isinstance(await handle.outcome(), Delivered)
        told = drain(reader)
        assert [type(event) for event in told if isinstance(event, StoreDegraded | StoreRecovered)] == [
            StoreDegraded,
            StoreRecovered,
        ]
    assert_whole(path)
    with read(path) as again:
        assert said(again) == ["first", "one", "second", "two"]
        assert again.damage == ()


async def test_d04_behind_the_torn_line_of_a_dead_writer_the_next_append_begins_on_a_line_of_its_own(
    tmp_path: Path,
) -> None:
    """D04, the writer: the broken line is terminated first, and stays as it is."""
    path = tmp_path / "s.jsonl"
    async with talking("one", where=str(path)) as session:
        await session.prompt("first")
    torn = path.read_bytes() + encode_entry(nth_message(0))[:60]
    path.write_bytes(torn)
    async with talking("two", where=str(path)) as session:
        await session.prompt("second")
        assert said(session) == ["first", "one", "second", "two"]
    assert path.read_bytes().startswith(torn + b'\n{"type":"message"')
    with read(path) as again:
        assert said(again) == ["first", "one", "second", "two"]
        assert [(one.kind, one.line) for one in again.damage] == [("cut_line", 4)]


BREAKS: Final = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei\rj\nk\r\nl"
"""What some reader or other takes for the end of a line."""


async def test_d05_whatever_breaks_lines_elsewhere_an_entry_is_one_line(tmp_path: Path) -> None:
    """D05: split on LF only, and what the model said comes back as it was."""
    path = tmp_path / "s.jsonl"
    async with wired(BREAKS, "and so?", where=path) as (session, requests):
        reader = session.events()
        await session.prompt(BREAKS)
        await append(session, Custom(id=EntryId("c1"), parent_id=None, timestamp=TIME, custom_type="x", data=BREAKS))
        await session.prompt("go on")
        told = drain(reader)
        log = list(session.entries())

    assert len(rows(path)) == 6
    assert [row["id"] for row in rows(path)[1:]] == [entry.id for entry in log]
    # S12: a person's text loses its control characters; nothing else of it, and nothing of what else is said
    assert said(session)[:2] == ["a\u2028b\u2029cdefghi\rj\nk\r\nl", BREAKS]
    assert rows(path)[3]["data"] == BREAKS
    assert [words(message) for message in requests[1].messages] == said(session)[:3]
    with read(path) as again:
        assert list(again.entries()) == log
        assert again.damage == ()
    # the stream for hosts: an event a line
    for event in told:
        encoded = encode_event(event)
        assert b"\n" not in encoded
        assert b"\r" not in encoded
        assert decode_event(encoded) == event
    assert BREAKS in [words(event.message) for event in told if isinstance(event, MessageEnd)]


def test_d05_line_ends_of_other_alphabets_that_stand_in_a_file_as_they_are_end_no_line(tmp_path: Path) -> None:
    """D05: as JavaScript writes them."""
    message = {"role": "user", "content": "a\u2028b\u2029c\u0085d", "timestamp": 1}
    entry = {"type": "message", "id": "a", "parentId": None, "timestamp": TIME, "message": message}
    written = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
    path = put(tmp_path / "s.jsonl", [HEAD.rstrip(), written, line("b", "a")])
    with read(path) as session:
        assert [entry.id for entry in session.entries()] == ["a", "b"]
        assert said(session) == ["a\u2028b\u2029c\u0085d"]
        assert session.damage == ()
        assert encode_entry(session.entries()[0]) == written


FOREIGN: Final = {
    "a PNG": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
    "a JSON array": b'[{"type":"session","id":"x"},\n{"type":"message"}]\n',
    "lines without a header": line("a") + b"\n" + line("b", "a") + b"\n",
    "a line of text": b"hello",
    "an empty line": b"\n",
    "a header in a text": json.dumps({"note": '{"type":"session","version":3,"id":"x"}'}).encode() + b"\n",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
async def test_d08_a_file_that_is_no_session_is_refused_and_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    """D08."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    watched = Watched(path)
    with pytest.raises(NotASession):
        read(path)
    with pytest.raises(NotASession):
        async with talking(where=str(path)):
            raise AssertionError("a foreign file was opened")
    assert cli("check", path).return_value == 4
    for command in ("tree", "show"):
        with pytest.raises(Exception, match="no session"):
            raise cli(command, path).exception or AssertionError("it was shown")
    watched.assert_untouched()
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]


async def test_d08_an_empty_file_is_a_new_session_that_is_written_with_its_first_entry(tmp_path: Path) -> None:
    """D08: there is nothing in it that could be spoilt."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    watched = Watched(path)
    with read(path) as session:
        assert session.entries() == ()
    async with talking("unsaid", where=str(path)):
        pass
    watched.assert_untouched()

    async with talking("one", where=str(path)) as session:
        await session.prompt("first")
    assert_whole(path)
    assert path.stat().st_ino == watched.before[2]


async def test_d08_a_later_versions_file_is_read_and_refuses_to_be_written(tmp_path: Path) -> None:
    """D08, and S2."""
    head = HEAD.replace(b'"version":3', b'"version":4')
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(encode_entry(nth_message(0)), head=head))
    watched = Watched(path)
    async with talking("unsaid", where=str(path)) as session:
        assert said(session) == messages_of([nth_message(0)])
        with pytest.raises(NewerVersion):
            await session.prompt("first")
        assert len(session.entries()) == 1
    watched.assert_untouched()
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]


NOT_SENT: Final = "not sent"
SENT: Final = "sent"
UNREADABLE: Final = "unreadable"

SOME_USAGE: Final = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}
ANSWER: Final = {
    "role": "assistant",
    "content": [{"type": "text", "text": "hey"}],
    "api": "x",
    "provider": "scripted",
    "model": "talker",
    "stopReason": "stop",
    "usage": SOME_USAGE,
    "timestamp": 1,
}
RESULT: Final = {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": False, "timestamp": 1}
ODD: Final[dict[str, tuple[Json, str]]] = {
    "a question of null": ({"role": "user", "content": None, "timestamp": 1}, NOT_SENT),
    "a question without content": ({"role": "user", "timestamp": 1}, NOT_SENT),
    "a question that is a number": ({"role": "user", "content": 7, "timestamp": 1}, SENT),
    "a question of nulls": ({"role": "user", "content": [None, None], "timestamp": 1}, NOT_SENT),
    "an answer of null": ({**ANSWER, "content": None}, NOT_SENT),
    "an answer without content": ({key: ANSWER[key] for key in ANSWER if key != "content"}, NOT_SENT),
    "an answer of nulls": ({**ANSWER, "content": [None]}, NOT_SENT),
    "an answer with a word for its usage": ({**ANSWER, "usage": "many"}, SENT),
    "an answer without usage": ({key: ANSWER[key] for key in ANSWER if key != "usage"}, SENT),
    "an answer with odd numbers": ({**ANSWER, "usage": {"input": "1", "output": None, "cacheRead": []}}, SENT),
    "a result of null": ({**RESULT, "content": None}, SENT),
    "a result without content": (RESULT, SENT),
    "an unknown role": ({"role": "wizard", "content": "hey", "timestamp": 1}, UNREADABLE),
    "a role of null": ({"role": None, "content": "hey", "timestamp": 1}, UNREADABLE),
    "no role": ({"content": "hey"}, UNREADABLE),
    "a message of null": (None, UNREADABLE),
    "a message of numbers": ([1, 2], UNREADABLE),
}


def around(odd: Json) -> bytes:
    """A file in which an odd message stands between good ones; a result's call is before it."""
    asked = message_entry("a", user("one"))
    called = message_entry("b", assistant("I look", call("c1")) if is_result(odd) else assistant("yes"), "a")
    last = message_entry("d", user("two"), "odd")
    odd_line = line("odd", "b", "message", message=odd)
    return file_of(encode_entry(asked), encode_entry(called), odd_line, encode_entry(last))


def is_result(odd: Json) -> bool:
    return is_object(odd) and odd.get("role") == "toolResult"


@pytest.mark.parametrize(("odd", "fate"), ODD.values(), ids=ODD)
async def test_d09_one_odd_message_stops_nobody(odd: Json, fate: str, tmp_path: Path) -> None:
    """D09: it loads, is in the tree, is projected or told why not, and the session goes on."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(around(odd))
    with read(path) as session:
        assert [entry.id for entry in session.entries()] == ["a", "b", "odd", "d"]
        assert session.damage == ()
        context = session.context()
        assert context.gaps == {}
        assert context.absent == ({"odd": "unreadable"} if fate == UNREADABLE else {})
        verdicts = {str(item.entry_id): item.unsent for item in context.items}
        assert verdicts["a"] is verdicts["d"] is None
        assert ("odd" in verdicts) == (fate != UNREADABLE)
        assert (verdicts.get("odd") is not None) == (fate == NOT_SENT)
        assert [encode_entry(entry) for entry in session.entries()] == path.read_bytes().splitlines()[1:]
        assert session.context_usage(MODEL).tokens is not None
    for command in LOOKING:
        for arguments in ([command, path], [command, "--json", path]):
            shown = cli(*arguments)
            assert (shown.exception, shown.return_value or 0) == (None, 0)

    before = path.read_bytes()
    async with wired("still here", where=path) as (session, requests):
        assert isinstance(await session.prompt("three"), Delivered)
        sent = [words(message) for message in requests[0].messages]
        assert sent[0] == "one"
        assert sent[-2:] == ["two", "three"]
        assert len(sent) == (5 if fate == SENT else 4)
        assert "" not in sent
    assert path.read_bytes().startswith(before)


GRAPHS: Final[dict[str, tuple[list[tuple[str, str | None]], list[str], list[DamageKind]]]] = {
    # entries and parents; the path to the leaf; what is told
    "its own parent": ([("a", None), ("b", "b"), ("c", "b")], ["b", "c"], ["self_parent"]),
    "the only entry is its own parent": ([("a", "a")], ["a"], ["self_parent"]),
    "two in a circle": ([("a", None), ("b", "c"), ("c", "b")], ["b", "c"], ["cycle"]),
    "three in a circle": ([("a", "c"), ("b", "a"), ("c", "b")], ["a", "b", "c"], ["cycle"]),
    "a parent that is missing": ([("a", None), ("b", "x"), ("c", "b")], ["b", "c"], ["missing_parent"]),
    "a parent later in the file": ([("a", None), ("b", "c"), ("c", "a"), ("d", "b")], [*"acbd"], ["later_parent"]),
    "two roots": ([("a", None), ("b", None), ("c", "b")], ["b", "c"], ["several_roots"]),
    "one id twice": ([("a", None), ("b", "a"), ("a", "b"), ("c", "b")], ["a", "b", "c"], ["duplicate_id"]),
}


@pytest.mark.parametrize(("entries", "path_to_leaf", "told"), GRAPHS.values(), ids=GRAPHS)
async def test_d11_whatever_entries_say_of_their_parents_every_one_can_be_reached(
    entries: list[tuple[str, str | None]], path_to_leaf: list[str], told: list[DamageKind], tmp_path: Path
) -> None:
    """D11: loading ends, each entry is below a top, and the leaf is the last entry."""
    path = tmp_path / "s.jsonl"
    messages = [encode_entry(message_entry(entry_id, user(entry_id), parent)) for entry_id, parent in entries]
    path.write_bytes(file_of(*messages))
    for _ in range(2):
        with read(path) as session:
            tree = session.tree()
            ids = list(dict.fromkeys(entry_id for entry_id, _ in entries))
            assert [entry.id for entry in session.entries()] == ids
            below, todo = list[str](), [*tree.children(None)]
            while todo:
                place = todo.pop()
                below.append(tree.id(place))
                todo += tree.children(place)
            assert sorted(below) == sorted(ids), "each once"
            assert tree.leaf == len(ids) - 1
            assert [tree.id(place) for place in tree.path(tree.leaf)] == path_to_leaf == said(session)
            assert {one.kind for one in session.damage} >= set(told)
    for command in LOOKING:
        assert cli(command, path).exception is None
    async with talking("yes", where=str(path)) as session:
        await session.prompt("go on")
        assert said(session) == [*path_to_leaf, "go on", "yes"]


class Dice:
    """Random bytes that fall as they are told, and then as they like."""

    def __init__(self, *falls: str) -> None:
        self.falls = deque(falls)
        self.drawn: list[str] = []
        self._rest = random.Random(1)  # noqa: S311 - the same each time

    def __call__(self, count: int) -> bytes:
        drawn = bytes.fromhex(self.falls.popleft()) if self.falls else self._rest.randbytes(count)
        assert len(drawn) == count
        self.drawn.append(drawn.hex())
        return drawn


TAKEN_IDS: Final = {
    "on the branch": b"00000001",
    "on another branch": b"0000000b",
    "of a detached entry": b"0000000d",
    "named as a missing parent": b"0000000e",
    "of an entry that was lost": b"0000000f",
    "of one that was lost and that nobody names": b"0000000c",
}


@pytest.mark.parametrize("taken", TAKEN_IDS.values(), ids=TAKEN_IDS)
async def test_d11_an_id_that_stands_anywhere_in_the_file_is_not_given_again(taken: bytes, tmp_path: Path) -> None:
    """D11: eight times the same fall, for the question and again for the answer."""
    path = tmp_path / "s.jsonl"
    lost, forgotten = (line(one, "00000001", text="x" * 50)[:-20] for one in ("0000000f", "0000000c"))
    path.write_bytes(
        file_of(
            line("00000000"),
            line("00000001", "00000000"),
            line("0000000b", "00000000"),
            line("0000000d", "0000000e"),
            lost,
            forgotten,
            line("00000002", "0000000f"),
        )
    )
    dice = Dice(*[taken.decode()] * 3, "0000aaaa", *[taken.decode()] * 2, "0000aaaa", "0000bbbb")
    environment = Environment.scripted()
    loaded = Environment(now_ms=environment.now_ms, random=dice, run_sync=environment.run_sync)
    async with wired("yes", where=path, environment=loaded) as (session, _):
        await session.prompt("go on")
        assert [entry.id for entry in session.entries()][-2:] == ["0000aaaa", "0000bbbb"]
        assert dice.drawn.count(taken.decode()) == 5
        assert not dice.falls
    with read(path) as again:
        assert "duplicate_id" not in [one.kind for one in again.damage]
        tree = again.tree()
        ids = [tree.id(place) for place in tree.path(tree.leaf)]
        assert ids == ["00000000", "00000001", "00000002", "0000aaaa", "0000bbbb"]


async def test_d11_where_short_ids_are_spent_a_longer_one_is_given(tmp_path: Path) -> None:
    """D11: chance gives the same four bytes for ever."""
    path = tmp_path / "s.jsonl"
    environment = Environment.scripted()
    stuck = Environment(now_ms=environment.now_ms, random=lambda count: b"\xab" * count, run_sync=environment.run_sync)
    async with wired("one", "two", where=path, environment=stuck) as (session, _):
        await session.prompt("first")
        await session.prompt("second")
    assert_whole(path)
    assert [row["id"] for row in rows(path)[1:]] == ["ab" * 4 * 2**doubled for doubled in range(4)]
