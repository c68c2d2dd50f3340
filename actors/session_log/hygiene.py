r"""What an entry looks like when it is let into the log (S12). No I/O. Total: no content makes it raise.

1. Tool results, command output and custom messages: no lone surrogates, no control characters but tab, LF and CR, no escape
   sequences of terminals; and their texts together are capped. They have at most `MOST_BLOCKS` blocks and `MOST_BYTES` of details.
2. User text: the same, but nothing visible is taken away: of an escape sequence only the escape goes. It is never capped.
3. What the model said, and all else: as it came, lone surrogates apart.
4. A signed block that is changed is no longer signed, so that it is never sent back as if it were as it came.
5. What is clean comes back as it is, the very same object; what was cleaned is clean.

A lone surrogate becomes U+FFFD. Control characters are Unicode's Cc: \x00 to \x1f, \x7f, and \x80 to \x9f, among which a terminal
finds an escape of one character. Of the escape sequences, those that a program may write to a terminal are known; of any other
only the escape goes, since what follows may as well be text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from sapwood.actors.session_log.capping import MOST_BYTES, cap_all, ends_of
from sapwood.events.base import Json, is_array
from sapwood.events.content import TextContent, UserBlock, UserContent, mended, without_surrogates
from sapwood.events.entries import CustomMessageEntry, KnownEntry, MessageEntry
from sapwood.events.messages import BashExecutionMessage, CustomMessage, ToolResultMessage, UserMessage

MOST_BLOCKS: Final = 1000
"""A provider takes about a hundred images, and more texts than a book has pages are one text. Each block is looked at in every request."""

_SIGNATURES: Final = ("text_signature", "thinking_signature", "thought_signature")

_SEQUENCE: Final = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*+[ -/]*+[@-~]"  # CSI: colours, the cursor, erasing
    r"|[\]PX^_][^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC: titles, links, pictures; ended by BEL or ST
    r"|[()*+][0-9A-Z]"  # another character set
    r"|[78=>cDEHMNOZ\\]"  # the cursor kept and put back, the keypad, reset, and lines up and down
    r")"
)
_C1: Final = re.compile(rb"\xc2[\x80-\x9f]")
_CONTROLS: Final = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\r")
_CONTROLS_IN_LATIN_1: Final = _CONTROLS + bytes(range(0x80, 0xA0))

_encoder: Final = msgspec.json.Encoder()
_UNWRITABLE: Final = (ValueError, TypeError, OverflowError, RecursionError)

Change = Callable[[Sequence[str]], Sequence[str]]
"""All texts of a message, in order, to as many others."""
_S = TypeVar("_S", bound=msgspec.Struct)


def clean(entry: KnownEntry, *, limit: int = MOST_BYTES) -> KnownEntry:
    """The entry as it may be written. `limit`: bytes of UTF-8 that the texts of one message may have together."""
    tidy = _tidy(entry, limit)
    try:
        _encoder.encode(tidy)
    except _UNWRITABLE:  # most likely a lone surrogate, wherever it is
        return _mended_struct(tidy)
    return tidy


def clean_result(
    content: tuple[UserBlock, ...], details: Json, *, limit: int = MOST_BYTES
) -> tuple[tuple[UserBlock, ...], Json]:
    """What a tool gave, as it may be written: for who is asked about it before it is."""
    return _blocks(_fewer(content), partial(_capped, limit=limit)), _shorter(details)


def printable(text: str) -> str:
    """The text without the escape sequences of terminals, and without control characters (rule 1)."""
    return uncontrolled(_SEQUENCE.sub("", text) if "\x1b" in text else text)


def uncontrolled(text: str) -> str:
    """The text without control characters but tab, LF and CR, and without lone surrogates (rule 2)."""
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        text = _mended_text(text)
        data = text.encode()
        kept = _C1.sub(b"", data.translate(None, _CONTROLS))
        return text if len(kept) == len(data) else kept.decode()
    kept = data.translate(None, _CONTROLS_IN_LATIN_1)
    return text if len(kept) == len(data) else kept.decode("latin-1")


def _tidy(entry: KnownEntry, limit: int) -> KnownEntry:
    """Rules 1 and 2, but for what lies beside the texts."""
    capped = partial(_capped, limit=limit)
    match entry:
        case MessageEntry(message=ToolResultMessage(content=blocks, details=details) as message):
            kept, shorter = clean_result(blocks, details, limit=limit)
            return _with(entry, message=_with(message, content=kept, details=shorter))
        case MessageEntry(message=CustomMessage(content=content, details=details) as message):
            return _with(
                entry, message=_with(message, content=_content(_fewer_in(content), capped), details=_shorter(details))
            )
        case MessageEntry(message=BashExecutionMessage(command=command, output=output) as message):
            command, output = capped([command, output])
            return _with(entry, message=_with(message, command=command, output=output))
        case MessageEntry(message=UserMessage(content=content) as message):
            return _with(entry, message=_with(message, content=_content(content, _all_uncontrolled)))
        case CustomMessageEntry(content=content, details=details):
            return _with(entry, content=_content(_fewer_in(content), capped), details=_shorter(details))
        case _:
            return entry


def _capped(texts: Sequence[str], *, limit: int) -> Sequence[str]:
    ends = [ends_of(text, limit) for text in texts]
    return cap_all([printable(text) for text, _ in ends], limit, [size for _, size in ends])


def _all_uncontrolled(texts: Sequence[str]) -> Sequence[str]:
    return [uncontrolled(text) for text in texts]


def _fewer(blocks: tuple[UserBlock, ...]) -> tuple[UserBlock, ...]:
    """At most so many blocks: of more, the first and the last, and between them a text that tells how many are gone."""
    if len(blocks) <= MOST_BLOCKS:
        return blocks
    head = MOST_BLOCKS // 2
    tail = MOST_BLOCKS - head - 1
    told = f"[... {len(blocks) - head - tail:,} of {len(blocks):,} blocks left out ...]"
    return (*blocks[:head], TextContent(text=told), *blocks[-tail:])


def _fewer_in(content: UserContent) -> UserContent:
    return content if isinstance(content, str) else _fewer(content)


def _shorter(details: Json) -> Json:
    """The details, or what is told of them where they are too long: JSON has no middle that could be left out."""
    try:
        size = len(_encoder.encode(details))
    except _UNWRITABLE:
        details = mended(details, _mended_text)
        try:
            size = len(_encoder.encode(details))
        except _UNWRITABLE:
            return details  # whoever writes it says why it cannot be written
    return details if size <= MOST_BYTES else {"leftOut": f"details of {size:,} bytes: at most {MOST_BYTES:,} are kept"}


def _content(content: UserContent, change: Change) -> UserContent:
    return change([content])[0] if isinstance(content, str) else _blocks(content, change)


def _blocks(content: tuple[UserBlock, ...], change: Change) -> tuple[UserBlock, ...]:
    texts = iter(change([block.text for block in content if isinstance(block, TextContent)]))
    changed = tuple(_with(block, text=next(texts)) if isinstance(block, TextContent) else block for block in content)
    return content if _same(content, changed) else changed


def _same(old: Sequence[object], new: Sequence[object]) -> bool:
    return all(one is other for one, other in zip(old, new, strict=True))


def _with(struct: _S, **fields: Any) -> _S:
    """The Struct with some fields changed, and if any is, with no signature; the same object if none is."""
    changes = {name: value for name, value in fields.items() if value is not getattr(struct, name)}
    if not changes:
        return struct
    unsigned = {name: None for name in _SIGNATURES if name in struct.__struct_fields__}
    return msgspec.structs.replace(struct, **changes | unsigned)


def _mended_struct(struct: _S) -> _S:
    """Without lone surrogates, in all its fields. How deep our own types are nested is known; what JSON they hold may be deep."""
    return _with(struct, **{name: _mended(getattr(struct, name)) for name in struct.__struct_fields__})


def _mended(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _mended_struct(value)
    if is_array(value) and all(isinstance(item, msgspec.Struct) for item in value):
        items = tuple(map(_mended_struct, value))
        return value if _same(value, items) else items
    return mended(value, _mended_text)


def _mended_text(text: str) -> str:
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return without_surrogates(text)
    # bytes that were no text, as Python keeps them: a binary has millions, and to mend them one by one would take seconds
    replaced = data.decode("utf-8", "replace")
    return text if replaced == text else replaced
