"""A key comes from where the host says, and is shown nowhere (M1)."""

from __future__ import annotations

import traceback

import pytest
import trio

from sapwood.actors.model.credentials import Credentials, KeySource
from sapwood.events.errors import ProviderError, Refused

KEY = "sk-very-secret"


async def test_a_key_is_given_or_brought(monkeypatch: pytest.MonkeyPatch) -> None:
    async def later() -> str:
        return f" {KEY}\n"

    monkeypatch.setenv("MY_KEY", KEY)
    for source in (KEY, lambda: KEY, later, Credentials.environment("MY_KEY"), Credentials.given(KEY)):
        credentials = Credentials.of(source)
        assert credentials is not None
        assert await credentials.key() == KEY
        assert KEY not in repr(credentials) + str(credentials) + str(vars(credentials))
    assert Credentials.of(None) is None


async def test_a_variable_is_read_at_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = Credentials.environment("MY_KEY")
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(ProviderError, match=r"no API key \(environment variable MY_KEY\)") as caught:
        await credentials.key()
    assert caught.value.kind == "auth"
    monkeypatch.setenv("MY_KEY", KEY)

    assert await credentials.key() == KEY


@pytest.mark.parametrize("key", [f"{KEY}\r\nx: y", f"{KEY}\x00", f"{KEY} {KEY}", f"{KEY}é"], ids=repr)
async def test_what_no_header_can_bear_is_told_without_it(key: str) -> None:
    """A library used to repeat the whole of it."""
    with pytest.raises(ProviderError) as caught:
        await Credentials.given(key).key()

    assert caught.value.kind == "auth"
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("key", [7, b"sk", ["sk"]], ids=repr)
def test_what_is_no_key_is_refused(key: object) -> None:
    with pytest.raises(Refused, match="a key is text, a function that gives one, or Credentials"):
        Credentials.of(key)


async def test_a_function_that_gives_no_text_gives_no_key() -> None:
    with pytest.raises(ProviderError, match="no API key"):
        await Credentials.function(lambda: None).key()  # type: ignore[arg-type, return-value]


def _raises() -> str:
    raise ValueError(f"no such account: {KEY}")


async def _raises_later() -> str:
    await trio.lowlevel.checkpoint()
    raise ValueError(f"no such account: {KEY}")


@pytest.mark.parametrize("source", [_raises, _raises_later])
async def test_of_what_a_function_raises_only_the_type_is_told(source: KeySource) -> None:
    """It used to go out as it was, with the key in its words."""
    with pytest.raises(ProviderError, match=r"no API key \(a function\): looking for it raised ValueError$") as caught:
        await Credentials.function(source).key()

    assert caught.value.kind == "auth"
    assert KEY not in "".join(traceback.format_exception(caught.value))
