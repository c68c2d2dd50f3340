"""Both seeds on branch summaries, statement by statement, as far as no session is needed: oh-my-pi's article, and section 15.4 on Pi.

Each test says what a seed says. Where SPEC departs, or nothing can be asserted here, the reason stands in `LEFT_OUT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

import attrs
import msgspec
import pytest

from sapwood import BranchSummarySettings
from sapwood.actors.navigation.branch import Destination, Prepared, budget, destination, left, prepared
from sapwood.actors.navigation.settings import Manner
from sapwood.actors.navigation.wording import PREAMBLE, stored_summary
from sapwood.actors.outgoing.rendering import render
from sapwood.actors.projection.counter import heuristic
from sapwood.actors.projection.selection import messages_of
from sapwood.actors.summaries.contract import HEADINGS, lacking
from sapwood.actors.summaries.file_lists import Files, inherited
from sapwood.actors.summaries.flatten import TOOL_RESULT_MAX, flatten
from sapwood.actors.summaries.job import begun, next_step
from sapwood.actors.summaries.prompts import words_for
from sapwood.actors.summaries.steps import Ask, Begun, Job
from sapwood.events.entries import BranchSummary, Compaction, Entry, Node
from sapwood.events.messages import UserMessage
from sapwood.events.models import Model
from tests.actors.navigation.left_behind import compaction, drawn, letters, names, nested, viewed
from tests.build import assistant, call, message_entry, result, user, words

LEFT_OUT: Final[Mapping[str, str]] = {
    "line numbers, files and names of functions": "facts of other code bases",
    "the words of the prompt, of the preamble and of the wrapper": "contracts are the headings and marks; the words are ours",
    "a preamble of which the summary's first heading shares the last line": "unlike omp: it stands on lines of its own (N5)",
    "a budget of nothing or less is unlimited": "unlike both (N3): asserted in test_branch.py",
    "what does not fit is dropped, the newest too": "unlike both (N3): the newest is in, cut to fit; asserted in test_branch.py",
    "a summary at the stop goes in whole": "unlike both (N3): it is cut to what is left; the rule of nine tenths is asserted here",
    "only branch_summary entries hand on their files": "unlike both (N3): compactions of ours do as well; asserted in test_branch.py",
    "a <files> block may draw folders as a tree": "omp's drawing; ours has a whole path a line (N4)",
    "2048 tokens of output, and what becomes of a stump": "a request's option: with the actor's tests",
    "model, apiKey, signal, metadata, convertToLlm, telemetry, completeImpl": "options of a call: with the actor's tests",
    "aborted and error of a result": "outcomes of a job: tests/actors/summaries/test_job.py, and the actor's tests",
    "No model available for summarization; the hooks, cancel, a summary of an extension's": "they take a session: with the actor's tests",
    "the order of checks, hook, summary and move; where the entry hangs; what session_tree tells": "they take a session",
    "the setting decides whether a person is asked": "there is no dialogue here; that `navigate` works regardless takes a session (N9)",
    "HTML export, and [branch summary]: in a drawn tree": "another part of the house (V1, V2)",
    "advisors, todos, secrets of omp": "features that this project does not have; E6 is the redactor",
    "two tables of section 15.4": "lost when the seed was stored; N4 has the one on instructions",
    "a model's overrides change compactions alone": "there are none of branches: the fields of the settings are asserted here",
    "the words of the refusals, in both directions": "tests/actors/exclusion/test_table.py",
}
MODEL: Final = Model(provider="p", id="m", context_window=200_000)
MANNERS: Final = get_args(Manner)


def made(entries: list[Entry], room: int = 10**6, manner: Manner = "omp") -> Prepared:
    return prepared(entries, room, letters, manner=manner)


def asked(manner: Manner = "pi", **given: str) -> str:
    """The first request for a branch's summary."""
    job = Job(
        kind="branch",
        texts=("[User]: explore",),
        tokens=(15,),
        room=100_000,
        count=len,
        words=words_for("branch", manner),
        focus=given.get("focus"),
        instructions=given.get("instructions"),
    )
    _, do = next_step(begun(job), Begun())
    assert isinstance(do, Ask)
    return do.prompt


