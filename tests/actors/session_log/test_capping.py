"""Long texts keep their ends, no character is cut, and what is left out is told truthfully (S12; M02, M04 in tests/faults)."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Final

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.session_log.capping import _MARKER, MOST_BYTES, WIDEST, cap, cap_all, too_large, too_long
from sapwood.events.models import LEAST_TEXT_BYTES

FAMILY: Final = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
SCOTLAND: Final = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
FLAGS: Final = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"
ACCENTS: Final = "e\u0301o\u0308\u0323"
CONJUNCT: Final = "\u0915\u094d\u0937\u093f"
TEXTS: Final = {
    "plain": "The quick brown fox jumps over the lazy dog, and then does it again. ",
    "families": FAMILY * 8,
    "flags": "x" + FLAGS * 12,
    "flags of parts": SCOTLAND * 8,
    "accents": ACCENTS * 20,
    "towers of accents": ("a" + "\u0301" * 50) * 4,
    "CJK": "漢字かな交じり文" * 8,
    "syllables in parts": "\u1112\u1161\u11ab\u1100\u1173\u11af" * 10,
    "conjuncts": CONJUNCT * 12,
    "line ends": "a\r\n" * 50,
    "line ends alone": "\r\n" * 60,
    "carriage returns": "\r" * 120,
    "all at once": f"x{FAMILY}{FLAGS}\r\n{ACCENTS}漢\n{CONJUNCT}{SCOTLAND}\r" * 3,
}
MARKED: Final = re.compile(r"(?:(.*)\n)?\[\.\.\. ([\d,]+) of ([\d,]+) bytes left out \.\.\.\](?:\n(.*))?", re.DOTALL)


def size(words: str) -> int:
    return len(words.encode())


def number(words: str) -> int:
    assert words == f"{int(words.replace(',', '')):,}"
    return int(words.replace(",", ""))


def parts(capped: str) -> tuple[str, int, int, str]:
    found = MARKED.fullmatch(capped)
    assert found is not None, capped
    return found[1] or "", number(found[2]), number(found[3]), found[4] or ""


def marker(of: int) -> str:
    return f"[... {of:,} of {of:,} bytes left out ...]"


def clusters(words: str) -> list[str]:
    return [found[0] for found in regex.finditer(r"\X", words)]


def check(words: str, limit: int) -> None:
    """All that M02 asks of one cut: and that no more is left out than must be."""
    capped = cap(words, limit)
    head, left_out, full, tail = parts(capped)
    before, after = clusters(head), clusters(tail)
    whole = clusters(words)

    assert size(capped) <= limit
    assert (full, left_out) == (size(words), size(words) - size(head) - size(tail))
    assert before == whole[: len(before)]
    assert after == whole[len(whole) - len(after) :]
    room = max(0, limit - size(f"\n{marker(full)}\n"))
    assert size(head) <= room // 2 < size(head + whole[len(before)])
    assert size(tail) <= room - room // 2 < size(whole[len(whole) - len(after) - 1] + tail)


@pytest.mark.parametrize("name", TEXTS)
def test_at_every_limit_from_the_marker_on_no_character_is_cut_and_the_marker_is_true(name: str) -> None:
    words = TEXTS[name]

    for limit in range(size(marker(size(words))), size(words)):
        check(words, limit)
    for limit in (size(words), size(words) + 1):
        assert cap(words, limit) is words


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "x", "x" * 300])
def test_a_long_row_of_flags_is_cut_between_two_of_them_wherever_it_began(before: str) -> None:
    words = before + FLAGS * 100 + "x"

    for limit in range(size(marker(size(words))), size(words), 7):
        check(words, limit)


@pytest.mark.parametrize("unit", [FAMILY, SCOTLAND, "a" + "\u0301" * (WIDEST - 1), CONJUNCT])
def test_far_from_the_ends_clusters_are_told_apart_as_well(unit: str) -> None:
    words = "x" + unit * (4 * WIDEST // len(unit) + 1)

    for limit in range(size(marker(size(words))), size(words), 7):
        check(words, limit)


def test_what_is_wider_than_any_character_may_be_cut_and_stays_within_the_limit() -> None:
    words = "a" + "\u0301" * 5000
    capped = cap(words, 1000)
    head, left_out, full, tail = parts(capped)

    assert 1000 - 4 * 3 * WIDEST < size(capped) <= 1000
    assert words.startswith(head)
    assert words.endswith(tail)
    assert (full, left_out) == (10_001, 10_001 - size(head) - size(tail))


def test_a_text_keeps_its_head_and_its_tail_with_a_line_of_its_own_between() -> None:
    words = "a" * 100 + "b" * 100

    assert cap(words, 60) == "a" * 11 + "\n[... 177 of 200 bytes left out ...]\n" + "b" * 12
    assert cap(words, 38) == "\n[... 199 of 200 bytes left out ...]\nb"


def test_where_the_marker_has_no_room_there_is_as_much_of_it_as_fits() -> None:
    words = "a" * 200

    assert cap(words, 35) == cap(words, 37) == marker(200)
    assert cap(words, 20) == "[... 200 of 200 byte"
    assert cap(words, 0) == cap(words, -1) == ""


@given(st.text(max_size=80), st.integers(-1, 300))
def test_whatever_the_text_the_limit_holds_and_a_second_time_changes_nothing(words: str, limit: int) -> None:
    capped = cap(words, limit)

    assert size(capped) <= max(0, limit)
    assert cap(capped, limit) == capped
    assert size(words) > limit or capped is words


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["\r 50% [=====>     ]" * 41_000 * 6, "x" * 5_000_000, bytes(range(256)).decode(errors="replace") * 9000]
)
def test_the_cap_knows_no_lines(words: str) -> None:
    """41,000 redrawn progress bars were one line of 4.4 MB, and a limit of lines let them pass."""
    capped = cap(words, MOST_BYTES)
    head, left_out, full, tail = parts(capped)

    assert MOST_BYTES - 8 < size(capped) <= MOST_BYTES
    assert (full, left_out) == (size(words), size(words) - size(head) - size(tail))
    assert words.startswith(head)
    assert words.endswith(tail)


def test_the_first_texts_take_what_they_need_and_the_later_ones_what_is_left() -> None:
    first, second, third = cap_all(["a" * 300, "b" * 800, "c" * 900], 600)

    assert first == "a" * 300
    # 64 bytes are kept for the third
    assert size(second) == 600 - 300 - 64
    assert parts(second)[1:3] == (800 - 236 + 37, 800)
    assert size(third) == 64
    assert third == "c" * 13 + "\n[... 873 of 900 bytes left out ...]\n" + "c" * 14


def test_a_short_text_is_whole_behind_one_that_is_too_long() -> None:
    first, second, third = cap_all(["a" * 900, "short", ""], 200)

    assert (size(first), second, third) == (195, "short", "")


def test_texts_that_fit_together_are_the_same_objects() -> None:
    texts = ["漢" * 10, "b" * 70]

    assert cap_all(texts, 100) is texts
    assert cap_all([], 0) == []
    assert [size(one) for one in cap_all(texts, 99)] == [30, 69]


def test_of_too_many_texts_the_last_that_has_room_stands_for_the_rest() -> None:
    texts = [str(n) * 100 for n in range(5)]
    capped = cap_all(texts, 3 * LEAST_TEXT_BYTES)

    assert sum(map(size, capped)) == 3 * LEAST_TEXT_BYTES
    assert [parts(one)[2] for one in capped[:3]] == [100, 100, 302]
    assert capped[2].endswith("4" * 14)
    assert capped[3:] == ["", ""]
    assert [size(one) for one in cap_all(texts, 2 * LEAST_TEXT_BYTES - 1)] == [127, 0, 0, 0, 0]
    assert cap_all(texts, 10) == ["[... 504 o", "", "", "", ""]


@given(st.lists(st.text(max_size=100), max_size=8), st.integers(0, 500))
def test_together_they_obey_the_limit_and_a_second_time_changes_nothing(texts: list[str], limit: int) -> None:
    capped = cap_all(texts, limit)

    assert len(capped) == len(texts)
    assert sum(map(size, capped)) <= limit
    assert cap_all(capped, limit) is capped


def test_a_text_over_the_limit_is_told_by_its_bytes() -> None:
    assert too_long("aé漢", 6) is None
    assert too_long("aé漢", 5) == 6
    assert too_long("\ud800", 2) == 3
    assert too_long("a" * MOST_BYTES) is None
    assert too_long("a" * MOST_BYTES + "b") == 1_048_577


def test_who_caps_nothing_loads_no_rules_of_characters() -> None:
    probe = "import sapwood.actors.session_log.capping as c, sys; c.cap('a', 1); print('regex' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "False\n"


def test_what_a_text_is_left_at_least_holds_the_marker_of_any_text() -> None:
    most = 10**12 - 1

    assert len(f"\n{_MARKER.format(left_out=most, size=most)}\n") <= LEAST_TEXT_BYTES
    assert cap("x" * 10_000, LEAST_TEXT_BYTES).count("bytes left out ...]") == 1


def test_state_has_no_middle_to_be_left_out_so_it_is_too_large_or_kept() -> None:
    assert too_large({"a": "x" * (MOST_BYTES - 8)}) is None
    assert "this has 1,048,577" in (too_large({"a": "x" * (MOST_BYTES - 7)}) or "")
