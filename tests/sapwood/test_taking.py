"""What a host hands in is taken, or refused in words that say what to give."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from sapwood import Environment, ImageContent, Model, Refused, Scripted, Store, SystemPrompt
from sapwood.actors.kernel import Receipt, Verdict
from sapwood.actors.session_log.capping import MOST_BYTES
from sapwood.events.base import Json
from sapwood.events.ids import EntryId
from sapwood.events.runtime import AgentStart
from sapwood.store.memory import MemoryStore
from sapwood.taking import (
    take_environment,
    take_event,
    take_flag,
    take_folder,
    take_images,
    take_input,
    take_json,
    take_model,
    take_path,
    take_place,
    take_providers,
    take_session_id,
    take_since,
    take_system_prompt,
    take_tap,
)
from tests.build import HEADER, MODEL, MS

IMAGE = ImageContent(data="aGk=", mime_type="image/png")
UNTYPED: Any = ImageContent
"""For what a type checker would see, and a program at work does not."""


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"s.jsonl"


class Nameless:
    id = 5

    def stream(self, request: object) -> None: ...


class Tapping:
    async def receipt(self, receipt: Receipt) -> Verdict:
        return "handle"

    async def operation(self, actor: str, operation: str, phase: str) -> None: ...


def refused(take: Any, *given: Any) -> str:
    with pytest.raises(Refused) as caught:
        take(*given)
    assert caught.value.reason == "bad-input"
    return str(caught.value)


@pytest.mark.parametrize("path", ["s.jsonl", Path("s.jsonl")])
def test_a_path_is_text_or_tells_its_text(path: str | Path) -> None:
    assert take_path(path) == take_place(path) == "s.jsonl"


@pytest.mark.parametrize("path", [5, None, [], object(), Path, b"s.jsonl", BytesPath(), MemoryStore(HEADER)])
def test_what_names_no_file_is_refused(path: object) -> None:
    assert "is named by a str or a pathlib.Path, not by" in refused(take_path, path)


@pytest.mark.parametrize("path", [b"s.jsonl", BytesPath()])
def test_a_path_of_bytes_is_refused_with_the_way_to_text(path: object) -> None:
    assert "os.fsdecode" in refused(take_path, path)
    assert "os.fsdecode" in refused(take_place, path)


def test_a_folder_is_absolute_and_need_not_be_there() -> None:
    assert take_folder(None) is None
    assert take_folder(Path("/no/such/folder")) == take_folder("/no/such/folder") == "/no/such/folder"
    assert "absolute, for it is kept in its file: not 'work'" in refused(take_folder, "work")
    assert "is named by a str or a pathlib.Path" in refused(take_folder, 5)


def test_none_is_memory_and_a_store_is_itself() -> None:
    store = MemoryStore(HEADER)

    assert take_place(None) is None
    assert take_place(store) is store


@pytest.mark.parametrize("where", [5, [], {}, object(), MemoryStore])
def test_a_session_is_opened_from_nothing_else(where: object) -> None:
    assert "from a path, from None or from a Store" in refused(take_place, where)


class Wrapping:
    """A host's way to a store with one thing of its own."""

    def __init__(self, store: Store, *without: str) -> None:
        self._store, self._without = store, without

    def __getattr__(self, name: str) -> object:
        if name in self._without:
            raise AttributeError(name)
        return getattr(self._store, name)


def test_a_store_is_told_by_all_of_its_port_however_it_comes_by_it() -> None:
    wrapping: object = Wrapping(MemoryStore(HEADER))

    assert take_place(wrapping) is wrapping
    for name in (
        *("append", "close", "commit", "damage", "discard", "header", "line"),
        *("read_only", "refresh", "restore", "stage", "sync", "tree", "where"),
    ):
        assert "or from a Store" in refused(take_place, Wrapping(MemoryStore(HEADER), name)), name


@pytest.mark.parametrize("read_only", ["no", None, 0, []])
def test_whether_it_is_only_read_is_said_by_a_bool(read_only: object) -> None:
    assert (take_flag(True, "read_only"), take_flag(False, "read_only")) == (True, False)
    assert "read_only is True or False" in refused(take_flag, read_only, "read_only")


@pytest.mark.parametrize("model", ["x", None, Model, {"provider": "x", "id": "y"}])
def test_what_is_no_model_is_refused(model: object) -> None:
    assert take_model(MODEL) is MODEL
    assert "a model is a sapwood.Model(" in refused(take_model, model)


def test_providers_are_found_by_their_names() -> None:
    one, two = Scripted(provider_id="one"), Scripted(provider_id="two")

    assert take_providers(iter([one, two])) == {"one": one, "two": two}


@pytest.mark.parametrize(
    ("providers", "words"),
    [
        (5, "a list of providers"),
        (None, "a list of providers"),
        ("scripted", "a list of providers"),
        ({"scripted": Scripted()}, "a list of providers"),
        (Scripted(), "a list of providers"),
        ([5], "an object with an id and a stream"),
        ([Scripted], "an object with an id and a stream"),
        ([Nameless()], "the id of a provider is text, not 5"),
        ([Scripted(), Scripted()], "two providers are called 'scripted'"),
    ],
)
def test_what_is_no_provider_is_refused(providers: object, words: str) -> None:
    assert words in refused(take_providers, providers)