# the format


def test_a_branchs_summary_has_five_sections_and_progress_has_three() -> None:
    assert [heading for heading in HEADINGS["branch"] if heading.startswith("## ")] == [
        "## Goal",
        "## Constraints & Preferences",
        "## Progress",
        "## Key Decisions",
        "## Next Steps",
    ]
    assert [heading for heading in HEADINGS["branch"] if heading.startswith("### ")] == [
        "### Done",
        "### In Progress",
        "### Blocked",
    ]


def test_the_sections_are_a_compactions_without_critical_context() -> None:
    assert (*HEADINGS["branch"], "## Critical Context") == HEADINGS["compaction"]


@pytest.mark.parametrize("manner", MANNERS)
def test_the_prompt_lays_out_the_headings_and_their_markers(manner: Manner) -> None:
    first = words_for("branch", manner).first
    lines = first.splitlines()

    assert lacking(first, "branch") == ()
    assert [line[:5] for line in lines if line.startswith("- [")] == ["- [x]", "- [ ]"]
    assert any(line.startswith("- **") and "**: " in line for line in lines)
    assert any(line.startswith("1. ") for line in lines)


@pytest.mark.parametrize("manner", MANNERS)
def test_what_is_empty_is_none_and_paths_names_and_errors_are_kept_to_the_letter(manner: Manner) -> None:
    first = words_for("branch", manner).first

    assert "`(none)`" in first
    for kept in ("paths", "names of functions", "error messages", "brief"):
        assert kept in first.lower()


# the request


def test_the_request_is_the_conversation_in_its_tags_and_the_instructions_below() -> None:
    prompt = asked()

    assert prompt.startswith("<conversation>\n[User]: explore\n</conversation>\n\n")
    assert prompt.endswith(words_for("branch").first)


def test_instructions_can_replace_the_prompt_or_be_added_to_it() -> None:
    assert asked(instructions="Tell it as a poem.") == (
        "<conversation>\n[User]: explore\n</conversation>\n\nTell it as a poem."
    )
    added = asked(focus="the cache")
    assert words_for("branch").first in added
    assert added.endswith("the cache")


def test_the_conversation_is_text_so_that_nobody_goes_on_with_it() -> None:
    told = made([message_entry("u", user("do it")), message_entry("a", assistant("done", call("c", path="a.py")))])

    assert flatten(told.messages) == ["[User]: do it", '[Assistant]: done\n\n[Assistant tool calls]: read(path="a.py")']


# what is collected


FIGURE: Final = drawn("A Ab bc cd Ae ef")
"""The seed's figure: from d, the old leaf, to f, with A above both."""


def test_the_figure_leaves_b_c_and_d_with_a_above_both() -> None:
    tree = FIGURE.tree
    found = left(tree, tree.index("d"), tree.index("f"))

    assert found.common == tree.index("A")
    assert names(tree, found.entries) == "bcd"


def test_a_compaction_on_the_way_is_no_stop_and_its_summary_goes_along() -> None:
    view = viewed(
        message_entry("a", user("a")),
        message_entry("b", user("old"), "a"),
        compaction("c", "of what came before", parent="b"),
        message_entry("d", user("new"), "c"),
    )
    entries = [view.entry(place) for place in left(view.tree, 3, 0).entries]

    assert [words(message) for message in made(entries).messages] == ["old", "of what came before", "new"]


def test_a_summary_of_a_summary_of_a_summary_is_legal() -> None:
    entries: list[Entry] = [compaction("c", "first"), nested("b", "of the first"), compaction("d", "of both")]

    assert [words(message) for message in made(entries).messages] == ["first", "of the first", "of both"]


