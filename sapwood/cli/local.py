"""`--model local`: the model that comes with the extra `local`, its server started for the talk and stopped behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from sapwood.cli.choosing import Choice, choose
from sapwood.cli.trouble import Trouble
from sapwood.events.errors import SapwoodError
from sapwood.local.engine import WINDOW
from sapwood.local.starting import local_server

LOCAL: Final = "local"
"""The one name of a model without a provider before it."""


@asynccontextmanager
async def chosen(name: str, *, base_url: str | None, key_env: str | None, window: int | None) -> AsyncGenerator[Choice]:
    """Who is asked, for as long as the block lasts. `Trouble` says what to do where that is not to be had."""
    if name != LOCAL:
        yield choose(name, base_url=base_url, key_env=key_env, window=window)
        return
    if base_url is not None or key_env is not None:
        raise Trouble(
            "--model local starts a server of its own, which wants no key: leave --base-url and --key-env out"
        )
    async with AsyncExitStack() as held:
        try:
            server = await held.enter_async_context(local_server(window=WINDOW if window is None else window))
        except SapwoodError as error:
            raise Trouble(str(error)) from error
        yield Choice(server.model, server.provider())
