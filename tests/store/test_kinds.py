"""Kinds by place, against a list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.store.kinds import Kinds

WORDS = st.sampled_from(["message", "label", "compaction", "from.tomorrow"])


@given(st.lists(st.lists(WORDS, max_size=4)), st.sets(WORDS), st.data())
def test_they_are_where_they_were_put_whether_one_by_one_or_at_once(
    said: list[list[str]], wanted: set[str], data: st.DataObject
) -> None:
    kinds, every = Kinds(), list[str]()
    for part in said:
        if data.draw(st.booleans()):
            kinds.extend(part)
        else:
            for one in part:
                kinds.append(one)
        every += part
        assert [*kinds.places_of("label")] == [place for place, kind in enumerate(every) if kind == "label"]
    path = [place for place in range(len(every)) if data.draw(st.booleans())]

    assert [kinds[place] for place in range(len(every))] == every
    assert [*kinds.latest(path, wanted)] == [place for place in path if every[place] in wanted][::-1]


def test_what_the_log_has_none_of_is_not_looked_for() -> None:
    class Unwalkable(list[int]):
        def __reversed__(self) -> None:  # type: ignore[override]  # a path that must not be walked
            raise AssertionError

    kinds = Kinds()
    kinds.append("message")

    assert [*kinds.latest(Unwalkable([0]), ["label"])] == []
    assert kinds.places_of("label") == ()