def test_for_a_question_that_is_answered_anew_what_is_left_begins_below_it() -> None:
    """An anchor at the old answer would leave it out of the new branch and of the summary both."""
    view = viewed(
        message_entry("q", assistant(call("c", "ask"))),
        message_entry("a", result("c", "blue"), "q"),
        message_entry("w", assistant("painted it blue"), "a"),
    )

    assert left(view.tree, 2, view.tree.parent(1)).entries == (1, 2)
    assert left(view.tree, 2, 1).entries == (2,)


def test_one_ends_at_the_entry_or_before_it_if_it_is_to_be_asked_again() -> None:
    view = viewed(message_entry("a", assistant("a")), message_entry("u", user("ask"), "a"))

    assert destination(view, 0) == Destination(leaf=0)
    assert destination(view, 1) == Destination(leaf=0, text="ask")


# the budget


def test_the_reserve_is_taken_from_the_window() -> None:
    assert BranchSummarySettings().reserve_tokens == 16_384
    assert budget(MODEL, BranchSummarySettings()) == 200_000 - 16_384


def test_a_window_that_nobody_knows_is_128000() -> None:
    assert budget(Model(provider="p", id="m"), BranchSummarySettings()) == 128_000 - 16_384


@pytest.mark.parametrize(("window", "percent"), [(128_000, 12.8), (1_000_000, 1.6)])
def test_the_same_reserve_is_less_of_a_larger_window(window: int, percent: float) -> None:
    model = Model(provider="p", id="m", context_window=window)

    assert round(100 * (1 - budget(model, BranchSummarySettings()) / window), 1) == percent
    assert budget(model, BranchSummarySettings(reserve_tokens=window // 2)) == window // 2


def test_the_settings_of_a_file_are_three_and_none_is_a_models() -> None:
    settings = BranchSummarySettings()

    assert (settings.enabled, settings.reserve_tokens, settings.manner) == (False, 16_384, "pi")
    hosts = {"metadata", "convert"}  # no file sets them
    names = {field.name for field in attrs.fields(BranchSummarySettings)}
    assert names - hosts == {"enabled", "reserve_tokens", "manner"}


@pytest.mark.parametrize(("room", "kept"), [(100, ["n" * 60]), (700, ["o" * 500, "m" * 120, "n" * 60])])
def test_messages_are_taken_from_the_newest_on_until_the_budget_is_reached(room: int, kept: list[str]) -> None:
    texts = ("x" * 300, "o" * 500, "m" * 120, "n" * 60)
    entries: list[Entry] = [message_entry(f"m{at}", user(text)) for at, text in enumerate(texts)]

    assert [words(message) for message in made(entries, room).messages] == kept


@pytest.mark.parametrize(("used", "is_in"), [(89, True), (90, False)])
@pytest.mark.parametrize("summary", [compaction("s", "s" * 500), nested("s", "s" * 500)])
def test_a_summary_goes_in_though_the_budget_is_nearly_full(summary: Entry, used: int, *, is_in: bool) -> None:
    """Below nine tenths of it: a summary is worth more than a message."""
    entries = [summary, message_entry("n", user("n" * used * 10))]

    assert len(made(entries, 1_000).messages) == 1 + is_in
    plain: list[Entry] = [message_entry("o", user("s" * 500)), message_entry("n", user("n" * used * 10))]
    assert len(made(plain, 1_000).messages) == 1


# results of tools


def test_a_branchs_summary_has_no_results_in_pis_manner_and_a_compactions_has() -> None:
    talk = [message_entry("a", assistant(call("c", path="a.py"))), message_entry("r", result("c", "the text"))]

    assert [message.role for message in made([*talk], manner="pi").messages] == ["assistant"]
    assert flatten([entry.message for entry in talk])[1] == "[Tool result]: the text"


def test_in_omps_manner_results_are_kept_cut_and_counted_as_cut() -> None:
    found = made([message_entry("r", result("c", "r" * 90_000))])

    assert TOOL_RESULT_MAX == 2_000
    assert flatten(found.messages) == [f"[Tool result]: {'r' * 2_000}\n\n[... 88000 more characters truncated]"]
    assert found.tokens < 2_050


def test_a_useless_result_is_dropped_and_one_that_says_something_is_kept() -> None:
    useless = msgspec.structs.replace(result("c1", "no hits " * 900), useless=True)
    failed = msgspec.structs.replace(result("c2", "broken", error=True), useless=True)
    entries: list[Entry] = [
        message_entry("o", user("older and useful")),
        message_entry("u", useless),
        message_entry("f", failed),
        message_entry("r", result("c3", "hits")),
    ]

    assert [words(message) for message in made(entries, 30).messages] == ["older and useful", "broken", "hits"]


# files


def test_the_files_of_nested_summaries_are_taken_over_though_they_do_not_fit_but_not_an_extensions() -> None:
    entries: list[Entry] = [
        nested("a", "s" * 900, details={"readFiles": ["r.py"], "modifiedFiles": ["m.py"]}),
        nested("b", "s" * 900, details={"readFiles": ["theirs.py"]}, from_hook=True),
        message_entry("n", user("n")),
    ]

    assert made(entries, 1).files == Files(("r.py",), ("m.py",))


@pytest.mark.parametrize("manner", MANNERS)
def test_files_are_handed_on_through_several_moves(manner: Manner) -> None:
    files = Files()
    for at in range(3):
        entries: list[Entry] = [
            nested("s", stored_summary("found", files, manner), details={**files.details}),
            message_entry("a", assistant(call("c", path=f"{at}.py"))),
        ]
        files = made(entries).files

    assert files.read == ("0.py", "1.py", "2.py")
    assert inherited(nested("s", "", details={**files.details})) == files


def test_the_files_stand_in_the_text_with_what_was_done_to_them_and_in_the_details() -> None:
    files = Files(read=("r.py",), modified=("b.py", "w.py"), both=("b.py",))
    block = "<files>\nb.py (RW)\nr.py (Read)\nw.py (Write)\n</files>"

    assert stored_summary("found", files, "omp").endswith(f"found\n\n{block}")
    assert files.details == {"readFiles": ["r.py"], "modifiedFiles": ["b.py", "w.py"]}


def test_lists_in_the_older_tags_are_taken_out() -> None:
    old = "found\n\n<read-files>\nx.py\n</read-files>\n\n<modified-files>\ny.py\n</modified-files>"

    assert stored_summary(old, Files(("r.py",)), "omp") == f"{PREAMBLE}\n\nfound\n\n<files>\nr.py (Read)\n</files>"


# the entry and its way back


def test_the_summary_says_of_itself_that_another_branch_was_explored() -> None:
    stored = stored_summary("found", Files(), "pi")

    assert stored.startswith(PREAMBLE)
    assert "another branch" in PREAMBLE


def test_the_entry_says_where_it_hangs_and_where_one_came_from_and_keeps_and_frees_nothing() -> None:
    own = {name for name in BranchSummary.__struct_fields__ if name not in Node.__struct_fields__}
    of_a_compaction = {name for name in Compaction.__struct_fields__ if name not in Node.__struct_fields__}

    assert own == {"from_id", "summary", "details", "usage", "from_hook"}
    assert own - of_a_compaction == {"from_id"}
    assert {"first_kept_entry_id", "tokens_before"} <= of_a_compaction - own


def test_the_entry_goes_back_into_the_context_as_a_summary_in_its_tags() -> None:
    (message,) = messages_of(nested("s", "found"))
    sent = render(message, provider="p", model="m")

    assert isinstance(sent, UserMessage)
    assert words(sent).endswith("\n\n<summary>\nfound\n</summary>")


def test_the_entry_goes_into_later_summaries_as_what_it_says() -> None:
    found = prepared([nested("s", "found")], 100, heuristic, manner="pi")

    assert [words(message) for message in found.messages] == ["found"]
    assert "found" in flatten(found.messages)[0]
