"""M1: a key is in nothing that a failing run leaves, whichever wire bears it, in whatever header, and wherever its server repeats it."""

from __future__ import annotations

import io
import logging
import traceback
from collections.abc import Callable, MutableMapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio

from sapwood import Extension, ExtensionContext, Model, Published, RetryPolicy, Runtime, Settings
from sapwood.actors.model.credentials import KeySource
from sapwood.events.hooks import AfterProviderResponse, BeforeProviderHeaders, ChangeHeaders, ProviderStreamEvent
from tests.serving import Play, serving, streamed, whole
from tests.tracing import Traced
from tests.wires import KEY, WIRES, Recorded, sse

SAID = f'{{"error": {{"message": "bad key {KEY}", "code": "{KEY}", "type": "{KEY}"}}}}'.encode()
JSON = "application/json"


async def refused(_: trio.SocketStream) -> None:
    raise EOFError


FAILURES: dict[str, Callable[[Recorded], Play]] = {
    "a refusal": lambda _: whole(SAID, "401 Unauthorized", kind=JSON),
    "an error that passes": lambda _: whole(SAID, f"503 {KEY}", f"x-key: {KEY}", kind=JSON),
    "a redirect": lambda _: whole(b"", "302 Found", f"location: https://{KEY}.test/?key={KEY}"),
    "a page": lambda _: whole(f"<title>{KEY}</title>".encode(), "502 Bad Gateway", kind="text/html"),
    "an event that is none": lambda _: whole(sse(f"{{oops {KEY}")),
    "an error in the answer": lambda recorded: streamed(
        [recorded.stream[:60], b"\n\n", sse({"error": KEY, "type": "error"})]
    ),
    "a key in the headers' place": lambda _: whole(KEY.encode(), kind=KEY),
    "no answer": lambda _: refused,
}

IN_HEADERS = {"an error that passes", "a redirect", "a key in the headers' place"}
"""What httpx and httpcore log of a server's headers, where a host turns that on, is theirs: of ours they log no headers at all."""


async def brought() -> str:
    await trio.lowlevel.checkpoint()
    return KEY


def broken() -> str:
    raise ValueError(f"the vault has {KEY}, and is broken")


def hearing(left: list[str]) -> Extension:
    """One that keeps what it is told of answers."""
    extension = Extension("hearing")

    @extension.on(ProviderStreamEvent)
    def heard(told: ProviderStreamEvent, _: ExtensionContext) -> None:
        left.append(repr(told))

    @extension.on(AfterProviderResponse)
    def answered(told: AfterProviderResponse, _: ExtensionContext) -> None:
        left.append(repr(told))

    return extension


def bearing(name: str, value: str) -> Extension:
    """An extension that puts the key into a header."""
    extension = Extension("gateway")

    @extension.on(BeforeProviderHeaders)
    def change(_: BeforeProviderHeaders, __: ExtensionContext) -> ChangeHeaders:
        return ChangeHeaders(headers={name: value})

    return extension


HEADERS = ("authorization", f"Bearer {KEY}"), ("x-gateway-token", KEY), ("cookie", f"theme=dark; login={KEY}")
BORNE = [
    *product(["the key"], [*FAILURES, "a key that cannot be sent", "a vault that breaks"]),
    *product(["a header"], FAILURES),
    *product(["an extension's header"], ["a refusal", "an error in the answer"]),
]


@pytest.mark.parametrize(("borne", "failure"), BORNE)
@pytest.mark.parametrize("wire", WIRES)
async def test_m1_a_failing_run_leaves_the_key_nowhere(
    wire: str, borne: str, failure: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recorded, left, logged = WIRES[wire], list[str](), io.StringIO()
    keys: dict[str, str | KeySource] = {"a key that cannot be sent": f"{KEY}\n", "a vault that breaks": broken}
    key = keys.get(failure, brought) if borne == "the key" else None
    header = dict([HEADERS[len(failure) % 3]])
    extensions = [bearing(*pair) for pair in header.items()] if borne == "an extension's header" else []
    traced = Traced()

    def keep(_: object, __: str, event: MutableMapping[str, Any]) -> str:
        trouble = event.get("exc_info")
        left.append(repr(event))
        if isinstance(trouble, BaseException):
            left.extend(traceback.format_exception(trouble))
        return ""

    handler = logging.StreamHandler(logged)
    handler.addFilter(lambda one: failure not in IN_HEADERS or not one.name.startswith("http"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    structlog.configure(processors=[keep])
    try:
        async with serving(FAILURES.get(failure, FAILURES["a refusal"])(recorded)) as served:
            provider = recorded.provider(
                key=key, base_url=served.url, provider_id="p", headers=header if borne == "a header" else {}
            )
            async with (
                Runtime(providers=[provider], counter="heuristic", tracer=traced.tracer) as runtime,
                runtime.open_session(
                    tmp_path / "a.jsonl",
                    model=Model(provider="p", id="m"),
                    settings=Settings(retry=RetryPolicy(max_retries=1, base_delay_ms=1)),
                    extensions=[*extensions, hearing(left)],
                    record=tmp_path / "recording",
                ) as session,
            ):
                events = session.events()
                outcome = await session.prompt("x")
                assert outcome.failed
                left.append(
                    repr((session, session.entries(), session.state, runtime, vars(runtime), provider, outcome))
                )
                left.append(repr(session.stats()))
                await session.close()
                left += [repr(item.event) async for item in events if isinstance(item, Published)]
            if failure in FAILURES:
                assert KEY.encode() in served.requests[0]
    finally:
        structlog.reset_defaults()
        root.removeHandler(handler)
        root.setLevel(level)

    assert {span.name for span in traced.spans} == {"chat m", "invoke_agent"}
    assert (tmp_path / "recording").stat().st_size
    left += [span.to_json() for span in traced.spans]
    left += [logged.getvalue(), *(file.read_text() for file in tmp_path.iterdir()), *capfd.readouterr()]
    assert KEY not in "".join(left)
    assert left[-3].strip()  # the session's file was looked at
