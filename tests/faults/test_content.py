"""M: what tools, commands and extensions say. Whatever it is, it is made fit once, at the door, and the model is sent what the log holds.

Tools do not run yet: a result is appended here as a tool's run will append it. What is signed (M06, M08) and what follows a failed
turn (M10) is in `test_projection.py`; what a compaction leaves of it (M06, M07) in `test_compaction_keeping.py`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import pytest
import regex
import trio

from sapwood import Model, read
from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.actors.session_log.capping import MOST_BYTES
from sapwood.actors.session_log.hygiene import clean
from sapwood.events.codec import decode_entry, encode_entry
from sapwood.events.content import TextContent, text_of
from sapwood.events.entries import CustomMessageEntry, KnownEntry, MessageEntry
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import BashExecutionMessage, CustomMessage, ToolResultMessage
from tests.build import MS, TIME, assistant, call, message_entry, text, user
from tests.faults.logs import append, rows, wired

Door = Callable[[str], KnownEntry]
"""How a text comes into the log."""


def as_result(said: str) -> KnownEntry:
    result = ToolResultMessage(
        tool_call_id=ToolCallId("c1"), tool_name="read", content=(text(said),), is_error=False, timestamp=MS
    )
    return message_entry("odd", result)


def as_custom_entry(said: str) -> KnownEntry:
    return CustomMessageEntry(
        id=EntryId("odd"), parent_id=None, timestamp=TIME, custom_type="x", content=said, display=True
    )


def as_custom_message(said: str) -> KnownEntry:
    return message_entry("odd", CustomMessage(custom_type="x", content=(text(said),), display=True, timestamp=MS))


def as_command(said: str) -> KnownEntry:
    return message_entry(
        "odd", BashExecutionMessage(command="run", output=said, cancelled=False, truncated=False, timestamp=MS)
    )


DOORS: Final[dict[str, Door]] = {
    "a tool's result": as_result,
    "an extension's entry": as_custom_entry,
    "an extension's message": as_custom_message,
    "a command's output": as_command,
}


def text_in(entry: object) -> str:
    match entry:
        case MessageEntry(message=BashExecutionMessage(output=output)):
            return output
        case MessageEntry(message=ToolResultMessage(content=content) | CustomMessage(content=content)):
            return text_of(content)
        case CustomMessageEntry(content=content):
            return text_of(content)
        case _:
            raise AssertionError(entry)


def text_sent(message: OutgoingMessage) -> str:
    """What is sent of an odd text: of a command, what stands between the fences."""
    sent = text_of(message.content)
    return sent.partition("```\n")[2].removesuffix("\n```") if sent.startswith("I ran `run`") else sent


WIDE: Final = Model(provider="scripted", id="talker", context_window=1_000_000)
"""Takes whatever the door takes: a megabyte is more than the window of most."""


async def through(said: str, door: Door, path: Path) -> str:
    """The text as it is in the log and on the wire, which is the same, while the session is open and when it is opened again."""
    async with wired("seen", "seen again", where=path, model=WIDE) as (session, requests):
        calls = [call("c1")] if door is as_result else []
        await append(session, message_entry("u", user("look")), message_entry("a", assistant("I look", *calls)))
        await append(session, door(said))
        logged = text_in(session.entry(EntryId("odd")))
        await session.prompt("and?")
    async with wired("seen", where=path, model=WIDE) as (session, more):
        await session.prompt("and now?")

    assert text_in(decode_entry(path.read_bytes().split(b"\n")[3])) == logged
    with read(path) as again:
        assert text_in(again.entry(EntryId("odd"))) == logged
        assert again.damage == ()
    for request in (requests[0], more[0]):
        sent = text_sent(request.messages[2])
        assert sent == logged if logged else sent == "(no output)"
        raw = msgspec.json.encode(request)
        assert b"\x00" not in raw
        assert b"\\u0000" not in raw
        raw.decode()
    rows(path)
    return logged


FAMILY: Final = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
UNITS: Final = {
    "emoji that are joined": FAMILY,
    "combining marks": "e\u0301o\u0308\u0323",
    "CJK": "漢字",
    "line ends": "a\r\n",
    "flags": "\U0001f1e9\U0001f1ea",
}
MARKER: Final = re.compile(r"\n\[\.\.\. ([\d,]+) of ([\d,]+) bytes left out \.\.\.\]\n")


def assert_well_cut(whole: str, capped: str, limit: int) -> None:
    """Head and tail are whole characters of the text, the marker is true, and the limit is kept, in bytes."""
    head, left_out, size, tail = MARKER.split(capped)
    before, after = (regex.findall(r"\X", part) for part in (head, tail))
    clusters = regex.findall(r"\X", whole)
    assert before == clusters[: len(before)]
    assert after == clusters[len(clusters) - len(after) :]
    assert int(size.replace(",", "")) == len(whole.encode())
    assert int(left_out.replace(",", "")) == len(whole.encode()) - len((head + tail).encode())
    assert limit - 2 * 40 < len(capped.encode()) <= limit


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_m02_at_whatever_byte_a_text_is_cut_no_character_is(unit: str, door: Door) -> None:
    """M02: at every offset around each kind of character, for everything that is capped."""
    whole = "x" + unit * (400 // len(unit.encode()))
    command = len("run") if door is as_command else 0
    for limit in range(150, 150 + 2 * len(unit.encode())):
        entry = clean(door(whole), limit=limit + command)
        assert_well_cut(whole, text_in(entry), limit)
        assert decode_entry(encode_entry(entry)) == entry


@pytest.mark.slow
@pytest.mark.parametrize("unit", [FAMILY, "o\u0308\u0323", "漢", "\r\n", "\U0001f1e9\U0001f1ea"], ids=ascii)
async def test_m02_a_long_result_is_cut_between_characters_in_the_log_and_on_the_wire(
    unit: str, tmp_path: Path
) -> None:
    """M02: at the limit that sessions have, the cut moved byte by byte through one character."""
    size = len(unit.encode())
    for shift in range(0, size, max(1, size // 6)):
        whole = "x" * shift + unit * (MOST_BYTES // size + 1)
        logged = await through(whole, as_result, tmp_path / f"{shift}.jsonl")
        assert len(logged.encode()) <= MOST_BYTES
        head, left_out, total, tail = MARKER.split(logged)
        assert (head + tail).replace(unit, "").strip("x") == ""
        assert int(total.replace(",", "")) == len(whole.encode())
        assert int(left_out.replace(",", "")) == len(whole.encode()) - len((head + tail).encode())


CONTROLS: Final = "".join(f"{code:x}:{chr(code)};" for code in [*range(0x20), 0x7F])
CLEANED: Final = "".join(one for one in CONTROLS if one in "\t\n\r" or " " <= one <= "~")
ANSI: Final = (
    "\x1b[1m\x1b[32mPASS\x1b[0m 3 of 4\x1b[K\r\n\x1b]0;a title\x07\x1b]8;;http://x\x1b\\a link\x1b]8;;\x1b\\\x1b[2A"
)
INVALID: Final = b"ok \xff\xfe\x80 \xe6\xbc caf\xe9 \xf0\x9f\x98"


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
async def test_m03_of_control_characters_the_log_and_the_wire_have_three(door: Door, tmp_path: Path) -> None:
    r"""M03: \x00 to \x1f and \x7f; tab, LF and CR are kept."""
    # \x1b and what follows it here is no sequence of a terminal
    assert await through(CONTROLS, door, tmp_path / "s.jsonl") == CLEANED


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
async def test_m03_what_is_meant_for_a_terminal_is_neither_in_the_log_nor_sent(door: Door, tmp_path: Path) -> None:
    """M03: ANSI sequences go whole."""
    assert await through(ANSI, door, tmp_path / "s.jsonl") == "PASS 3 of 4\r\na link"


@pytest.mark.parametrize("errors", ["replace", "surrogateescape", "backslashreplace"])
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
async def test_m03_invalid_utf_8_is_replaced_once_and_for_all(door: Door, errors: str, tmp_path: Path) -> None:
    """M03: however whoever read it decoded it."""
    logged = await through(INVALID.decode("utf-8", errors), door, tmp_path / "s.jsonl")
    assert logged.startswith("ok ")
    assert logged.encode().decode() == logged
    if errors != "backslashreplace":
        assert re.fullmatch("ok \ufffd+ \ufffd+ caf\ufffd \ufffd+", logged)


async def test_m03_a_result_that_is_nothing_but_control_characters_is_told_as_no_output(tmp_path: Path) -> None:
    """M03: an empty text is refused by providers, and `through` looks for the words that stand for it."""
    assert await through("\x00\x01\x02\x7f", as_result, tmp_path / "s.jsonl") == ""


BAR: Final = "[" + "#" * 95 + "] 12.3%"
LONG: Final = {
    "a progress bar of 41,000 redraws and no line end": lambda: f"\r{BAR}" * 41_000,
    "the same in colours": lambda: f"\x1b[2K\r\x1b[32m{BAR}\x1b[0m" * 41_000,
    "5 MB on one line": lambda: "x" * 5_000_000,
    "5 MB of line ends": lambda: "\n" * 5_000_000,
    "a binary": lambda: (bytes(range(256)) * 20_000).decode("utf-8", "replace"),
    "a binary, with escapes": lambda: (bytes(range(256)) * 20_000).decode("utf-8", "surrogateescape"),
}
LONGEST_BLOCK: Final = 0.1
"""Seconds of work in which the loop does nothing else. Of its own work: others may be at work beside it."""
TRIES: Final = 3
"""One of so many is within the limit if the code is."""


@pytest.mark.slow
@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
async def test_m04_whatever_is_too_long_is_capped_by_its_bytes(make: Callable[[], str], tmp_path: Path) -> None:
    """M04: what is kept and sent again with every turn has at most 1 MiB, however few lines it has."""
    path = tmp_path / "s.jsonl"
    logged = await through(make(), as_result, path)
    assert MOST_BYTES - 16 < len(logged.encode()) <= MOST_BYTES
    assert len(MARKER.findall(logged)) == 1
    # JSON writes a line end in two bytes
    assert path.stat().st_size < 2 * MOST_BYTES + 10_000


@pytest.mark.slow
@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
async def test_m04_letting_in_a_result_that_is_too_long_holds_up_nobody(
    make: Callable[[], str], tmp_path: Path
) -> None:
    """M04: the loop stands still for less than 100 ms. Bytes read with `surrogateescape` used to stop it for two seconds."""
    said = make()
    blocks: list[float] = []
    for nth in range(TRIES):
        async with wired(where=tmp_path / f"{nth}.jsonl") as (session, _):
            await append(session, message_entry("u", user("look")))
            async with trio.open_nursery() as nursery:
                longest = [0.0]

                async def tick(longest: list[float] = longest) -> None:
                    before = time.thread_time()
                    while True:
                        await trio.lowlevel.checkpoint()
                        now = time.thread_time()
                        longest[0] = max(longest[0], now - before)
                        before = now

                nursery.start_soon(tick)
                await trio.lowlevel.checkpoint()
                await append(session, as_result(said))
                await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            blocks.append(longest[0])
        if min(blocks) < LONGEST_BLOCK:
            break
    assert min(blocks) < LONGEST_BLOCK, blocks


LEGACY: Final = {
    "cp1252": ("Größe 5 € – “ok”", "cp1252"),
    "GBK": ("漢字和 ok", "gbk"),
    "Shift-JIS": ("漢字 ok", "shift_jis"),
    "UTF-16 LE": ("Größe ok 漢字", "utf-16-le"),
    "UTF-16 with a BOM": ("Größe ok 漢字", "utf-16"),
    "UTF-16 BE": ("Größe ok 漢字", "utf-16-be"),
}


@pytest.mark.parametrize("errors", ["surrogateescape", "replace", "surrogatepass"])
@pytest.mark.parametrize("door", [as_result, as_command])
@pytest.mark.parametrize(("said", "encoding"), LEGACY.values(), ids=LEGACY)
async def test_m09_bytes_of_a_legacy_code_page_come_into_the_log_as_text(
    said: str, encoding: str, door: Door, errors: str, tmp_path: Path
) -> None:
    """M09: replaced where they are none, never as halves of characters, and the same in the log and on the wire."""
    data = said.encode(encoding)
    path = tmp_path / "s.jsonl"
    logged = await through(data.decode("utf-8", errors) if errors != "surrogatepass" else halves(data), door, path)
    assert not any("\ud800" <= one <= "\udfff" for one in logged)
    assert "\0" not in logged
    assert "ok" in logged
    assert "\ufffd" in logged
    assert b"\\ud" not in path.read_bytes()
    assert path.read_bytes().decode().count("\ufffd") >= logged.count("\ufffd")


def halves(data: bytes) -> str:
    """As a reader makes of it that takes each odd byte for half of a character."""
    return "".join(chr(one) if one < 0x80 else chr(0xD800 + one) for one in data)


def test_m09_the_blocks_of_one_result_are_each_made_fit() -> None:
    """M09: in whichever block it comes."""
    result = ToolResultMessage(
        tool_call_id=ToolCallId("c1"),
        tool_name="read",
        content=(text("fine"), text("Gr\udcf6\udcdfe"), TextContent(text="漢")),
        is_error=False,
        timestamp=MS,
    )
    cleaned = clean(message_entry("odd", result))
    assert isinstance(cleaned, MessageEntry)
    assert isinstance(cleaned.message, ToolResultMessage)
    assert cleaned.message.content == (text("fine"), text("Gr\ufffd\ufffde"), text("漢"))
