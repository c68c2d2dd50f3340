"""What is secret in a request, and what is left of a text without it."""

from __future__ import annotations

import pytest

from sapwood.actors.model.masking import LONG, MASK, mask, without_login

KEY = "sk-a/b+c=0123456789"
TOKEN = "gateway-0123456789abcdef"  # noqa: S105 - nobody's


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"x{KEY}x{KEY}",
        "https://a/?key=sk-a%2Fb%2Bc%3D0123456789",
        '{"said": "sk-a\\/b+c=0123456789"}',
    ],
)
def test_a_key_is_hidden_wherever_and_however_it_stands(text: str) -> None:
    hides = mask(KEY)
    for hide in (hides.told, hides.said):
        assert MASK in hide(text)
        assert "0123456789" not in hide(text)
        assert hide("no such key") == "no such key"


def test_what_a_page_or_json_writes_otherwise_is_found() -> None:
    quoted = 'a"b<c>d&e\\f0123456789'
    hides = mask(quoted)
    assert hides.told('{"k": "a\\"b<c>d&e\\\\f0123456789"}') == f'{{"k": "{MASK}"}}'
    assert hides.told("<p>a&quot;b&lt;c&gt;d&amp;e\\f0123456789</p>") == f"<p>{MASK}</p>"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("authorization", f"Bearer {TOKEN}"),
        ("Proxy-Authorization", f"Basic {TOKEN}=="),
        ("x-api-key", TOKEN),
        ("cf-access-client-secret", TOKEN),
        ("X-Auth-Token", TOKEN),
        ("cookie", f"theme=dark; login={TOKEN}; a=b"),
    ],
)
def test_what_a_header_for_secrets_bears_is_secret_and_so_is_its_part(name: str, value: str) -> None:
    hides = mask(headers={name: value})
    for hide in (hides.told, hides.said):
        assert TOKEN not in hide(f"who is {TOKEN}?")
        assert TOKEN not in hide(f"who is {value}?")
        assert hide("Bearer of a dark theme") == "Bearer of a dark theme"


def test_what_other_headers_say_is_none() -> None:
    hides = mask(headers={"anthropic-beta": TOKEN, "x-title": "forest", "user-agent": "sapwood"})
    assert hides.told(f"{TOKEN} of the forest") == f"{TOKEN} of the forest"


def test_a_login_in_an_address_is_secret() -> None:
    url = "https://me:p%40ss-word@models.test/v1"
    assert mask(url=url).told("no p%40ss-word, no p@ss-word") == f"no {MASK}, no {MASK}"
    assert without_login(url) == f"https://{MASK}@models.test/v1"
    assert without_login("https://models.test/v1@2") == "https://models.test/v1@2"


@pytest.mark.parametrize("key", ["x", "none", "EMPTY", "ollama", "lm-studio", "context"])
def test_a_word_that_is_no_secret_spoils_neither_an_answer_nor_what_a_failure_says(key: str) -> None:
    """With the key `x` a full window used to read `e[key]ceeded`, and was not understood."""
    hides = mask(key)
    assert hides.said(f'{{"text": "run {key}", "finish_reason": "none"}}') == (
        f'{{"text": "run {key}", "finish_reason": "none"}}'
    )
    assert hides.told("the contexts exceeded 8192") == "the contexts exceeded 8192"
    assert hides.told(f"bad key {key}.") == f"bad key {MASK}."


def test_a_secret_is_long_from_a_length_on() -> None:
    assert mask("k" * LONG).said("k" * LONG) == MASK
    assert mask("k" * (LONG - 1)).said("k" * (LONG - 1)) == "k" * (LONG - 1)


def test_where_nothing_is_secret_nothing_changes() -> None:
    assert mask().told("a key") == "a key"
    assert mask().said("a key") == "a key"
