"""An entry is counted once, and not before somebody asks."""

from __future__ import annotations

import attrs
import pytest

from sapwood.actors.projection.counter import TokenCounter, heuristic
from sapwood.actors.projection.counts import AT_ONCE, Counts, ReadyCounter, Uncounted, go_on, size_of
from sapwood.events.content import ImageContent
from sapwood.events.ids import EntryId
from tests.build import text, user

IMAGE = ImageContent(data="aGk=", mime_type="image/png")
ONE, EDITED, TWO = (EntryId("1"), None), (EntryId("1"), EntryId("9")), (EntryId("2"), None)


@attrs.define
class Source:
    """A counter of characters that has to be loaded, and tells what it was asked to count."""

    looked_at: list[str] = attrs.field(factory=list[str])
    loads: int = 0
    trouble: str | None = None
    parts: int = 1000
    """Characters of the parts that a text is cut into."""

    @property
    def ready(self) -> bool:
        return self.loads > 0

    def counter(self) -> TokenCounter:
        self.loads += 1

        def count(said: str) -> int:
            self.looked_at.append(said)
            return len(said)

        def cut(said: str) -> list[str]:
            return [said[at : at + self.parts] for at in range(0, len(said), self.parts)]

        return TokenCounter(name="o200k_base", text=count, cut=cut)


def test_nothing_is_loaded_until_something_is_counted_and_then_once() -> None:
    source = Source()
    counts = Counts(source)

    assert counts.lacking([Uncounted(ONE, [user("abc")])]) == [Uncounted(ONE, [user("abc")])]
    assert (counts.ready, counts.quick, source.loads) == (False, False, 0)

    assert counts.of(ONE, [user("abc")]) == (3,)
    assert counts.name() == "o200k_base"
    assert (counts.ready, counts.quick, source.loads) == (True, False, 1)


def test_an_entry_is_counted_once_and_anew_after_an_edit() -> None:
    source = Source()
    counts = Counts(source)

    assert list(counts.counting([Uncounted(ONE, [user("abc"), user("de")]), Uncounted(EDITED, [user("f")])])) == [
        3,
        2,
        1,
    ]
    assert list(counts.counting([Uncounted(ONE, [user("never looked at")])])) == []

    assert [counts.of(key, [user("never looked at")]) for key in (ONE, EDITED, ONE)] == [(3, 2), (1,), (3, 2)]
    assert source.looked_at == ["abc", "de", "f"]
    assert counts.lacking([Uncounted(ONE, []), Uncounted(TWO, [])]) == [Uncounted(TWO, [])]


def test_an_image_counts_what_the_model_says_but_by_the_heuristic_what_pi_says() -> None:
    assert Counts(Source()).of(ONE, [user((IMAGE,))]) == (1200,)
    assert Counts(Source(), image_tokens=85).of(ONE, [user((IMAGE,))]) == (85,)
    assert Counts(Source(), image_tokens=0).of(ONE, [user((IMAGE,))]) == (0,)
    fixed = ReadyCounter(attrs.evolve(heuristic))
    assert Counts(fixed, image_tokens=85).of(ONE, [user((IMAGE,))]) == (1200,)


def test_the_heuristic_is_there_at_once() -> None:
    counts = Counts(ReadyCounter(heuristic))

    assert (counts.ready, counts.quick, counts.name()) == (True, True, "heuristic")
    assert (counts.trouble, counts.warning()) == (None, None)


def test_preparing_loads_the_counter() -> None:
    source = Source()

    Counts(source).prepare()

    assert source.loads == 1


def test_that_another_counter_counts_is_said_once_and_stays_known() -> None:
    counts = Counts(Source(trouble="no ranks"))

    assert [counts.warning(), counts.warning(), counts.trouble] == ["no ranks", None, "no ranks"]
    assert Counts(Source()).warning() is None


def test_what_is_lacking_has_a_size_as_far_as_anybody_cares() -> None:
    lacking = [Uncounted(ONE, [user("12345"), user((text("67"), IMAGE))]), Uncounted(TWO, [user("89")])]

    assert size_of(lacking, 100) == 9
    assert size_of(lacking, 7) == 9
    assert size_of(lacking, 6) == 7


@pytest.mark.parametrize(("size", "much"), [(0, False), (AT_ONCE, False), (AT_ONCE + 1, True)])
def test_what_holds_up_nobody_is_counted_in_place_by_a_counter_that_is_there(size: int, *, much: bool) -> None:
    source, lacking = Source(), [Uncounted(ONE, [user("x" * size)])]
    counts = Counts(source)

    assert (counts.is_much(lacking), counts.belong_elsewhere(lacking), source.loads) == (much, True, 0)
    assert counts.belong_elsewhere([]) is False
    counts.prepare()
    assert (counts.is_much(lacking), counts.belong_elsewhere(lacking)) == (much, much)
    assert source.looked_at == []


def test_nothing_is_much_for_the_heuristic() -> None:
    lacking = [Uncounted(ONE, [user("x" * (AT_ONCE + 1))])]

    assert (Counts().is_much(lacking), Counts().belong_elsewhere(lacking)) == (False, False)


def test_an_entry_is_counted_a_part_of_a_text_at_a_step_and_known_when_all_of_it_is() -> None:
    source = Source(parts=3)
    counts = Counts(source)
    counting = counts.counting(
        [Uncounted(ONE, [user("1234567"), user((text("89"), IMAGE))]), Uncounted(TWO, [user("a")])]
    )

    assert go_on(counting, 6) is True
    assert source.looked_at == ["123", "456"]
    assert counts.lacking([Uncounted(ONE, []), Uncounted(TWO, [])]) == [Uncounted(ONE, []), Uncounted(TWO, [])]
    assert go_on(counting, 4) is True
    assert go_on(counting, 2) is False
    assert source.looked_at == ["123", "456", "7", "89", "a"]
    assert (counts.of(ONE, []), counts.of(TWO, [])) == ((7, 1202), (1,))


def test_what_was_counted_is_known_and_nothing_is_counted_for_the_question() -> None:
    source = Source()
    counts = Counts(source)
    assert (counts.known(ONE), source.loads) == (None, 0)

    counts.of(ONE, [user("abc"), user("d")])

    assert counts.known(ONE) == (3, 1)
    assert (counts.known(EDITED), counts.known(TWO)) == (None, None)


def test_a_text_is_counted_in_parts_and_not_remembered() -> None:
    source = Source(parts=4)
    counts = Counts(source)

    assert [counts.of_text(""), counts.of_text("abc"), counts.of_text("abcdefghij"), counts.of_text("abc")] == [
        *(0, 3, 10, 3),
    ]
    assert source.looked_at.count("abc") == 2
    assert source.looked_at[-4:-1] == ["abcd", "efgh", "ij"]


def test_a_text_by_the_heuristic_is_rounded_up_as_a_whole() -> None:
    assert [Counts().of_text("x" * size) for size in (0, 1, 4, 5, 4000, 40_001)] == [0, 1, 1, 2, 1000, 10_001]
