"""Both seeds on branch summaries, statement by statement, as far as they need a session: the first (omp) and 15.4 of the second (Pi).

Each test says what a seed says. Where SPEC departs, or nothing can be asserted, the reason stands in `LEFT_OUT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
import trio
import trio.testing

from sapwood import (
    BranchSummarySettings,
    CompactionSettings,
    Delivered,
    Extension,
    ImageContent,
    Refused,
    Request,
    ScriptedAnswer,
    Settings,
    tool,
)
from sapwood.actors.exclusion.table import BUSY, NAVIGATING, RESPONDING
from sapwood.actors.navigation.wording import PREAMBLE
from sapwood.actors.summaries.contract import HEADINGS
from sapwood.events.entries import LEAF_MARKER, BranchSummary, Compaction, CustomMessageEntry, Label, UsageEntry
from sapwood.events.errors import CompactionFailed, NavigationFailed
from sapwood.events.hooks import Cancel, SessionBeforeTree, TreeAnswer
from sapwood.events.ids import EntryId
from sapwood.events.messages import BranchSummaryMessage, Message, ToolResultMessage
from sapwood.events.models import Model
from sapwood.events.runtime import SessionTree, SessionTreeFailed, UsageReported
from tests.build import TIME, assistant, call, message_entry, result, text, usage, user, words
from tests.sapwood.branching import (
    FOUND,
    OMP,
    TALK,
    at,
    branching,
    chain,
    details_of,
    markers_of,
    position_of,
    state_of,
    summaries_of,
)
from tests.sapwood.summarizing import prompt_of, role_of, sent
from tests.talking import drain, names

LEFT_OUT: Final = {
    "line numbers and names of functions": "facts of two other code bases",
    "the words of the prompts": "ours are written afresh; headings, marks and places are asserted here",
    "`User explored another conversation branch …`": "a preamble of ours says the same, on lines of its own (N5)",
    "collecting, the two passes, the budget": "pure: asserted in tests/actors/navigation",
    "a budget of zero or less is no limit": "never here (N3)",
    "the model's own resolver of keys": "keys come with the wires",
    "telemetry": "spans come with the hosts",
    "todos follow the branch": "state of an extension is in the log, and folded from the path",
    "prompt to summarize when leaving a branch": "there is no screen: `enabled` is for a host to read (N9)",
    "HTML export shows a block `Branch Summary`": "exports come later",
    "a length stop is stored (omp)": "refused (C10): asked once more without the cap first (N4)",
    "`No content to summarize` is stored as a summary": "a plain move, and no call (N3)",
    "fromId is the target (omp)": "it is the leaf that was left (Pi, N7)",
    "the seed's own answer to a handler without one": "the hook is asked whether or not a summary is wanted, asserted here",
}
"""What of the two is not asserted in this file, and why."""


def only(requests: Sequence[Request]) -> Request:
    [request] = requests
    return request


# What the model is asked


async def test_the_request_is_a_role_and_one_message_with_a_conversation_and_instructions() -> None:
    async with branching() as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        request = only(sent(provider, "branch_summary"))
        assert [message.role for message in request.messages] == ["system", "user"]
        assert role_of(request)
        conversation, instructions = prompt_of(request).split("\n</conversation>\n\n")
        assert conversation.startswith("<conversation>\n[User]: Say more of ash.\n\n[Assistant]: I look.")
        headings = [line for line in instructions.splitlines() if line.startswith("#")]
        assert headings == list(HEADINGS["branch"])
        assert "## Critical Context" not in instructions
        for mark in ("(none)", "- [x]", "- [ ]", "1. "):
            assert mark in instructions
        assert request.cache_write is False
        assert request.cache_key is not None


@pytest.mark.parametrize(("settings", "told"), [(Settings(), False), (OMP, True)])
async def test_results_of_tools_are_told_in_omps_manner_alone(settings: Settings, told: bool) -> None:
    async with branching(settings=settings) as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        prompt = prompt_of(only(sent(provider, "branch_summary")))
        assert ("Ash is heavy." in prompt) is told
        assert '[Assistant tool calls]: read(path="ash.md")' in prompt


async def test_a_useless_result_is_left_out_unless_it_is_an_error_and_a_long_one_is_cut() -> None:
    def found(name: str, said: str, **more: Any) -> ToolResultMessage:
        content = (text(said),)
        given: dict[str, Any] = {
            "tool_call_id": name,
            "tool_name": "read",
            "content": content,
            "is_error": False,
            "timestamp": 0,
        }
        return ToolResultMessage(**{**given, **more})

    entries = chain(
        ("u1", user()),
        ("a1", assistant(call("c1"), call("c2"), call("c3"), stop="toolUse")),
        ("r1", found("c1", "nothing here", useless=True)),
        ("r2", found("c2", "it broke", useless=True, is_error=True)),
        ("r3", found("c3", "y" * 2_100)),
    )
    async with branching(entries=entries, settings=OMP) as (session, provider):
        await session.navigate(at("u1"), summarize=True)

        prompt = prompt_of(only(sent(provider, "branch_summary")))
        assert "nothing here" not in prompt
        assert "it broke" in prompt
        assert "[... 100 more characters truncated]" in prompt
        assert "y" * 2_001 not in prompt


@pytest.mark.parametrize("settings", [Settings(), OMP])
async def test_nothing_on_the_way_is_a_stop_and_an_older_summary_goes_along(settings: Settings) -> None:
    entries = chain(*TALK)
    compacted = Compaction(
        id=at("k1"),
        parent_id=at("a3"),
        timestamp=TIME,
        summary="Woods so far.",
        first_kept_entry_id=at("a3"),
        tokens_before=9,
    )
    nested = BranchSummary(id=at("b1"), parent_id=at("k1"), timestamp=TIME, from_id=at("a2"), summary="Oak is no good.")
    last = message_entry("u3", user("And pine?"), "b1")
    async with branching(entries=[*entries, compacted, nested, last], settings=settings) as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        prompt = prompt_of(only(sent(provider, "branch_summary")))
        assert "Woods so far." in prompt
        assert "Oak is no good." in prompt
        assert "Say more of ash." in prompt


@pytest.mark.parametrize(
    ("settings", "replace", "added"), [(Settings(), False, True), (Settings(), True, False), (OMP, False, False)]
)
async def test_instructions_are_added_or_replace_ours(settings: Settings, replace: bool, added: bool) -> None:
    told = "Only what it weighs."
    async with branching(settings=settings, summaries=["Light."]) as (session, provider):
        await session.navigate(at("a1"), summarize=True, instructions=told, replace_instructions=replace)

        prompts = [prompt_of(one) for one in sent(provider, "branch_summary")]
        assert told in prompts[0]
        assert ("## Goal" in prompts[0]) is added
        # what replaces ours is not held to our format: `Light.` is not asked for again
        assert len(prompts) == (2 if added else 1)


@pytest.mark.parametrize("settings", [Settings(), OMP])
async def test_to_replace_with_nothing_leaves_ours(settings: Settings) -> None:
    async with branching(settings=settings) as (session, provider):
        await session.navigate(at("a1"), summarize=True, replace_instructions=True)

        assert "## Next Steps" in prompt_of(only(sent(provider, "branch_summary")))


@pytest.mark.parametrize(("settings", "cap"), [(Settings(), None), (OMP, 2_048)])
async def test_the_output_is_capped_in_omps_manner_alone(settings: Settings, cap: int | None) -> None:
    async with branching(settings=settings) as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        assert [one.max_output for one in sent(provider, "branch_summary")] == [cap]


async def test_a_summary_that_hits_omps_cap_is_asked_for_once_more_without() -> None:
    """Omp stores the stump."""
    cut = ScriptedAnswer(text="## Goal", stop_reason="length", usage=usage(100))
    whole = ScriptedAnswer(text=FOUND, usage=usage(40))
    async with branching(settings=OMP, summaries=[cut, whole]) as (session, provider):
        moved = await session.navigate(at("a1"), summarize=True)

        assert [one.max_output for one in sent(provider, "branch_summary")] == [2_048, None]
        assert moved.summary is not None
        assert FOUND in moved.summary.summary
        assert moved.summary.usage is not None
        assert moved.summary.usage.input == 140


async def test_no_thinking_is_asked_for_of_a_model_that_has_none_and_no_tools_are_told() -> None:
    async with branching() as (session, provider):
        await session.set_thinking_level("high")
        await session.navigate(at("a1"), summarize=True)

        assert only(sent(provider, "branch_summary")).thinking_level == "off"


async def test_an_unknown_window_is_one_of_128000() -> None:
    model = Model(provider="scripted", id="talker")
    much = chain(("u1", user()), *((f"m{nth}", user("x" * 40_000)) for nth in range(14)))
    async with branching(entries=much, model=model) as (session, provider):
        await session.navigate(at("u1"), summarize=True)

        tokens = sum(len(words(message)) for message in only(sent(provider, "branch_summary")).messages) // 4
        assert 100_000 < tokens < 128_000 - 8_192


async def test_metadata_and_a_converter_of_the_hosts_are_heard() -> None:
    def without_ash(messages: Sequence[Message]) -> Sequence[Message]:
        return [one for one in messages if "ash" not in words(one)]

    given = BranchSummarySettings(metadata={"user": "u-7"}, convert=without_ash)
    async with branching(settings=Settings(branch_summary=given)) as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        request = only(sent(provider, "branch_summary"))
        assert request.metadata == {"user": "u-7"}
        assert "Say more of ash." not in prompt_of(request)
        assert "Heavy and tough." in prompt_of(request)


async def test_a_configured_model_makes_the_summary() -> None:
    other = Model(provider="scripted", id="cheap", context_window=50_000)
    async with branching(settings=Settings(summary_model=other)) as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        assert only(sent(provider, "branch_summary")).model == other


# What is stored, and where


async def test_the_entry_hangs_where_the_session_goes_on_and_knows_what_was_left() -> None:
    billed = ScriptedAnswer(text=FOUND, usage=usage(300))
    async with branching(summaries=[billed]) as (session, _):
        moved = await session.navigate(at("a1"), summarize=True)

        [summary] = summaries_of(session)
        assert moved.summary == summary
        assert (summary.parent_id, summary.from_id) == ("a1", "a3")
        assert summary.usage is not None
        assert summary.usage.input == 300
        assert summary.from_hook is None
        assert moved.leaf == summary.id == session._wiring.view.leaf
        assert [item.message.role for item in session.context().items] == ["user", "assistant", "branchSummary"]
        assert not session.context().items[-1].unsent


async def test_the_preamble_comes_first_on_lines_of_its_own_and_the_files_last() -> None:
    async with branching() as (session, _):
        moved = await session.navigate(at("a1"), summarize=True)

        assert moved.summary is not None
        assert moved.summary.summary == f"{PREAMBLE}\n\n{FOUND}\n\n<read-files>\nash.md\n</read-files>"
        assert details_of(moved.summary)["readFiles"] == ["ash.md"]
        assert details_of(moved.summary)["modifiedFiles"] == []


async def test_omps_list_is_one_with_marks_and_old_lists_are_taken_out() -> None:
    stale = f"{FOUND}\n\n<read-files>\nold.md\n</read-files>"
    async with branching(settings=OMP, summaries=[stale]) as (session, _):
        moved = await session.navigate(at("a1"), summarize=True)

        assert moved.summary is not None
        assert moved.summary.summary.endswith("1. Look at spruce.\n\n<files>\nash.md (Read)\n</files>")
        assert "old.md" not in moved.summary.summary


async def test_before_the_first_entry_it_is_a_root_of_its_own() -> None:
    async with branching("Yes.") as (session, provider):
        await session.navigate(None, summarize=True)

        [summary] = summaries_of(session)
        assert summary.parent_id is None
        assert [item.message.role for item in session.context().items] == ["branchSummary"]
        await session.prompt("On?")
        assert [message.role for message in sent(provider, "turn")[-1].messages] == ["user", "user"]


async def test_what_comes_behind_it_reads_it() -> None:
    async with branching("Spruce.") as (session, provider):
        await session.navigate(at("a1"), summarize=True)
        outcome = await session.prompt("So?")

        assert isinstance(outcome, Delivered)
        assert any("No ash" in words(message) for message in sent(provider, "turn")[-1].messages)


async def test_files_of_a_nested_summary_go_on_and_those_of_an_extensions_do_not() -> None:
    def nested(name: str, parent: str, path: str, *, hook: bool) -> BranchSummary:
        details = {"readFiles": [path], "modifiedFiles": []}
        return BranchSummary(
            id=at(name),
            parent_id=at(parent),
            timestamp=TIME,
            from_id=at("u1"),
            summary=name,
            details=details,
            from_hook=hook,
        )

    entries = [*chain(*TALK[:2]), nested("b1", "a1", "ours.md", hook=False), nested("b2", "b1", "theirs.md", hook=True)]
    async with branching(entries=entries) as (session, _):
        moved = await session.navigate(at("a1"), summarize=True)

        assert details_of(moved.summary)["readFiles"] == ["ours.md"]


@pytest.mark.parametrize("target", ["a3", "r2"])
async def test_a_move_ahead_leaves_nothing_and_asks_nobody(target: str) -> None:
    async with branching() as (session, provider):
        await session.navigate(at("a1"))
        await session.navigate(at(target), summarize=True)

        assert not provider.requests
        assert not summaries_of(session)
        assert position_of(session) == target


async def test_a_move_without_a_summary_is_in_the_log() -> None:
    """Both systems forget it."""
    async with branching() as (session, _):
        moved = await session.navigate(at("a1"))

        [marker] = markers_of(session)
        assert (marker.custom_type, marker.parent_id) == (LEAF_MARKER, "a1")
        assert moved.leaf == marker.id
        assert moved.summary is None


async def test_a_label_stands_on_the_summary_or_else_on_the_target() -> None:
    async with branching() as (session, _):
        moved = await session.navigate(at("a1"), summarize=True, label="ash")
        await session.navigate(at("u2"), label="question")

        assert moved.summary is not None
        assert dict(session.labels()) == {moved.summary.id: "ash", "u2": "question"}
        assert isinstance(session.entries()[-1], Label)
        assert position_of(session) == "a1"


async def test_each_move_is_one_write() -> None:
    async with branching() as (session, _):
        store: Any = session._wiring.view._store
        written: list[int] = []
        stage = store.stage

        def staged(lines: Sequence[bytes]) -> object:
            written.append(len(lines))
            return stage(lines)

        store.stage = staged
        await session.navigate(at("a1"), summarize=True, label="ash")
        await session.navigate(at("a3"), label="back")

        assert [count for count in written if count] == [2, 2]


# Where it goes


async def test_what_a_user_said_is_handed_back_with_its_images() -> None:
    picture = ImageContent(data="aGVyb24=", mime_type="image/png")
    entries = chain(("u1", user()), ("a1", assistant("A.")), ("u2", user((text("Look "), picture, text("here.")))))
    async with branching(entries=entries) as (session, _):
        moved = await session.navigate(at("u2"))

        assert (moved.text, moved.images) == ("Look here.", (picture,))
        assert position_of(session) == "a1"


async def test_what_an_extension_said_is_handed_back_and_the_first_word_leads_before_all() -> None:
    said = CustomMessageEntry(
        id=at("x1"), parent_id=at("a1"), timestamp=TIME, custom_type="n", content="Hear.", display=True
    )
    async with branching(entries=[*chain(*TALK[:2]), said]) as (session, _):
        assert (await session.navigate(at("x1"))).text == "Hear."
        assert position_of(session) == "a1"
        moved = await session.navigate(at("u1"))

        assert moved.text == "Which wood?"
        assert position_of(session) is None
        assert session.context().items == ()


async def test_who_is_there_already_goes_nowhere_and_nobody_is_asked() -> None:
    asked: list[SessionBeforeTree] = []
    async with branching(extensions=[listening(asked)]) as (session, _):
        before, reader = state_of(session), session.events()
        moved = await session.navigate(at("a3"), summarize=True)

        assert state_of(session) == before
        assert drain(reader) == []
        assert asked == []
        assert moved.leaf == "a3"


async def test_an_unknown_target_is_refused_in_their_words() -> None:
    async with branching() as (session, _):
        before = state_of(session)
        with pytest.raises(Refused, match=r"^Entry nowhere not found$") as refused:
            await session.navigate(at("nowhere"))

        assert refused.value.reason == "unknown-entry"
        assert state_of(session) == before


async def test_without_a_model_there_is_no_summary_and_a_plain_move_goes() -> None:
    nobody = Settings(summary_model=Model(provider="gone", id="away"))
    async with branching(settings=nobody) as (session, _):
        before = state_of(session)
        with pytest.raises(Refused, match=r"^No model available for summarization$"):
            await session.navigate(at("a1"), summarize=True)

        assert state_of(session) == before
        await session.navigate(at("a1"))
        assert position_of(session) == "a1"


# N8: a question that is answered anew


async def _ask(question: str) -> str:
    """Ask the person."""
    return question


def asking() -> Any:

    return tool(name="ask", kind="ask")(_ask)


ASKED: Final = chain(
    ("u1", user("Build an oar.")),
    ("a1", assistant(call("c1", "ask", question="Which wood?"), stop="toolUse")),
    ("r1", result("c1", "Ash.", name="ask")),
    ("a2", assistant("Then ash.")),
)


@pytest.mark.parametrize(("settings", "told"), [(OMP, "[Tool result]: Ash."), (None, "[User]: Ash.")])
async def test_an_answer_given_anew_stands_beside_the_old_one_which_the_summary_is_told_of(
    settings: Settings | None, told: str
) -> None:
    """In pi's manner results are not told: the old answer used to be in neither branch, nor in the summary (N8)."""
    async with branching("Then spruce.", entries=ASKED, tools=[asking()], settings=settings) as (session, provider):
        moved = await session.navigate(at("r1"), answer="Spruce.", summarize=True)

        prompt = prompt_of(only(sent(provider, "branch_summary")))
        assert told in prompt
        assert "Then ash." in prompt
        assert "Build an oar." not in prompt
        items = session.context().items
        assert [item.message.role for item in items] == ["user", "assistant", "toolResult", "branchSummary"]
        assert words(items[2].message) == "Spruce."
        assert moved.summary is not None
        assert moved.summary.parent_id == items[2].entry_id
        assert session._wiring.view.tree.parent(session._wiring.view.tree.index(items[2].entry_id) or 0) == 1
        assert sent(provider, "turn") == [], "the run is not resumed by itself"
        assert (moved.text, moved.images) == ("", ())


