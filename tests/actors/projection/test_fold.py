"""The selection at a leaf, folded step by step and from nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.projection.counts import Counts, Key, ReadyCounter
from sapwood.actors.projection.fold import Fold
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.context import ContextUsage, Measured
from sapwood.events.entries import (
    BranchSummary,
    Entry,
    Label,
    ModelChange,
    ThinkingLevelChange,
)
from sapwood.events.errors import CannotOpen
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message
from sapwood.events.requests import Measure, Project, Survey
from sapwood.store.memory import MemoryStore
from tests.actors.projection.logs import KINDS, STEPS, Log, chain, compaction, edit, said, watched
from tests.build import HEADER, MODEL, TIME, assistant, message_entry, system, usage, user


def test_without_a_compaction_the_whole_path_speaks() -> None:
    log = chain("u1", "a1", "u2")

    assert log.seen == ["u1", "a1", "u2"]


def test_another_branch_does_not_leak_in() -> None:
    log = chain("u1", "a1", "u2")
    log.say("other", "a1")

    assert log.seen == ["u1", "a1", "other"]


def test_a_compaction_speaks_first_and_then_what_it_keeps() -> None:
    log = chain("u1", "a1", "u2", "a2")
    log.add(compaction("c1", "a2", "u2"))
    log.say("u3", "c1")

    assert log.seen == ["[c1]", "u2", "a2", "u3"]


@pytest.mark.parametrize(("kept", "note"), [("c1", False), ("missing", True), ("u3", True)])
def test_nothing_is_kept_for_its_own_id_and_for_one_that_is_not_before_it(kept: str, *, note: bool) -> None:
    log = chain("u1", "a1")
    log.add(compaction("c1", "a1", kept))
    log.say("u3", "c1")

    assert log.seen == ["[c1]", "u3"]
    fold = log.from_scratch
    assert [(one.code, one.entry_id) for one in fold.notes] == ([("first_kept_missing", "c1")] if note else [])


def test_a_compaction_that_cannot_be_read_leaves_the_one_before_it_speaking() -> None:
    log = chain("u1", "u2")
    log.add(compaction("c1", "u2", "u2"))
    log.say("u3", "c1")
    line = encode_entry(compaction("c2", "u3", "u3")).replace(b'"summary":"c2"', b'"summary":{}')
    log.store.append([line])
    log.say("u4", "c2")

    assert log.seen == ["[c1]", "u2", "u3", "u4"]
    assert [note.code for note in log.from_scratch.notes] == ["compaction_unreadable"]
    assert log.fold.context(explained=True).absent[EntryId("c2")] == "unreadable"


def test_places_are_counted_on_the_path_and_not_in_the_file() -> None:
    """An answer whose parent stands later in the file used to count as older than the compaction above it."""
    log = Log()
    log.say("u1", None)
    log.store.append([encode_entry(message_entry("a1", assistant("a1", usage=usage(5000)), "c1"))])
    log.store.append([encode_entry(compaction("c1", "u1", "u1"))])
    log.say("u2", "a1")

    assert log.seen == ["[c1]", "u1", "a1", "u2"]
    assert log.fold.measure() == Measured(tokens=5001, source="reported", counted=1, counter="heuristic")


def test_a_disk_that_fails_in_the_middle_of_a_pull_does_not_double_what_was_folded() -> None:
    log = Log()
    for parent, name in zip([None, "u1", "u2"], ["u1", "u2", "u3"], strict=True):
        log.add(message_entry(name, user(name), parent), pull=False)
    entry = log.view.entry
    failures = [OSError("EIO")]

    def failing(index: int) -> Entry:
        if index == 2 and failures:
            raise failures.pop()
        return entry(index)

    log.view.entry = failing  # type: ignore[method-assign]
    with pytest.raises(OSError, match="EIO"):
        log.fold.pull()

    assert log.seen == ["u1", "u2", "u3"]


def test_an_older_compaction_in_the_kept_range_says_nothing() -> None:
    log = chain("u1", "a1")
    log.add(compaction("c1", "a1", "u1"))
    log.say("u2", "c1")
    log.add(compaction("c2", "u2", "a1"))

    assert log.seen == ["[c2]", "a1", "u2"]


def test_the_prompt_comes_from_the_compaction_and_not_from_what_it_keeps() -> None:
    log = Log()
    log.add(message_entry("s1", system(old="x")))
    log.say("u1", "s1")
    log.add(compaction("c1", "u1", "s1", prompt=system(new="y")))
    log.add(message_entry("s2", system(later="z"), "c1"))

    assert log.seen == ["system ['new']", "[c1]", "u1", "system ['later']"]


def test_before_a_compaction_the_originals_are_back() -> None:
    log = chain("u1", "a1", "u2")
    log.add(compaction("c1", "u2", "u2"))
    log.say("again", "a1")

    assert log.seen == ["u1", "a1", "again"]


def test_the_latest_edit_wins_and_only_on_its_branch() -> None:
    log = chain("u1", "a1")
    log.add(edit("e1", "a1", "u1", "changed"))
    assert log.seen == ["changed", "a1"]
    log.add(edit("e2", "e1", "u1", None))
    assert log.seen == ["a1"]
    log.add(edit("e3", "e2", "u1", "back"))
    assert log.seen == ["back", "a1"]

    log.say("other", "a1")

    assert log.seen == ["u1", "a1", "other"]


def test_an_edit_that_comes_before_its_target_counts_when_that_comes() -> None:
    """Pi asks nothing of their order; what came after its edit used to be shown as it was."""
    log = chain("u1")
    log.add(edit("e1", "u1", "u2", "older"))
    log.add(edit("e2", "e1", "u2", "changed"))
    log.say("u2", "e2")
    log.add(edit("e3", "u2", "u3", None))
    log.say("u3", "e3")

    assert log.seen == ["u1", "changed"]
    assert log.from_scratch.context(explained=True) == log.fold.context(explained=True)
    assert log.fold.context(explained=True).absent[EntryId("u3")] == "hidden"

    log.add(compaction("c1", "u3", "u2"))
    assert log.seen == ["[c1]", "u2"], "the edits were compacted away; the edited entry was kept"


def test_an_edit_of_what_was_compacted_away_shows_nothing() -> None:
    log = chain("u1", "u2")
    log.add(compaction("c1", "u2", "u2"))
    log.add(edit("e1", "c1", "u1", "changed"))

    assert log.seen == ["[c1]", "u2"]


def test_an_edit_cannot_bring_back_an_older_compaction_that_is_kept() -> None:
    log = chain("u1")
    log.add(compaction("c1", "u1", "u1"))
    log.say("u2", "c1")
    log.add(compaction("c2", "u2", "c1"))
    log.add(edit("e1", "c2", "c1", "boo"))

    assert log.seen == ["[c2]", "u2"]


def test_null_hides_a_summary_with_its_prompt() -> None:
    log = chain("u1")
    log.add(compaction("c1", "u1", "c1", prompt=system(a="b")))
    log.add(edit("e1", "c1", "c1", None))

    assert log.seen == []


def test_a_branch_summary_at_a_null_root_is_all_there_is() -> None:
    log = chain("u1")
    log.add(
        BranchSummary(id=EntryId("b1"), parent_id=None, timestamp=TIME, from_id=EntryId("u1"), summary="found nothing")
    )

    assert log.seen == ["[found nothing]"]


def test_model_and_thinking_come_from_the_whole_path_even_from_what_was_compacted() -> None:
    log = Log()
    log.add(ThinkingLevelChange(id=EntryId("t1"), parent_id=None, timestamp=TIME, thinking_level="high"))
    log.add(ModelChange(id=EntryId("m1"), parent_id=EntryId("t1"), timestamp=TIME, provider="p", model_id="m"))
    log.say("u1", "m1")
    log.add(compaction("c1", "u1", "c1"))

    context = log.fold.context()
    assert (context.model, context.thinking_level) == (("p", "m"), "high")

    log.say("a1", "c1", tokens=5)
    for fold in (log.fold, log.from_scratch):
        assert (fold.context().model, fold.context().thinking_level) == (("scripted", "talker"), "high")


def test_an_empty_log_has_an_empty_context() -> None:
    context = Log().fold.context(explained=True)

    assert (context.leaf, context.items, context.absent, context.model) == (None, (), {}, None)


def test_each_entry_of_the_path_speaks_or_says_why_not() -> None:
    log = chain("u1", "u2")
    log.add(compaction("c1", "u2", "u2"))
    log.add(Label(id=EntryId("l1"), parent_id=EntryId("c1"), timestamp=TIME, target_id=EntryId("u2"), label="x"))
    log.say("u3", "l1")
    log.add(edit("e1", "u3", "u3", None))

    absent = log.fold.context(explained=True).absent

    assert absent == {"u1": "compacted", "l1": "silent", "u3": "hidden", "e1": "silent"}


def test_usage_is_unknown_after_a_compaction_until_an_answer_came() -> None:
    log = chain("u1")
    log.say("a1", "u1", tokens=100)
    assert log.fold.measure() == Measured(tokens=100, source="reported", counted=0)

    log.add(compaction("c1", "a1", "u1"))
    assert log.fold.measure().known is False

    log.say("a2", "c1", tokens=40)
    assert log.fold.measure() == Measured(tokens=40, source="reported", counted=0)


def test_usage_is_of_the_models_window() -> None:
    log = chain("u1")
    log.say("a1", "u1", tokens=1000)

    assert log.fold.usage(MODEL) == ContextUsage(tokens=1000, window=200_000)
    log.add(compaction("c1", "a1", "c1"))
    assert str(log.fold.usage(MODEL)) == "?/200000"


def test_an_append_costs_what_it_adds_and_not_what_the_session_holds() -> None:
    log = chain(*(f"u{n}" for n in range(50)))
    decoded = watched(log)
    log.say("new", "u49")
    log.add(edit("e1", "new", "u3", "changed"))

    assert decoded == [50, 51]
    assert len(log.seen) == 51


def test_a_compaction_costs_what_it_keeps_and_not_the_path() -> None:
    """It used to walk to the root: in a session of 100,000 entries one took longer than a hundred turns."""
    log = chain(*(f"u{n}" for n in range(50)))
    log.add(compaction("c1", "u49", "u40"))
    log.say("u50", "c1")
    log.view.tree.path = None  # type: ignore[method-assign, assignment]  # pyright: ignore[reportAttributeAccessIssue]

    log.add(compaction("c2", "u50", "u48"))
    assert log.seen == ["[c2]", "u48", "u49", "u50"]
    log.add(compaction("c3", "c2", "c2"))
    assert log.seen == ["[c3]"]
    log.add(compaction("c4", "c3", "c4"))
    assert log.seen == ["[c4]"]


@pytest.mark.parametrize("kept", ["u0", "missing"])
def test_a_compaction_that_reaches_behind_what_is_selected_asks_the_whole_path(kept: str) -> None:
    log = chain("u0", "u1", "u2")
    log.add(compaction("c1", "u2", "u2"))
    log.say("u3", "c1")
    log.add(compaction("c2", "u3", kept))

    assert log.seen == ["[c2]", *(["u0", "u1", "u2", "u3"] if kept == "u0" else [])]
    assert [note.code for note in log.fold.notes] == ([] if kept == "u0" else ["first_kept_missing"])


def test_a_selection_elsewhere_is_gone_on_from_and_left_for_the_leaf() -> None:
    """Whatever came next used to fold the whole path once more, since the fold forgot what it had seen."""
    log = chain("u1", "u2", "u3")
    log.fold.select(0)
    assert log.fold.context().messages == (user("u1"),)
    decoded = watched(log)

    log.say("other", "u1")
    assert (log.seen, decoded) == (["u1", "other"], [3])

    log.fold.select(1)
    assert log.seen == ["u1", "other"], "nothing came, and the leaf is where it was"
    log.fold.select(None)
    assert log.fold.context().messages == ()
    assert log.seen == ["u1", "other"]


def test_what_stands_above_a_compaction_is_not_read() -> None:
    log = Log()
    log.say("u1", None, pull=False)
    log.say("u2", "u1", pull=False)
    log.say("a1", "u2", pull=False, tokens=5)
    log.add(compaction("c1", "a1", "a1"), pull=False)
    decoded = watched(log)
    context = log.from_scratch.context()

    assert [item.entry_id for item in context.items] == ["c1", "a1"]
    assert set(decoded) == {2, 3}


@given(STEPS)
def test_what_is_folded_step_by_step_is_what_is_folded_from_nothing(steps: list[tuple[int, int, int, bool]]) -> None:
    log = Log()
    for n, (kind, back, target_back, pull) in enumerate(steps):
        # mostly under the last entry, as a session grows; else anywhere, or at a root
        parent = None if n == 0 or back == 30 else EntryId(f"e{n - 1 - (max(0, back - 20) % n)}")
        target = EntryId(f"e{max(0, n - target_back)}")
        log.add(KINDS[kind](f"e{n}", parent, target), pull=pull)
        if pull:
            scratch = log.from_scratch
            assert log.fold.context(explained=True) == scratch.context(explained=True)
            assert log.fold.measure() == scratch.measure()


@given(STEPS)
def test_the_selection_depends_on_the_path_alone(steps: list[tuple[int, int, int, bool]]) -> None:
    log = Log()
    for n, (kind, back, target_back, _) in enumerate(steps):
        parent = None if n == 0 or back == 30 else EntryId(f"e{n - 1 - (max(0, back - 20) % n)}")
        log.add(KINDS[kind](f"e{n}", parent, EntryId(f"e{max(0, n - target_back)}")))
    alone = Log()
    for index in log.view.tree.path(log.view.tree.leaf):
        alone.add(log.view.entry(index), pull=False)

    assert alone.seen == log.seen


NAMES = st.sampled_from([*(f"e{n}" for n in range(8)), *(f"lost{n}" for n in range(4))])


@given(st.lists(st.tuples(NAMES, NAMES, st.booleans()), max_size=16))
def test_what_hangs_elsewhere_all_at_once_is_folded_anew(steps: list[tuple[str, str, bool]]) -> None:
    log = Log()
    for name, parent, pull in steps:
        if name.startswith("lost"):  # another program's cut line: it shows what was above the entry that is lost
            log.view.tree.bridge([(name, parent)])
        elif name not in log.view.tree:
            log.say(name, parent, pull=False)
        if pull:
            assert log.seen == [said(message) for message in log.from_scratch.context().messages]


def test_a_lost_entry_that_shows_its_parent_joins_the_path_of_an_unchanged_leaf() -> None:
    log = chain("r")
    log.say("x", "lost")
    assert log.seen == ["x"]
    log.view.tree.bridge([("lost", "r")])

    assert log.seen == ["r", "x"]


def test_why_another_counter_counts_is_told() -> None:
    assert Fold(View(MemoryStore(HEADER))).counter_trouble is None
    troubled = Counts(ReadyCounter(trouble="no ranks: tokens are estimated"))

    assert Fold(View(MemoryStore(HEADER)), troubled).counter_trouble == "no ranks: tokens are estimated"


def test_what_is_counted_for_a_question_is_what_speaks_and_for_a_measure_what_no_report_has() -> None:
    log = chain("u1", "u2")
    log.say("a1", "u2", tokens=100)
    log.add(edit("e1", "a1", "u1", None))
    log.say("u3", "e1")

    def keys(question: Project | Measure) -> list[Key]:
        return [one.key for one in log.fold.counted_for(question)]

    assert [name for name, _ in keys(Project())] == ["u2", "a1", "u3"]
    assert [name for name, _ in keys(Measure())] == ["u2", "a1", "u3"], "what was edited since is in no report"
    log.say("a2", "u3", tokens=90)
    log.say("u4", "a2")
    assert [name for name, _ in keys(Measure())] == ["u4"]


def test_where_something_is_lost_above_is_told_and_nowhere_else() -> None:
    log = chain("u1")
    log.say("u2", "lost")
    log.say("u3", "u2")

    assert log.fold.context(explained=True).gaps == {"u2": "lost"}
    assert log.fold.context().gaps == {}


def test_a_disk_that_fails_in_the_midst_of_a_path_leaves_nothing_half_folded() -> None:
    log = chain("u1", "a1", "u2")
    fold, entry = Fold(log.view), log.view.entry

    def failing(index: int) -> Entry:
        if index == 2:
            raise CannotOpen("s.jsonl", OSError(5, "Input/output error"))
        return entry(index)

    log.view.entry = failing  # type: ignore[method-assign]
    with pytest.raises(CannotOpen):
        fold.select(2)
    log.view.entry = entry  # type: ignore[method-assign]
    fold.pull()

    assert fold.context() == log.from_scratch.context()


# surveys


class Counting(Counts):
    """Keeps what was counted."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: list[str] = []

    def of(self, key: Key, messages: Sequence[Message]) -> tuple[int, ...]:
        self.counted.append(key[0])
        return super().of(key, messages)


