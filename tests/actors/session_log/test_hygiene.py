"""What is let into the log can be written, read and sent (S12; M02, M03, M04, M09 in tests/faults)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from sapwood.actors.outgoing.rendering import render
from sapwood.actors.session_log.capping import MOST_BYTES
from sapwood.actors.session_log.hygiene import MOST_BLOCKS, clean, printable, uncontrolled
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.codec import decode_entry, encode_entry
from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock, UserContent, text_of
from sapwood.events.entries import (
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    KnownEntry,
    Label,
    MessageEntry,
    Replacement,
    SessionInfo,
    UsageEntry,
)
from sapwood.events.errors import Unencodable
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import (
    NO_USAGE,
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    StoredMessage,
    ToolResultMessage,
    UserMessage,
)
from tests.build import MS, TIME, assistant, call, message_entry, result, system, text, user
from tests.strategies import ENTRIES

LONE: Final = "a\ud800b\udfffc"
MENDED: Final = "a\ufffdb\ufffdc"
DIRTY: Final = "\x1b[1mbold\x1b[0m\0 \ud83d\tend\r\n\x7f\x85"
PRINTABLE: Final = "bold \ufffd\tend\r\n"
UNCONTROLLED: Final = "[1mbold[0m \ufffd\tend\r\n"
KEPT: Final = "\t\n\r"
IMAGE: Final = ImageContent(data="AAAA" * 1000, mime_type="image/png")
NODE: Final[dict[str, Any]] = {"id": EntryId("e1"), "parent_id": None, "timestamp": TIME}


def tool_result(*blocks: UserBlock, details: Json = None) -> ToolResultMessage:
    return msgspec.structs.replace(result("c1"), content=blocks, details=details)


def bash(command: str, output: str) -> BashExecutionMessage:
    return BashExecutionMessage(command=command, output=output, cancelled=False, truncated=False, timestamp=MS)


def custom(content: UserContent, details: Json = None) -> CustomMessage:
    return CustomMessage(custom_type="note", content=content, display=True, details=details, timestamp=MS)


def custom_entry(content: UserContent, details: Json = None) -> CustomMessageEntry:
    return CustomMessageEntry(**NODE, custom_type="note", content=content, display=True, details=details)


def cleaned(message: StoredMessage, limit: int = MOST_BYTES) -> StoredMessage:
    entry = clean(message_entry("e1", message), limit=limit)
    assert isinstance(entry, MessageEntry)
    return entry.message


def in_tool_result(words: str) -> str:
    message = cleaned(tool_result(text(words)))
    assert isinstance(message, ToolResultMessage)
    return text_of(message.content)


def in_command_output(words: str) -> str:
    message = cleaned(bash("", words))
    assert isinstance(message, BashExecutionMessage)
    return message.output


def in_command(words: str) -> str:
    message = cleaned(bash(words, ""))
    assert isinstance(message, BashExecutionMessage)
    return message.command


def in_custom_message(words: str) -> str:
    message = cleaned(custom(words))
    assert isinstance(message, CustomMessage)
    return text_of(message.content)


def in_custom_block(words: str) -> str:
    message = cleaned(custom((text(words),)))
    assert isinstance(message, CustomMessage)
    return text_of(message.content)


def in_custom_entry(words: str) -> str:
    entry = clean(custom_entry(words))
    assert isinstance(entry, CustomMessageEntry)
    return text_of(entry.content)


DOORS: Final[list[Callable[[str], str]]] = [
    in_tool_result,
    in_command_output,
    in_command,
    in_custom_message,
    in_custom_block,
    in_custom_entry,
]
door = pytest.mark.parametrize("through", DOORS, ids=lambda one: one.__name__)


@door
def test_what_tools_commands_and_extensions_say_is_printable_text(through: Callable[[str], str]) -> None:
    assert through(DIRTY) == PRINTABLE


@door
def test_what_they_say_is_capped(through: Callable[[str], str]) -> None:
    capped = through("a" * 3_000_000)

    assert capped.startswith("a" * 524_000 + "a")
    assert "\n[... 1,951,473 of 3,000,000 bytes left out ...]\n" in capped
    assert len(capped) == MOST_BYTES


@door
def test_of_each_control_character_nothing_is_left_but_of_three(through: Callable[[str], str]) -> None:
    controls = [*map(chr, range(0x20)), "\x7f", *map(chr, range(0x80, 0xA0))]

    assert through("".join(controls)) == KEPT
    for one in controls:
        left = one if one in KEPT else ""
        assert through(f"a{one}b") == f"a{left}b"
        assert through(f"漢{one}é") == f"漢{left}é"


def test_the_neighbours_of_control_characters_are_text() -> None:
    for words in (" ~\xa0¡", "漢 ~\xa0¡\u200b\ufeff\uffff\U0001f600"):
        assert printable(words) is words
        assert uncontrolled(words) is words


@pytest.mark.parametrize(
    ("sequence", "left"),
    [
        ("\x1b[31m", ""),
        ("\x1b[0;38;5;196m", ""),
        ("\x1b[2K", ""),
        ("\x1b[?25l", ""),
        ("\x1b[2 q", ""),
        ("\x1b[@", ""),
        ("\x1b[~", ""),
        ("\x1b]0;a title\x07", ""),
        ("\x1b]8;;https://example.org/漢\x1b\\", ""),
        ("\x1bPq#0;2;0;0;0~\x1b\\", ""),
        ("\x1b_Ga=T;AAAA\x1b\\", ""),
        ("\x1b^private\x1b\\", ""),
        ("\x1bXa string\x1b\\", ""),
        ("\x1b(B", ""),
        ("\x1b)0", ""),
        ("\x1b7", ""),
        ("\x1b8", ""),
        ("\x1b=", ""),
        ("\x1b>", ""),
        ("\x1bc", ""),
        ("\x1bM", ""),
        ("\x1b\\", ""),
        # no whole sequence: only the escape goes
        ("\x1b", ""),
        ("\x1b\x1b", ""),
        ("\x1b[31", "[31"),
        ("\x1b[3\x001m", "[31m"),
        ("\x1b]0;no end", "]0;no end"),
        ("\x1b]0;no end\nnext\x07", "]0;no end\nnext"),
        ("\x1b]0;no \x1b[1mend", "]0;no end"),
        ("\x1ba", "a"),
        ("\x1b ", " "),
        ("\x1b(b", "(b"),
        ("\x9b31m", "31m"),
    ],
)
def test_an_escape_sequence_goes_as_a_whole(sequence: str, left: str) -> None:
    # a CSI that has no end would find one in the letters of the next word
    after = "字" if sequence == "\x1b[31" else "after"
    for before in ("before", "漢", ""):
        assert printable(f"{before}{sequence}{after}") == f"{before}{left}{after}"


def test_colours_and_redrawn_lines_leave_the_words() -> None:
    shown = "\x1b[1m\x1b[32mPASS\x1b[0m ok\r\n\x1b[2K\r 50%\r100%\n\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"

    assert printable(shown) == "PASS ok\r\n\r 50%\r100%\nlink"


def test_halves_of_a_character_that_meet_are_the_character() -> None:
    assert printable("\ud83d\ude00 \ude00\ud83d") == "😀 \ufffd\ufffd"
    assert uncontrolled("\ud83d\x00\ude00") == "\ufffd\ufffd"


@pytest.mark.parametrize("encoding", ["cp1252", "gbk", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("errors", ["surrogateescape", "replace"])
@door
def test_bytes_of_a_legacy_code_page_never_bring_a_surrogate_into_the_log(
    through: Callable[[str], str], errors: str, encoding: str
) -> None:
    words = "Größe 5 € “ok”" if encoding == "cp1252" else "漢字 ok"
    read = words.encode(encoding).decode("utf-8", errors)
    let_in = through(read)

    assert "ok" in let_in.replace("\0", "")
    assert "\ufffd" in let_in or encoding.startswith("utf-16")
    assert not any("\ud800" <= one <= "\udfff" or (one < " " and one not in KEPT) for one in let_in)
    assert through(let_in) == let_in


def test_windows_output_read_with_escapes_is_mended_byte_by_byte() -> None:
    assert in_command_output("Größe €\r\n".encode("cp1252").decode("utf-8", "surrogateescape")) == (
        "Gr\ufffd\ufffde \ufffd\r\n"
    )


@pytest.mark.slow
def test_41_thousand_redrawn_bars_without_a_line_end_are_capped() -> None:
    """This was "a hundred lines" of 4.4 MB."""
    bar = "\x1b[2K\r" + "#" * 100 + " 12.3%"
    shown = in_command_output(bar * 41_000)

    assert MOST_BYTES - 8 < len(shown) <= MOST_BYTES
    assert shown.startswith("\r####")
    assert shown.endswith("# 12.3%")
    assert f" of {len(bar) * 41_000:,} bytes left out ...]\n" in shown


@pytest.mark.slow
def test_five_megabytes_on_one_line_and_binary_are_capped() -> None:
    binary = (bytes(range(256)) * 20_000).decode("utf-8", "replace")

    for words in ("x" * 5_000_000, binary):
        shown = in_tool_result(words)
        assert MOST_BYTES - 8 < len(shown.encode()) <= MOST_BYTES
        assert "bytes left out" in shown
        assert "\0" not in shown


def test_the_blocks_of_a_message_obey_the_limit_together_and_images_are_not_counted() -> None:
    message = tool_result(text("a" * 300), IMAGE, text("b" * 800), text("c" * 900), text("short"), details={"n": 1})
    capped = cleaned(message, limit=600)

    assert isinstance(capped, ToolResultMessage)
    first, image, second, third, last = capped.content
    assert image is IMAGE
    assert first is message.content[0]
    assert isinstance(second, TextContent)
    assert isinstance(third, TextContent)
    assert last is message.content[4]
    assert (len(second.text), len(third.text)) == (600 - 300 - 64 - 5, 64)
    assert "bytes left out" in second.text
    assert "of 900 bytes left out" in third.text
    assert msgspec.structs.replace(capped, content=()) == msgspec.structs.replace(message, content=())


def test_the_custom_entry_and_the_command_obey_a_given_limit() -> None:
    entry = clean(custom_entry("漢" * 100), limit=100)
    message = cleaned(bash("c" * 50, "o" * 500), limit=150)

    assert isinstance(entry, CustomMessageEntry)
    assert entry.content == "漢" * 10 + "\n[... 240 of 300 bytes left out ...]\n" + "漢" * 10
    assert isinstance(message, BashExecutionMessage)
    assert message.command == "c" * 50
    assert message.output == "o" * 31 + "\n[... 437 of 500 bytes left out ...]\n" + "o" * 32


def test_what_lies_beside_the_texts_only_loses_its_surrogates() -> None:
    details = {LONE: [DIRTY, {"deep": (LONE, 1, None, True)}], "long": "x" * 2000}
    mended = {MENDED: [DIRTY.replace("\ud83d", "\ufffd"), {"deep": [MENDED, 1, None, True]}], "long": "x" * 2000}
    shown = cleaned(tool_result(text("ok"), details=details), limit=100)
    entry = clean(custom_entry("ok", details), limit=100)

    assert isinstance(shown, ToolResultMessage)
    assert shown.details == mended
    assert isinstance(entry, CustomMessageEntry)
    assert entry.details == mended
    assert details == {LONE: [DIRTY, {"deep": (LONE, 1, None, True)}], "long": "x" * 2000}


@pytest.mark.parametrize("content", [DIRTY, (text(DIRTY), IMAGE, text("same"))])
def test_user_text_loses_control_characters_and_nothing_else(content: UserContent) -> None:
    message = cleaned(user(content))

    assert isinstance(message, UserMessage)
    assert message.content == (UNCONTROLLED if isinstance(content, str) else (text(UNCONTROLLED), IMAGE, text("same")))


def test_user_text_is_never_capped() -> None:
    entry = message_entry("e1", user("a" * 2000))

    assert clean(entry, limit=10) is entry


def test_what_the_model_said_is_as_it_came_but_for_surrogates() -> None:
    said = assistant(
        ThinkingContent(thinking="t" + LONE),
        text("x" * 300 + DIRTY),
        call("c1", LONE, path=LONE, **{LONE: [LONE, {"deep": LONE}]}),
        error=LONE,
        model=LONE,
    )
    kept = cleaned(said, limit=10)

    assert kept == assistant(
        ThinkingContent(thinking="t" + MENDED),
        text("x" * 300 + DIRTY.replace("\ud83d", "\ufffd")),
        call("c1", MENDED, path=MENDED, **{MENDED: [MENDED, {"deep": MENDED}]}),
        error=MENDED,
        model=MENDED,
    )


SIGNED: Final[list[Callable[[str], TextContent | ThinkingContent | ToolCall]]] = [
    lambda words: TextContent(text=words, text_signature="signed"),
    lambda words: ThinkingContent(thinking=words, thinking_signature="signed"),
    lambda words: ToolCall(id=ToolCallId("c1"), name="n", arguments={"deep": [words]}, thought_signature="signed"),
    lambda words: ToolCall(id=ToolCallId("c1"), name=words, arguments={}, thought_signature="signed"),
]


@pytest.mark.parametrize("block", SIGNED)
def test_a_signed_block_that_is_changed_is_signed_no_longer_and_its_neighbours_are(
    block: Callable[[str], TextContent | ThinkingContent | ToolCall],
) -> None:
    said = cleaned(assistant(block("good"), block(LONE), block("\x1b[1m\0")))
    unsigned = msgspec.json.decode(msgspec.json.encode(block(MENDED)).replace(b"signed", b""))

    assert isinstance(said, AssistantMessage)
    first, changed, third = said.content
    assert (first, third) == (block("good"), block("\x1b[1m\0"))
    assert "signed" not in str(msgspec.to_builtins(changed))
    assert msgspec.to_builtins(changed) == {k: v for k, v in unsigned.items() if not k.endswith("Signature")}


def test_a_signature_that_cannot_be_written_is_none() -> None:
    said = cleaned(assistant(ThinkingContent(thinking="fine", thinking_signature="\udc80")))

    assert isinstance(said, AssistantMessage)
    assert said.content == (ThinkingContent(thinking="fine"),)


def test_thinking_that_was_changed_is_not_sent() -> None:
    said = cleaned(
        assistant(
            ThinkingContent(thinking="kept", thinking_signature="s1"),
            ThinkingContent(thinking=LONE, thinking_signature="s2"),
            "answer",
        )
    )

    assert render(said, provider="scripted", model="talker").content == (
        ThinkingContent(thinking="kept", thinking_signature="s1"),
        text("answer"),
    )


def test_a_signed_text_of_a_tool_that_is_changed_is_signed_no_longer() -> None:
    signed = TextContent(text="\x1b[1mbold", text_signature="signed")
    message = cleaned(tool_result(signed, TextContent(text="same", text_signature="signed")))

    assert isinstance(message, ToolResultMessage)
    assert message.content == (text("bold"), TextContent(text="same", text_signature="signed"))


MAKERS: Final[list[Callable[[UserContent, Json], KnownEntry]]] = [
    lambda content, details: message_entry(
        "e1", tool_result(*(content if isinstance(content, tuple) else ()), details=details)
    ),
    lambda content, details: message_entry("e1", custom(content, details)),
    custom_entry,
]


def beside(entry: KnownEntry) -> tuple[UserContent, Json]:
    said: Any = entry.message if isinstance(entry, MessageEntry) else entry
    return said.content, said.details


@pytest.mark.parametrize("make", MAKERS)
def test_too_many_blocks_keep_the_first_and_the_last_and_say_how_many_are_gone(
    make: Callable[[UserContent, Json], KnownEntry],
) -> None:
    """200,000 blocks of a byte each used to go by: no text of them was too long."""
    content, _ = beside(clean(make(tuple(text(str(n)) for n in range(200_000)), None)))
    assert len(content) == MOST_BLOCKS
    assert content[499:502] == (text("499"), text("[... 199,001 of 200,000 blocks left out ...]"), text("199501"))
    assert content[-1] == text("199999")
    whole = tuple(text(str(n)) for n in range(MOST_BLOCKS))
    assert beside(clean(make(whole, None))) == (whole, None)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("letter", ["x", "\ud800"])
def test_details_that_are_too_long_are_told_of_and_not_kept(
    make: Callable[[UserContent, Json], KnownEntry], letter: str
) -> None:
    """They used to be kept whatever they were, 3 MB and more in one line."""
    size = 1 if letter == "x" else 3
    most = (MOST_BYTES - len('["",{"a":1}]')) // size
    _, details = beside(clean(make((text("a"),), [letter * (most + 1), {"a": 1}])))
    assert details == {
        "leftOut": f"details of {(most + 1) * size + 12:,} bytes: at most 1,048,576 are kept",
    }
    words = letter * most
    _, kept = beside(clean(make((text("a"),), [words, {"a": 1}])))
    assert kept == [words.replace("\ud800", "\ufffd"), {"a": 1}]


OTHERS: Final[list[Callable[[str], KnownEntry]]] = [
    lambda words: Label(**NODE, target_id=EntryId("e0"), label=words),
    lambda words: SessionInfo(**NODE, name=words),
    lambda words: Compaction(
        **NODE,
        summary=words,
        first_kept_entry_id=EntryId("e0"),
        tokens_before=1,
        details={"x": words},
        system_message=system(rules=words, gone=None),
    ),
    lambda words: BranchSummary(**NODE, from_id="root", summary=words, details=[words]),
    lambda words: Custom(**NODE, custom_type="note", data={words: [words]}),
    lambda words: Custom(**NODE, custom_type="note", data=words),
    lambda words: UsageEntry(**NODE, kind="k", provider="p", model="m", usage=NO_USAGE, note=words),
    lambda words: ContextEdit(**NODE, target_id=EntryId("e0"), replacement=Replacement(content=words)),
    lambda words: ContextEdit(**NODE, target_id=EntryId("e0"), replacement=Replacement(content=(text(words), IMAGE))),
    lambda words: message_entry("e1", system(rules=words, gone=None)),
    lambda words: msgspec.structs.replace(message_entry("e1", user()), extra={"message": {"new": [words]}, "~x": 1}),
    lambda words: msgspec.structs.replace(message_entry("e1", result("c1")), extra={words: words}),
]


@pytest.mark.parametrize("entry", OTHERS)
def test_all_else_only_loses_its_surrogates(entry: Callable[[str], KnownEntry]) -> None:
    dirty = entry("x" * 200 + DIRTY)

    assert clean(dirty, limit=10) == entry("x" * 200 + DIRTY.replace("\ud83d", "\ufffd"))
    assert decode_entry(encode_entry(clean(dirty))) == clean(dirty)


@pytest.mark.parametrize(
    "entry",
    [
        *[make("漢字 \t\r\n\x1b[1m\0") for make in OTHERS],
        message_entry("e1", user("漢字 \t\r\n")),
        message_entry("e1", user((text("a"), IMAGE))),
        message_entry("e1", assistant(ThinkingContent(thinking="\0", thinking_signature="s"), "\x1b[1m", call("c1"))),
        message_entry("e1", tool_result(text("é\t"), IMAGE, details={"x": "\0"})),
        message_entry("e1", bash("ls", "a\r\nb")),
        message_entry("e1", custom("words")),
        custom_entry((text("words"), IMAGE)),
    ],
)
def test_what_is_clean_is_the_same_object(entry: KnownEntry) -> None:
    assert clean(entry) is entry


def test_an_entry_keeps_the_parts_that_were_clean() -> None:
    arguments = {"path": ["a", {"b": 1}]}
    said = assistant("fine", ToolCall(id=ToolCallId("c1"), name="read", arguments=arguments), LONE)
    kept = cleaned(said)

    assert isinstance(kept, AssistantMessage)
    assert all(one is other for one, other in zip(kept.content[:2], said.content[:2], strict=True))
    assert kept.usage is said.usage


def test_image_bytes_are_untouched() -> None:
    message = cleaned(tool_result(text(LONE), IMAGE))

    assert isinstance(message, ToolResultMessage)
    assert message.content[1] is IMAGE


def nested(levels: int, inmost: Json) -> Json:
    value = inmost
    for level in range(levels):
        value = [value] if level % 2 else {"in": value}
    return value


def test_how_deep_a_payload_is_makes_no_difference_and_how_deep_its_reader_stands() -> None:
    def deeper(calls: int) -> KnownEntry:
        return deeper(calls - 1) if calls else clean(Custom(**NODE, custom_type="x", data=nested(400, LONE)))

    assert deeper(sys.getrecursionlimit() // 2) == Custom(**NODE, custom_type="x", data=nested(400, MENDED))


def test_what_cannot_be_written_anyway_is_left_for_the_codec_to_refuse() -> None:
    knot: list[Json] = [LONE]
    knot.extend([knot, {"self": knot}])
    for data in (knot, nested(100_000, LONE), {("a", "b"): LONE}, [object(), LONE]):
        with pytest.raises(Unencodable) as refusal:
            encode_entry(clean(Custom(**NODE, custom_type="x", data=data)))
        assert "surrogates" not in str(refusal.value)


@given(ENTRIES)
def test_every_entry_can_be_cleaned_and_a_second_time_changes_nothing(entry: KnownEntry) -> None:
    once = clean(entry)

    assert clean(once) is once
    assert kinds(decode_entry(encode_entry(once))) == kinds(entry)
    assert once is entry or once != entry


TOUCHY: Final = st.text(
    st.sampled_from("a漢é\t\r\n\0\x1b[]1;m\x07\\\x7f\x9b\ud83d\ude00\udc80\ufeff\u0301"), max_size=30
)


@given(TOUCHY)
def test_what_was_made_printable_is_and_all_that_is_gone_was_none(words: str) -> None:
    for change in (printable, uncontrolled):
        once = change(words)
        assert change(once) is once
        assert once.encode().decode() == once
        assert not any((one < " " and one not in KEPT) or "\x7f" <= one < "\xa0" for one in once)


@st.composite
def spoilt(draw: DrawFn, entries: SearchStrategy[KnownEntry]) -> KnownEntry:
    """An entry with surrogates and control characters in the places of some of its texts, at any depth."""
    entry: KnownEntry = draw_spoilt(draw, draw(entries))
    return entry


def draw_spoilt(draw: DrawFn, value: Any) -> Any:
    if isinstance(value, str):
        return draw(st.sampled_from(["", DIRTY, LONE, "\udc80"])) + value
    if isinstance(value, msgspec.Struct):
        # what is chosen from a few words stays one of them: those are ours
        names = [name for name in value.__struct_fields__ if name not in {"stop_reason", "from_id"}]
        return msgspec.structs.replace(value, **{name: draw_spoilt(draw, getattr(value, name)) for name in names})
    if is_object(value):
        return {draw_spoilt(draw, key): draw_spoilt(draw, item) for key, item in value.items()}
    if is_array(value):
        items = [draw_spoilt(draw, item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


@given(spoilt(ENTRIES), st.sampled_from([0, 50, 200, MOST_BYTES]))
def test_whatever_is_spoilt_can_be_written_once_it_is_clean(entry: KnownEntry, limit: int) -> None:
    once = clean(entry, limit=limit)

    assert clean(once, limit=limit) is once
    assert b"\\ud" not in encode_entry(once).lower()
    assert kinds(once) == kinds(entry)


def kinds(value: Any) -> Any:
    """The shape of an entry: the types of all its parts that are Structs."""
    if isinstance(value, msgspec.Struct):
        return type(value), [kinds(getattr(value, name)) for name in value.__struct_fields__]
    if is_array(value):
        return [kinds(item) for item in value if isinstance(item, msgspec.Struct)]
    return None