async def test_an_answer_without_a_summary_is_the_new_leaf() -> None:
    async with branching("Then spruce.", entries=ASKED, tools=[asking()]) as (session, provider):
        await session.navigate(at("r1"), answer="Spruce.")

        assert markers_of(session) == []
        await session.prompt("Go on.")
        told = sent(provider, "turn")[-1].messages
        assert [words(one) for one in told if isinstance(one, ToolResultMessage)] == ["Spruce."]


@pytest.mark.parametrize("target", ["a1", "u1", None, "nowhere"])
async def test_only_the_result_of_a_tool_that_asks_is_answered_anew(target: str | None) -> None:
    async with branching(entries=ASKED, tools=[asking()]) as (session, _):
        before = state_of(session)
        with pytest.raises(Refused):
            await session.navigate(None if target is None else at(target), answer="Spruce.")

        assert state_of(session) == before


async def test_the_result_of_another_tool_is_not_answered_anew() -> None:
    async with branching(entries=chain(*TALK)) as (session, _):
        with pytest.raises(Refused, match="r2 is no result of a tool that asks"):
            await session.navigate(at("r2"), answer="Ash is light.")


# The hook


def listening(
    asked: list[SessionBeforeTree], answer: Cancel | TreeAnswer | None = None, name: str = "listener"
) -> Extension:
    extension = Extension(name)

    @extension.on(SessionBeforeTree)
    async def hear(question: SessionBeforeTree, context: object) -> Cancel | TreeAnswer | None:
        asked.append(question)
        return answer

    return extension