@pytest.mark.parametrize(
    ("tokens", "counted"), [(0, 1), (4, 1), (9, 1), (10, 2), (19, 2), (20, 3), (29, 3), (30, 4), (1000, 4)]
)
def test_a_survey_counts_until_it_has_more_than_was_asked_for(tokens: int, counted: int) -> None:
    log = chain(*(f"{at:<40}" for at in range(4)))
    counts = Counting()
    fold = Fold(log.view, counts)
    fold.pull()

    surveyed = fold.survey(tokens)

    assert surveyed.tokens == (10,) * counted
    assert [one.entry.id for one in surveyed.entries] == [f"{at:<40}" for at in range(4)]
    assert (surveyed.leaf, surveyed.compacted, surveyed.thinking_level) == (f"{3:<40}", False, "off")
    assert surveyed.measured == fold.measure()


def test_behind_a_report_a_survey_counts_only_what_was_asked_for() -> None:
    log = chain("a", "b", "c")
    log.say("d", "c", tokens=500)
    log.say("e" * 8, "d")
    counts = Counting()
    fold = Fold(log.view, counts)
    fold.pull()

    surveyed = fold.survey(1)

    assert surveyed.tokens == (2,)
    assert surveyed.measured.tokens == 502
    assert {*counts.counted} == {"e" * 8}


