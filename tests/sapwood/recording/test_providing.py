"""A provider with the line before it: what it asks is on the tape, and is asked again; no key is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import trio

from sapwood.actors.model.providers.base import Around, Finish, Piece, Request, Watched
from sapwood.events.base import Json
from sapwood.recording.providing import lined_provider
from sapwood.recording.recorder import Recorder
from sapwood.recording.replaying import Replayer
from sapwood.recording.tape import Thing
from sapwood.store.disk import RealDisk
from tests.build import MODEL

REQUEST = Request(model=MODEL, purpose="turn", messages=())


class Bare:
    """Only streams."""

    id = "bare"

    def __init__(self) -> None:
        self.closed = 0

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        yield self._pieces()

    async def _pieces(self) -> AsyncGenerator[Piece]:
        try:
            yield Finish(stop_reason="stop")
            await trio.sleep_forever()
        finally:
            self.closed += 1


class Asking(Bare):
    """Asks and tells all there is."""

    @asynccontextmanager
    async def stream_around(self, request: Request, around: Around) -> AsyncGenerator[AsyncIterator[Piece]]:
        await around.headers({"authorization": "a-key", "accept": "*/*"})
        await around.payload({"model": request.model.id})
        around.answered(200, {"server": "one"})
        around.heard({"n": 1})
        yield self._pieces()


class Asked:
    """Writes down what it is asked and told. `Around`."""

    wants_payload = True
    wants_events = True

    def __init__(self) -> None:
        self.all: list[object] = []

    async def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        self.all.append([*headers])
        return dict(headers)

    async def payload(self, payload: Json) -> Json:
        self.all.append(payload)
        return payload

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self.all.append((status, dict(headers)))

    def heard(self, data: Json) -> None:
        self.all.append(data)


ALL = [["authorization", "accept"], {"model": MODEL.id}, (200, {"server": "one"}), {"n": 1}]


async def test_what_is_asked_around_a_request_is_on_the_tape_without_a_key_and_is_asked_again(tmp_path: Path) -> None:
    recorder, inner, asked = Recorder(RealDisk(), str(tmp_path / "r")), Asking(), Asked()
    lined = lined_provider(recorder, inner)
    assert isinstance(lined, Watched)
    async with lined.stream_around(REQUEST, asked) as pieces:
        assert isinstance(await anext(pieces), Finish)
    recorder.close()

    assert asked.all == ALL
    assert inner.closed == 1, "what it has not said is nobody's"
    tape = (tmp_path / "r").read_text()
    assert "a-key" not in tape

    things = [msgspec.json.decode(line, type=Thing) for line in tape.splitlines()[:-1]]
    replayer, again = Replayer(things, whole=True), Asked()
    for item in replayer._items:
        item.granted.set()
    played = lined_provider(replayer, Asking())
    assert isinstance(played, Watched)
    async with played.stream_around(REQUEST, again) as pieces:
        for thing in things:
            if thing.kind == "told":
                replayer._tellers[thing.key](thing.value)
        assert isinstance(await anext(pieces), Finish)
    assert again.all == ALL


def test_a_provider_that_extensions_have_no_part_in_gets_none(tmp_path: Path) -> None:
    recorder = Recorder(RealDisk(), str(tmp_path / "r"))

    assert not isinstance(lined_provider(recorder, Bare()), Watched)
    recorder.close()