@pytest.mark.parametrize("summarize", [True, False])
async def test_the_hook_is_asked_whether_or_not_a_summary_is_wanted(summarize: bool) -> None:
    asked: list[SessionBeforeTree] = []
    async with branching(extensions=[listening(asked)]) as (session, _):
        await session.navigate(at("a1"), summarize=summarize, instructions="weights", label="ash")

        [question] = asked
        prepared = question.preparation
        assert (prepared.target_id, prepared.old_leaf_id, prepared.common_ancestor_id) == ("a1", "a3", "a1")
        assert prepared.entry_ids_to_summarize == ("u2", "a2", "r2", "a3")
        assert prepared.user_wants_summary is summarize
        assert (prepared.custom_instructions, prepared.label) == ("weights", "ash")


async def test_the_hook_may_stop_it_and_nothing_is_changed() -> None:
    asked: list[SessionBeforeTree] = []
    stops = [listening(asked, Cancel(reason="not now"), "guard"), listening(asked)]
    async with branching(extensions=stops) as (session, provider):
        before, reader = state_of(session), session.events()
        with pytest.raises(
            NavigationFailed, match="the extension 'guard' cancelled the navigation: not now"
        ) as stopped:
            await session.navigate(at("a1"), summarize=True)

        assert stopped.value.aborted
        assert state_of(session) == before
        assert not provider.requests
        assert len(asked) == 1
        [told] = drain(reader)
        assert isinstance(told, SessionTreeFailed)
        assert (told.aborted, told.from_extension, told.error_message) == (True, True, None)
        await session.navigate(at("a1"), ask_extensions=False)
        assert position_of(session) == "a1"