def test_an_environment_is_the_hosts_or_the_real_one() -> None:
    mine = Environment()

    assert take_environment(mine) is mine
    assert isinstance(take_environment(None), Environment)
    assert "an environment is a sapwood.Environment" in refused(take_environment, "x")


def test_a_tap_has_both_of_its_points() -> None:
    tap = Tapping()

    assert (take_tap(tap), take_tap(None)) == (tap, None)
    assert "a tap is an object with" in refused(take_tap, Tapping().receipt)


def test_a_session_id_is_text() -> None:
    assert (take_session_id("mine"), take_session_id(None)) == ("mine", None)
    assert "a session id is text" in refused(take_session_id, 5)


@pytest.mark.parametrize("event", ["x", None, AgentStart, {"type": "agent_start"}])
def test_an_event_is_one_of_the_vocabulary(event: object) -> None:
    assert take_event(AgentStart()) == AgentStart()
    assert "an event is one of those in sapwood.events.runtime" in refused(take_event, event)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (math.nan, "nan"),
        ([1, {"a": (math.inf,)}], "inf"),
        ({"a": {1: 2}}, "the key 1"),
        ({None: 1}, "the key None"),
        ({"a": b"bytes"}, "b'bytes'"),
        ({"a": [bytearray(b"x")]}, "bytearray(b'x')"),
    ],
)
def test_what_would_be_kept_as_something_else_is_no_json(value: object, what: str) -> None:
    """It used to be kept as null, as text, as base64: another thing than was given."""
    assert refused(take_json, value) == f"what is kept in the log is JSON, and {what} is none"


def test_json_is_kept_as_a_copy() -> None:
    value: dict[str, Json] = {"a": [1, None, "x", 1.5, True, {}]}
    copy = take_json(value)
    assert copy == value
    assert copy["a"] is not value["a"]


@pytest.mark.parametrize("since", ["1", 1.0, True])
def test_a_reader_begins_behind_a_number(since: object) -> None:
    assert (take_since(None), take_since(3)) == (None, 3)
    assert "the number of an event" in refused(take_since, since)


def taken(text: object, images: object = ()) -> Any:
    return take_input(text, images, entry_id=EntryId("u1"), now_ms=MS)


def test_an_input_is_a_text_images_or_both() -> None:
    assert taken("hi").text == "hi"
    assert taken("hi", [IMAGE]).images == (IMAGE,)
    assert (taken("", iter([IMAGE])).text, taken("", [IMAGE]).images) == ("", (IMAGE,))
    assert taken(" so \ud83d it goes ").text == " so \ufffd it goes "  # S12


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_an_input_with_nothing_in_it_is_refused(text: str) -> None:
    assert "there is neither in this one" in refused(taken, text)  # P5: it would not be sent


@pytest.mark.parametrize("text", [5, None, b"hi", ["hi"]])
def test_a_text_is_text(text: object) -> None:
    assert "its text is a str" in refused(taken, text)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (5, "a list of ImageContent"),
        (None, "a list of ImageContent"),
        ("aGk=", "a list of ImageContent"),
        (IMAGE, "a list of ImageContent"),
        ([5], "an image is an ImageContent"),
        ([{"type": "image", "data": "aGk=", "mimeType": "image/png"}], "an image is an ImageContent"),
        ([UNTYPED(data=None, mime_type="image/png")], "data of an image is text"),
        ([UNTYPED(data=b"aGk=", mime_type="image/png")], "data of an image is text"),
        ([UNTYPED(data="\ud800", mime_type="image/png")], "data of an image is text"),
        ([UNTYPED(data="aGk=", mime_type="\ud800")], "mime_type of an image is text"),
    ],
)
def test_an_image_is_an_image_that_can_be_written(images: object, words: str) -> None:
    assert words in refused(take_images, images)
    assert words in refused(taken, "hi", images)


def test_a_long_value_is_shown_by_its_beginning() -> None:
    assert len(refused(take_path, ["x" * 1000])) < 200


def test_a_system_prompt_is_one_its_preamble_or_none() -> None:
    prompt = SystemPrompt(cwd=True)

    assert take_system_prompt(prompt) is prompt
    assert take_system_prompt("You help.") == SystemPrompt(preamble="You help.")
    assert take_system_prompt(None) is None
    for other in (5, b"You help.", SystemPrompt, {"preamble": "You help."}):
        assert refused(take_system_prompt, other).startswith("a system prompt is text or a sapwood.SystemPrompt, not ")


def test_state_that_is_too_long_is_refused_with_what_to_do() -> None:
    """An extension that kept its whole state at each tick made a session of gigabytes, and nobody said a word."""
    assert take_json("x" * (MOST_BYTES - 2)) is not None

    told = refused(take_json, ["x" * MOST_BYTES])

    assert told == (
        "what is kept in the log has at most 1,048,576 bytes, and this has 1,048,580: keep it in a file, and the path in the log"
    )
