"""Secrets and their names: hidden everywhere, shown again whole, and refused where that could not be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing.veil import NOTHING, Veil
from sapwood.events.errors import RedactionFailed

KEY = "sk-4711"
VEIL = Veil({"[[KEY]]": KEY, "[[HOST]]": "db.internal"})


def keys(text: str) -> Mapping[str, str]:
    """A host's redactor: it finds keys, and names them by their numbers."""
    return {found: f"[[KEY {found[3:]}]]" for found in re.findall(r"sk-\d+", text)}


def test_what_is_hidden_is_shown_again() -> None:
    text = f"use {KEY}, on db.internal:{KEY}"

    assert VEIL.hide(text) == "use [[KEY]], on [[HOST]]:[[KEY]]"
    assert VEIL.show(VEIL.hide(text)) == text


def test_nothing_is_a_secret_until_somebody_says_so() -> None:
    assert (NOTHING.hide(KEY), NOTHING.show("[[KEY]]"), NOTHING.settled("[[KE")) == (KEY, "[[KEY]]", 4)


def test_the_longest_secret_and_the_longest_name_come_first() -> None:
    veil = Veil({"<A>": "sk-4", "<A>B": "sk-4711"})

    assert veil.hide("sk-4711 sk-4") == "<A>B <A>"
    assert veil.show("<A>B <A>") == "sk-4711 sk-4"


def test_of_two_names_the_first_is_used_and_both_are_shown() -> None:
    veil = NOTHING.knowing({"<A>": KEY}).knowing({"<B>": KEY})

    assert (veil.hide(KEY), veil.show("<A><B>")) == ("<A>", KEY + KEY)


def test_a_secret_that_was_found_once_is_hidden_in_every_text() -> None:
    veil = NOTHING.knowing(NOTHING.found(keys, ["here: sk-4711", "nothing"]))

    assert veil.hide("and sk-4711 again") == "and [[KEY 4711]] again"
    assert veil.knowing({"[[KEY 4711]]": KEY}) is veil


def test_a_name_that_comes_back_is_no_secret() -> None:
    """A redactor that goes by what stands before a secret finds the name there."""
    veil = Veil({"[[1]]": "oak"})

    def behind(text: str) -> Mapping[str, str]:
        return {found: f"[[{len(found)}]]" for found in re.findall(r"key=(\S+)", text)}

    assert veil.found(behind, ["key=[[1]]", "key=[[1]],x", "key=birch"]) == {"[[5]]": "birch"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "a mapping from secrets to names, not a NoneType"),
        ([("a", "b")], "a mapping from secrets to names, not a list"),
        ({"": "x"}, "each is text that is not empty"),
        ({"x": ""}, "each is text that is not empty"),
        ({1: "x"}, "each is text that is not empty"),
        ({"x": b"y"}, "each is text that is not empty"),
        ({"oak": "tree", "ash": "tree"}, "one name to two secrets"),
    ],
)
def test_an_answer_that_is_none_is_refused(answer: Any, why: str) -> None:
    with pytest.raises(RedactionFailed, match=why):
        NOTHING.found(lambda _: answer, ["text"])


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"<A>": "ash"}, "one name to two secrets"),
        ({"<oak>": "ash"}, "a name that contains a secret"),
        ({"<B>": "A"}, "a name that contains a secret"),
    ],
)
def test_a_name_that_could_not_be_undone_is_refused_and_changes_nothing(more: dict[str, str], why: str) -> None:
    veil = Veil({"<A>": "oak"})

    with pytest.raises(RedactionFailed, match=why) as failed:
        veil.knowing(more)

    assert failed.value.kind == "redaction"
    assert not failed.value.retryable
    assert veil.secrets == {"<A>": "oak"}


def test_a_secret_that_comes_together_where_another_one_was_is_not_sent() -> None:
    veil = Veil({"-": "xx", "+": "a-b"})

    with pytest.raises(RedactionFailed, match="came together again"):
        veil.hide("axxb")


@pytest.mark.parametrize(
    ("text", "settled"),
    [("", 0), ("use", 3), ("use [", 4), ("use [[KE", 4), ("use [[KEY]]", 11), ("use [[KEX", 9), ("[[KEY]][[HO", 7)],
)
def test_what_may_be_the_beginning_of_a_name_waits(text: str, settled: int) -> None:
    assert VEIL.settled(text) == settled


def shown_in_pieces(veil: Veil, pieces: list[str]) -> str:
    said, waiting = "", ""
    for piece in pieces:
        waiting += piece
        end = veil.settled(waiting)
        said, waiting = said + veil.show(waiting[:end]), waiting[end:]
    return said + veil.show(waiting)


@given(
    st.lists(st.text("ab[", min_size=1, max_size=4), min_size=1, max_size=4, unique=True),
    st.lists(st.text("ab[", max_size=3), max_size=12),
)
def test_however_a_text_is_cut_it_is_shown_as_the_whole_would_be(names: list[str], pieces: list[str]) -> None:
    veil = Veil({name: f"<{at}>" for at, name in enumerate(names)})

    assert shown_in_pieces(veil, pieces) == veil.show("".join(pieces))


@given(
    st.dictionaries(st.text("XYZ", min_size=2, max_size=2), st.text("abc", min_size=1, max_size=3), max_size=4),
    st.text("abc ", max_size=30),
)
def test_nothing_secret_is_left_and_all_of_it_comes_back(secrets: dict[str, str], text: str) -> None:
    veil = Veil(secrets)

    hidden = veil.hide(text)

    assert not any(secret in hidden for secret in secrets.values())
    assert veil.show(hidden) == text


def test_within_json_names_and_secrets_are_as_json_writes_them() -> None:
    veil = Veil({'<"é">': 'a"b\nc'})

    shown = veil.within_json().show(json.dumps({"key": '<"é">'}, ensure_ascii=False))

    assert json.loads(shown) == {"key": 'a"b\nc'}