async def test_the_hook_may_give_the_summary_and_no_model_is_asked() -> None:
    own = TreeAnswer(summary="Ash is out.", details={"mine": 1}, usage=usage(7), label="from the hook")
    async with branching(extensions=[listening([], own)]) as (session, provider):
        reader = session.events()
        moved = await session.navigate(at("a1"), summarize=True)

        assert not provider.requests
        assert moved.summary is not None
        assert (moved.summary.summary, moved.summary.details, moved.summary.from_hook) == (
            "Ash is out.",
            {"mine": 1},
            True,
        )
        assert moved.summary.usage == usage(7)
        assert session.labels()[moved.summary.id] == "from the hook"
        told = drain(reader)[-1]
        assert isinstance(told, SessionTree)
        assert told.from_extension is True


async def test_a_summary_of_the_hooks_that_nobody_asked_for_is_told_and_not_used() -> None:
    """Both systems throw it away in silence."""
    async with branching(extensions=[listening([], TreeAnswer(summary="Ash is out."))]) as (session, _):
        reader = session.events()
        await session.navigate(at("a1"))

        assert summaries_of(session) == []
        assert names(drain(reader)) == ["diagnostic", "entry_appended", "session_tree"]


@pytest.mark.parametrize("summary", ["", "  \n", "x" * 1_048_577])
async def test_a_summary_of_the_hooks_that_is_none_is_written_by_a_model(summary: str) -> None:
    async with branching(extensions=[listening([], TreeAnswer(summary=summary))]) as (session, provider):
        moved = await session.navigate(at("a1"), summarize=True)

        assert len(provider.requests) == 1
        assert moved.summary is not None
        assert moved.summary.from_hook is None


