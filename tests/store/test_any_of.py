"""Several containers seen as one."""

from __future__ import annotations

from sapwood.store.any_of import AnyOf


def test_what_is_in_one_of_them_is_in_it_and_nothing_else() -> None:
    held, fresh = {"a": 1}, {"b"}
    either = AnyOf(held, fresh)

    assert [one in either for one in ("a", "b", "c")] == [True, True, False]
    held["c"] = 2
    assert "c" in either
    assert "a" not in AnyOf()


def test_what_is_no_text_is_no_id() -> None:
    odd: list[object] = [5, [], None]

    assert [one in AnyOf({"a"}, {}) for one in odd] == [False] * 3
