"""Selections for the tests of the cut: a line of entries, each with a size that is given."""

from __future__ import annotations

from sapwood.events.context import Measured, SelectedEntry, Surveyed
from sapwood.events.entries import Compaction, ContextEdit, Entry, Label, Replacement
from sapwood.events.ids import EntryId
from sapwood.events.messages import CompactionSummaryMessage, Message
from tests.build import MS, TIME, assistant, call, message_entry, result, system, user


def survey(line: str, *, counted: int | None = None, reported: int | None = None) -> Surveyed:
    """A selection from words such as `u10 a5 t3 r4`: kind and tokens.

    `u` user, `a` answer, `t` answer with a call, `r` its result, `s` system, `l` label, `h` an answer that is hidden, `g` an input that
    is, `e` the edit that hides it, `x` an edit with other content, `c` a compaction that speaks (only first). Ids are the words' places:
    `0`, `1`, …
    """
    selected: list[SelectedEntry] = []
    sizes: list[int] = []
    for at, word in enumerate(line.split()):
        kind, size = word[0], int(word[1:] or 0)
        entry, messages, edit = _made(kind, at)
        selected.append(SelectedEntry(at, entry, messages, edit))
        sizes.append(size if messages else 0)
    return Surveyed(
        leaf=selected[-1].entry.id if selected else None,
        entries=tuple(selected),
        tokens=tuple(sizes if counted is None else sizes[len(sizes) - counted :]),
        measured=Measured(tokens=sum(sizes) if reported is None else reported, source="estimated", counted=sum(sizes)),
        compacted=line.startswith("c"),
        thinking_level="off",
    )


def _made(kind: str, at: int) -> tuple[Entry, tuple[Message, ...], ContextEdit | None]:
    name = str(at)
    match kind:
        case "u":
            entry = message_entry(name, user(f"u{at}"))
            return entry, (entry.message,), None
        case "a":
            entry = message_entry(name, assistant(f"a{at}"))
            return entry, (entry.message,), None
        case "t":
            entry = message_entry(name, assistant(call(f"c{at}", path=f"file{at}.py"), stop="toolUse"))
            return entry, (entry.message,), None
        case "r":
            entry = message_entry(name, result(f"c{at - 1}", f"r{at}"))
            return entry, (entry.message,), None
        case "s":
            entry = message_entry(name, system(x=name))
            return entry, (entry.message,), None
        case "h":
            return message_entry(name, assistant(f"h{at}", stop="error", error="too long")), (), _edit(at, name, None)
        case "g":
            return message_entry(name, user(f"g{at}")), (), _edit(at, name, None)
        case "e":
            return _edit(at, str(at - 1), None), (), None
        case "x":
            return _edit(at, "0", "other"), (), None
        case "l":
            label = Label(id=EntryId(name), parent_id=None, timestamp=TIME, target_id=EntryId("0"), label="here")
            return label, (), None
        case "c":
            compaction = Compaction(
                id=EntryId(name),
                parent_id=None,
                timestamp=TIME,
                summary="before",
                first_kept_entry_id=EntryId(name),
                tokens_before=1,
            )
            said = CompactionSummaryMessage(summary="before", tokens_before=1, timestamp=MS)
            return compaction, (said,), None
        case _:
            raise ValueError(kind)


def _edit(at: int, target: str, content: str | None) -> ContextEdit:
    return ContextEdit(
        id=EntryId(str(at)),
        parent_id=None,
        timestamp=TIME,
        target_id=EntryId(target),
        replacement=None if content is None else Replacement(content=content),
    )