async def test_the_hook_may_change_instructions_and_label_and_later_fields_stand_over_earlier_ones() -> None:
    first = listening([], TreeAnswer(instructions="heights", label="one"), "first")
    second = listening([], TreeAnswer(label="two"), "second")
    async with branching(extensions=[first, second]) as (session, provider):
        moved = await session.navigate(at("a1"), summarize=True, instructions="weights", label="mine")

        prompt = prompt_of(only(sent(provider, "branch_summary")))
        assert "heights" in prompt
        assert "weights" not in prompt
        assert moved.summary is not None
        assert session.labels()[moved.summary.id] == "two"


async def test_a_hook_that_breaks_or_hangs_holds_up_nobody(autojump_clock: trio.testing.MockClock) -> None:
    broken = Extension("broken")

    @broken.on(SessionBeforeTree)
    async def breaks(question: SessionBeforeTree, context: object) -> None:
        raise ValueError("no")

    @broken.on(SessionBeforeTree)
    async def hangs(question: SessionBeforeTree, context: object) -> None:
        await trio.sleep_forever()

    async with branching(extensions=[broken]) as (session, _):
        await session.navigate(at("a1"))

        assert position_of(session) == "a1"
        assert trio.current_time() < 31


# Order, and what fails


async def test_the_summary_is_there_before_anything_moves_and_the_news_comes_last() -> None:
    async with branching(summaries=[ScriptedAnswer(text=FOUND, usage=usage(5))]) as (session, _):
        reader = session.events()
        moved = await session.navigate(at("a1"), summarize=True, label="ash")

        events = drain(reader)
        assert names(events) == ["usage_reported", "entry_appended", "entry_appended", "session_tree"]
        [billed] = [event for event in events if isinstance(event, UsageReported)]
        assert billed.purpose == "branch_summary"
        told = events[-1]
        assert isinstance(told, SessionTree)
        assert (told.old_leaf_id, told.new_leaf_id, told.summary_entry) == ("a3", moved.leaf, moved.summary)
        assert told.from_extension is False


