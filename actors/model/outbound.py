"""A request's body, as it goes out. It is imported where a request is made: httpx comes along."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import httpx

LUMP: Final = 64 * 1024
"""Bytes that go at once."""


class Outbound(httpx.AsyncByteStream):
    """These bytes. It iterates by itself: the library's own way is a generator, and a cancelled request leaves that to the collector."""

    def __init__(self, body: bytes) -> None:
        self._body = memoryview(body)
        self._at = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._at = 0
        return self

    async def __anext__(self) -> bytes:
        if self._at >= len(self._body):
            raise StopAsyncIteration
        lump = bytes(self._body[self._at : self._at + LUMP])
        self._at += LUMP
        return lump


def posted(url: str, headers: dict[str, str], body: bytes) -> httpx.Request:
    """The request. Raises `httpx.InvalidURL`."""
    address = httpx.URL(url)
    told = {"host": address.netloc.decode("ascii"), "content-length": str(len(body)), **headers}
    return httpx.Request("POST", address, headers=told, stream=Outbound(body))