def test_a_survey_of_nothing_has_nothing() -> None:
    surveyed = Log().fold.survey(10)

    assert (surveyed.leaf, surveyed.entries, surveyed.tokens, surveyed.compacted) == (None, (), (), False)
    assert surveyed.measured.tokens == 0


def test_a_survey_begins_with_the_compaction_that_speaks() -> None:
    log = chain("u1", "a1", "u2")
    log.add(compaction("c1", "u2", "u2"))
    log.add(edit("x1", "c1", "u2", None))
    log.say("u3", "x1")

    surveyed = log.fold.survey(1000)

    assert surveyed.compacted
    assert [one.entry.id for one in surveyed.entries] == ["c1", "u2", "x1", "u3"]
    assert [one.place for one in surveyed.entries] == [3, 2, 4, 5]
    hidden = surveyed.entries[1]
    assert (hidden.messages, hidden.edit is not None) == ((), True)
    assert surveyed.tokens[1:3] == (0, 0)


def test_what_a_survey_counts_is_told_before() -> None:
    log = chain(*(f"{at:<40}" for at in range(6)))
    fold = Fold(log.view, Counts())
    fold.pull()

    told = [one.key[0].strip() for one in fold.counted_for(Survey(tokens=25))]

    assert told[:3] == ["5", "4", "3"]
    fold.survey(25)
    again = [one.key[0].strip() for one in fold.counted_for(Survey(tokens=25))]
    assert again[:3] == ["5", "4", "3"]
    assert {*told} == {"0", "1", "2", "3", "4", "5"}, "the measure has no report to go by"


def test_what_a_survey_counts_behind_a_report_is_no_more_than_it_needs() -> None:
    log = chain(*(f"{at:<40}" for at in range(6)))
    log.say("r", f"{5:<40}", tokens=500)

    told = [one.key[0].strip() for one in log.fold.counted_for(Survey(tokens=15))]

    assert told == ["r", "5", "4"]