@pytest.mark.parametrize(
    ("answer", "words_of_it"),
    [
        (ScriptedAnswer(error="no such model"), "Branch summarization failed: no such model"),
        (
            ScriptedAnswer(text="## Goal", stop_reason="length"),
            "Branch summarization failed: generation hit the token cap and the summary is incomplete",
        ),
        (ScriptedAnswer(text=" "), "Branch summarization failed: the answer has no text"),
        (
            ScriptedAnswer(text="I look.", calls=(call("c9"),)),
            "Branch summarization failed: attempted to call a tool",
        ),
    ],
)
async def test_a_summary_that_failed_leaves_all_as_it_was(answer: ScriptedAnswer, words_of_it: str) -> None:
    async with branching(summaries=[answer]) as (session, _):
        before, reader = state_of(session), session.events()
        with pytest.raises(NavigationFailed) as failed:
            await session.navigate(at("a1"), summarize=True, label="ash")

        assert str(failed.value) == words_of_it
        assert not failed.value.aborted
        assert state_of(session) == before
        [told] = drain(reader)
        assert isinstance(told, SessionTreeFailed)
        assert (told.error_message, told.aborted, told.from_extension) == (words_of_it, False, False)


async def test_what_was_billed_for_nothing_is_in_the_totals_and_moves_nothing() -> None:
    cut = ScriptedAnswer(text="## Goal", stop_reason="length", usage=usage(90))
    async with branching(summaries=[cut]) as (session, _):
        before = state_of(session)
        with pytest.raises(NavigationFailed):
            await session.navigate(at("a1"), summarize=True)

        [billed] = session.entries()[len(before.lines) :]
        assert isinstance(billed, UsageEntry)
        assert (billed.kind, billed.parent_id, billed.usage.input) == ("branch_summary", "a3", 90)
        assert position_of(session) == "a3"
        assert session.context().messages == before.context.messages
        assert session.stats().by_purpose["branch_summary"].input == 90


