"""A file in windows, against the file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.store.windows import Window, reading, windows

FILES = st.lists(st.binary(max_size=40).map(lambda data: data.replace(b"\n", b".")), max_size=12).map(b"\n".join)


@given(FILES, st.integers(1, 60))
def test_windows_are_the_file_and_cut_no_line(data: bytes, block: int) -> None:
    found = [*windows(reading(data), len(data), block)]

    assert b"".join(window.data for window in found) == data
    assert [data[: window.offset] for window in found] == [
        b"".join(window.data for window in found[:nth]) for nth in range(len(found))
    ]
    assert [window.final for window in found] == [False] * (len(found) - 1) + [True]
    assert all(window.data.endswith(b"\n") for window in found[:-1])


@given(FILES, st.integers(1, 60))
def test_a_window_is_no_longer_than_it_must_be(data: bytes, block: int) -> None:
    longest = max(map(len, data.split(b"\n"))) + 1

    assert all(len(window.data) <= max(block, 2 * longest) for window in windows(reading(data), len(data), block))


def test_a_file_that_grew_is_read_as_far_as_was_said_and_one_that_shrank_as_far_as_it_goes() -> None:
    assert [*windows(reading(b"a\nb\nc\n"), 4, 100)] == [Window(0, b"a\nb\n", final=True)]
    assert [*windows(reading(b"a\nb"), 100, 2)] == [Window(0, b"a\n", final=False), Window(2, b"b", final=True)]
    assert [*windows(reading(b"a\n"), 100, 2)] == [Window(0, b"a\n", final=False), Window(2, b"", final=True)]
    assert [*windows(reading(b""), 0, 2)] == [Window(0, b"", final=True)]


def test_a_long_line_is_not_read_over_and_over() -> None:
    data = b"x" * 100_000 + b"\n"
    asked = list[int]()

    def read(offset: int, length: int) -> bytes:
        asked.append(length)
        return data[offset : offset + length]

    [window] = windows(read, len(data), 100)

    assert window == (0, data, True)
    assert sum(asked) < 4 * len(data)
