"""What a compaction's summary is made of, and what is made of the summary (C6, C8, C11, C12)."""

from __future__ import annotations

import attrs
import msgspec

from sapwood.actors.compaction.finishing import Finished, Material, finish, material_of
from sapwood.actors.compaction.plan import Plan, plan
from sapwood.actors.summaries.contract import Kind
from sapwood.actors.summaries.file_lists import Files
from sapwood.actors.summaries.steps import Written
from sapwood.events.messages import Message
from tests.actors.compaction.selected import survey
from tests.build import assistant, result, usage, user


def planned(line: str, keep: int) -> Plan:
    made = plan(survey(line), keep)
    assert isinstance(made, Plan)
    return made


def written(text: str, *lacking: str) -> Written:
    return Written(text=text, usage=usage(1), lacking=lacking, shortened=False, calls=1)


def finished(planned: Plan, files: Files | None = None, **texts: str) -> Finished:
    kinds: dict[str, Kind] = {"history": "compaction", "prefix": "turn_prefix"}
    of_kind: dict[Kind, Written] = {kinds[name]: written(text) for name, text in texts.items()}
    return finish(of_kind, planned, material_of(planned, len), Files() if files is None else files, len)


HISTORY = planned("u10 a10 u10 a10", 20)
SPLIT = planned("u10 a10 u10 a30 a30 a30", 50)
UPDATE = planned("c5 u10 a10 u10 a10", 20)


def said(*messages: Message, plan_of: Plan = HISTORY) -> Plan:
    return attrs.evolve(plan_of, history=messages)


def test_the_history_is_told_as_text_and_counted() -> None:
    texts = ("[User]: u0", "[Assistant]: a1")

    assert material_of(HISTORY, len) == Material(stretches={"compaction": (texts, (10, 15))}, previous=None, tokens=25)


def test_the_two_stretches_of_a_split_turn_stay_apart() -> None:
    material = material_of(SPLIT, len)

    assert material.stretches == {
        "compaction": (("[User]: u0", "[Assistant]: a1"), (10, 15)),
        "turn_prefix": (("[User]: u2", "[Assistant]: a3"), (10, 15)),
    }
    assert material.tokens == 50


def test_a_stretch_with_nothing_in_it_is_not_there() -> None:
    prefix = material_of(planned("u10 a30 a30 a30", 50), len)
    silent = material_of(said(assistant("x", stop="error")), len)

    assert list(prefix.stretches) == ["turn_prefix"]
    assert silent == Material(stretches={}, previous=None, tokens=0)


def test_the_summary_before_goes_along_without_its_lists_and_counts() -> None:
    assert UPDATE.previous is not None
    before = "Old.\n\n<read-files>\na.py\n</read-files>"
    listed = attrs.evolve(UPDATE, previous=msgspec.structs.replace(UPDATE.previous, summary=before))

    material = material_of(listed, len)

    assert (material.previous, material.tokens) == ("Old.", 25 + 4)


def test_a_summary_has_its_files_behind_it_and_in_its_details() -> None:
    one = finished(HISTORY, Files(read=("a.py",), modified=("b.py",)), history="Text.")

    lists = "<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>"
    assert one == Finished(
        text=f"Text.\n\n{lists}",
        details={"readFiles": ["a.py"], "modifiedFiles": ["b.py"], "fidelity": {"score": 1.0, "madeUp": []}},
        tokens=len(f"Text.\n\n{lists}"),
    )


def test_the_summary_of_a_split_turn_is_both_and_the_request_word_for_word() -> None:
    one = finished(SPLIT, history="Before.", prefix="Prefix.")

    assert one.text == (
        "Before.\n\n---\n\n**Turn Context (split turn):**\n\nPrefix.\n\n"
        "**The request of this turn, word for word:**\n\nu2"
    )


def test_the_previous_summary_is_taken_as_it_is_where_only_the_turn_was_asked_for() -> None:
    split = attrs.evolve(UPDATE, history=(), turn_prefix=(user("go"),))

    one = finished(split, prefix="Prefix of go.")

    assert one.text == "before\n\n---\n\n**Turn Context (split turn):**\n\nPrefix of go."


def test_without_anything_written_the_previous_summary_stands() -> None:
    assert finished(UPDATE).text == "before"
    assert finished(HISTORY).text == ""


def test_words_that_occur_nowhere_in_what_was_summarised_are_flagged() -> None:
    told = said(user("see src/a.py, src/b.py and src/c.py"))

    one = finished(told, history="Of src/a.py, src/b.py and src/z.py")

    assert one.details["fidelity"] == {"score": 0.667, "madeUp": ["src/z.py"]}


def test_words_of_the_summary_before_are_not_made_up() -> None:
    assert finished(UPDATE, history="before").details["fidelity"] == {"score": 1.0, "madeUp": []}
    assert UPDATE.previous is not None
    known = attrs.evolve(UPDATE, previous=msgspec.structs.replace(UPDATE.previous, summary="of src/a.py"))

    assert finished(known, history="of src/a.py").details["fidelity"] == {"score": 1.0, "madeUp": []}
    assert finished(UPDATE, history="of src/a.py").details["fidelity"] == {"score": 0.0, "madeUp": ["src/a.py"]}


def test_the_last_errors_of_both_stretches_are_put_behind_what_lacks_them() -> None:
    one = result("c1", "Error: no such table", error=True)
    two = result("c2", "Error: disk full", error=True)
    failing = attrs.evolve(SPLIT, history=(user("u"), assistant("a"), one), turn_prefix=(user("go"), two))

    text = finished(failing, history="Of Error: no such table.", prefix="go").text

    assert "**Last errors, word for word:**\n\n- Error: disk full" in text
    assert text.count("no such table") == 1


def test_headings_that_are_lacking_are_told_and_only_then() -> None:
    parts: dict[Kind, Written] = {
        "compaction": written("Before.", "## Goal"),
        "turn_prefix": written("Prefix.", "## Original Request"),
    }

    one = finish(parts, SPLIT, material_of(SPLIT, len), Files(), len)

    assert one.details["lacking"] == ["## Goal", "## Original Request"]
    assert "lacking" not in finished(SPLIT, history="Before.", prefix="Prefix.").details