async def test_an_abort_settles_at_once_and_leaves_everything(autojump_clock: trio.testing.MockClock) -> None:
    slow = ScriptedAnswer(text=FOUND, wait=60)
    async with branching(summaries=[slow]) as (session, _), trio.open_nursery() as nursery:
        before = state_of(session)
        stopped: list[Exception] = []

        async def move() -> None:
            try:
                await session.navigate(at("a1"), summarize=True)
            except NavigationFailed as failed:
                stopped.append(failed)

        nursery.start_soon(move)
        await trio.sleep(5)
        assert str(session.state) == "navigation"
        await session.abort()

        assert trio.current_time() - 5 < 0.2
        assert session.state == "idle"
        await trio.testing.wait_all_tasks_blocked()
        [failed] = stopped
        assert isinstance(failed, NavigationFailed)
        assert failed.aborted
        assert state_of(session) == before


async def test_a_failed_call_is_tried_again_by_the_one_policy(autojump_clock: trio.testing.MockClock) -> None:
    async with branching(summaries=[ScriptedAnswer(error="overloaded"), FOUND]) as (session, _):
        reader = session.events()
        moved = await session.navigate(at("a1"), summarize=True)

        assert moved.summary is not None
        assert [name for name in names(drain(reader)) if name.startswith("summarization")] == [
            *("summarization_retry_scheduled", "summarization_retry_attempt_start", "summarization_retry_finished")
        ]


# Exclusion


