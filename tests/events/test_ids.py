"""Ids: their format, and that no two are the same."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.errors import InvalidSessionId, Refused
from sapwood.events.ids import check_session_id, new_entry_id, new_session_id

RULE = (  # Pi's words
    "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', "
    "and start and end with an alphanumeric character"
)
MS = 1_767_225_600_000


def always(byte: int) -> Callable[[int], bytes]:
    return lambda size: bytes([byte]) * size


class Everything(Container[str]):
    """Takes every id up to a length."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.asked: list[str] = []

    def __contains__(self, candidate: object) -> bool:
        assert isinstance(candidate, str)
        self.asked.append(candidate)
        return len(candidate) <= self.longest


@given(noise=st.binary(min_size=4, max_size=4))
def test_an_entry_id_is_eight_hex_characters(noise: bytes) -> None:
    made = new_entry_id(lambda size: noise[:size], ())

    assert made == noise.hex()
    assert len(made) == 8


def test_a_taken_id_is_passed_over() -> None:
    answers = iter([b"\x00\x00\x00\x01", b"\x00\x00\x00\x01", b"\x00\x00\x00\x02"])

    assert new_entry_id(lambda size: next(answers), {"00000001"}) == "00000002"


def test_an_id_grows_when_the_short_ones_collide() -> None:
    taken = {"00" * 4}

    assert new_entry_id(always(0), taken) == "00" * 8
    assert new_entry_id(always(0), {*taken, "00" * 8}) == "00" * 16


def test_it_is_asked_of_every_id_and_not_for_ever() -> None:
    taken = Everything(longest=16)

    made = new_entry_id(always(7), taken)

    assert made == "07" * 16
    assert [len(candidate) for candidate in taken.asked] == [8] * 8 + [16] * 8 + [32]


@given(taken=st.sets(st.binary(min_size=1, max_size=1), max_size=255), random=st.randoms(use_true_random=False))
def test_a_new_id_is_never_one_of_the_file(taken: set[bytes], random: Random) -> None:
    ids = {(byte * 4).hex() for byte in taken}

    def repeated(size: int) -> bytes:
        return random.randbytes(1) * size

    assert new_entry_id(repeated, ids) not in ids


@given(now=st.integers(0, 2**48 - 1), noise=st.binary(min_size=10, max_size=10))
def test_a_session_id_is_a_uuid_of_version_7(now: int, noise: bytes) -> None:
    made = new_session_id(now, lambda size: noise[:size])

    parsed = uuid.UUID(made)
    assert str(parsed) == made
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == now
    # 74 bits of the 80 that were given
    assert ((parsed.int >> 64 & 0xFFF) << 62 | parsed.int & ((1 << 62) - 1)) == int.from_bytes(noise, "big") % 2**74


@given(
    earlier=st.integers(0, 2**48 - 2),
    steps=st.integers(1, 1000),
    noises=st.tuples(*[st.binary(min_size=10, max_size=10)] * 2),
)
def test_a_later_session_sorts_later(earlier: int, steps: int, noises: tuple[bytes, bytes]) -> None:
    later = min(earlier + steps, 2**48 - 1)

    first = new_session_id(earlier, lambda size: noises[0])
    second = new_session_id(later, lambda size: noises[1])

    assert first < second


def test_the_layout_is_rfc_9562s() -> None:
    # appendix A.6 of the RFC: 22 February 2022, rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F
    noise = (0xCC3 << 62 | 0x18C4DC0C0C07398F).to_bytes(10, "big")

    assert new_session_id(0x017F22E279B0, lambda size: noise) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"


@pytest.mark.parametrize(
    "text", ["a", "Z", "0", "a.b", "a-b_c.d", "a--b", "a..b", "A" * 300, new_session_id(MS, always(1))]
)
def test_a_session_id_that_keeps_pis_rule_is_taken(text: str) -> None:
    assert check_session_id(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a ",
        " a",
        "-",
        "-a",
        "a-",
        ".a",
        "a.",
        "_a",
        "a_",
        "a/b",
        "a\\b",
        "..",
        "a\n",
        "\na",
        "é",
        "aéb",
        "a\0b",
        "٣",
        "ａ",
    ],
)
def test_a_session_id_that_breaks_it_is_refused_with_pis_words(text: str) -> None:
    with pytest.raises(InvalidSessionId) as caught:
        check_session_id(text)

    assert str(caught.value) == RULE
    assert caught.value.session_id == text
    assert isinstance(caught.value, Refused)
    assert caught.value.reason == "bad-input"