async def test_not_while_an_answer_comes(autojump_clock: trio.testing.MockClock) -> None:
    async with branching(ScriptedAnswer(text="Yes.", wait=9)) as (session, _):
        handle = session.submit("On?")
        await trio.sleep(1)
        before = state_of(session)
        with pytest.raises(Refused) as refused:
            await session.navigate(at("a1"))

        assert (str(refused.value), refused.value.reason) == (RESPONDING, "busy")
        assert state_of(session) == before
        await handle.outcome()


async def test_while_it_goes_on_the_same_words_meet_a_compaction_and_another_move(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with (
        branching(summaries=[ScriptedAnswer(text=FOUND, wait=9)]) as (session, _),
        trio.open_nursery() as nursery,
    ):

        async def move() -> None:
            await session.navigate(at("a1"), summarize=True)

        nursery.start_soon(move)
        await trio.sleep(1)
        for refuse in (session.compact, lambda: session.navigate(None)):
            with pytest.raises(Refused) as refused:
                await refuse()
            assert str(refused.value) == BUSY
        with pytest.raises(Refused) as refused:
            await session.prompt("On?")
        assert str(refused.value) == NAVIGATING


async def test_while_it_is_compacted_nobody_moves(autojump_clock: trio.testing.MockClock) -> None:
    small = Settings(compaction=CompactionSettings(keep_recent_tokens=18))
    slow = ScriptedAnswer(text=FOUND, wait=9)
    async with branching(compactions=[slow], settings=small) as (session, _), trio.open_nursery() as nursery:

        async def compact() -> None:
            with pytest.raises(CompactionFailed):
                await session.compact()

        nursery.start_soon(compact)
        await trio.sleep(1)
        assert session.state == "compaction"
        with pytest.raises(Refused) as refused:
            await session.navigate(at("a1"))

        assert str(refused.value) == BUSY
        await session.abort()


async def test_what_is_said_meanwhile_starts_a_run_on_the_new_branch(autojump_clock: trio.testing.MockClock) -> None:
    slow = ScriptedAnswer(text=FOUND, wait=9)
    async with branching("Spruce.", summaries=[slow]) as (session, provider), trio.open_nursery() as nursery:

        async def move() -> None:
            await session.navigate(at("a1"), summarize=True)

        nursery.start_soon(move)
        await trio.sleep(1)
        handle = session.follow_up("Which then?")
        outcome = await handle.outcome()

        assert isinstance(outcome, Delivered)
        assert [message.role for message in session.context().messages] == [
            "user",
            "assistant",
            "branchSummary",
            "user",
            "assistant",
        ]
        assert isinstance(session.context().messages[2], BranchSummaryMessage)
        assert "No ash" in words(sent(provider, "turn")[-1].messages[2])


@pytest.mark.parametrize("good", [True, False])
async def test_what_waited_before_goes_on_waiting(good: bool) -> None:
    async with branching("Yes.", summaries=[FOUND if good else ScriptedAnswer(error="no such model")]) as (
        session,
        provider,
    ):
        session.steer("Later.")
        await trio.testing.wait_all_tasks_blocked()
        before = session.queue()
        assert before.steering
        try:
            await session.navigate(at("a1"), summarize=True)
        except NavigationFailed:
            assert not good
        await trio.testing.wait_all_tasks_blocked()

        assert session.queue() == before
        assert not sent(provider, "turn")


# N7


async def test_what_the_path_says_is_folded_before_anybody_is_told() -> None:
    async with branching("Yes.") as (session, _):
        await session.set_thinking_level("high")
        await session.append_custom("state", {"n": 1})
        await session.prompt("On?")
        seen: list[tuple[str, int, EntryId | None]] = []
        publish = session._wiring.system.publish

        def told(event: Any) -> int:
            if isinstance(event, SessionTree):
                fold = session._wiring.fold()  # as it stands: nothing is pulled here
                context = fold.context()
                seen.append((context.thinking_level, len(context.items), context.leaf))
            return publish(event)

        session._wiring.system.publish = told  # type: ignore[method-assign]
        moved = await session.navigate(at("a1"))

        assert seen == [("off", 2, moved.leaf)]
        assert session.context().model == ("scripted", "talker")
