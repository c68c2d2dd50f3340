"""A body goes out whole, and whoever stops it leaves nothing behind."""

from __future__ import annotations

from sapwood.actors.model.outbound import LUMP, Outbound, posted


async def test_a_body_goes_in_lumps_and_can_be_sent_again() -> None:
    body = Outbound(b"x" * (LUMP + 1))

    for _ in range(2):
        assert [len(lump) async for lump in body] == [LUMP, 1]
    assert [lump async for lump in Outbound(b"")] == []


async def test_a_request_says_where_it_goes_and_how_long_it_is() -> None:
    request = posted("http://example.test:8080/v1?alt=sse", {"x-a": "b"}, b"12345")

    assert (request.method, str(request.url)) == ("POST", "http://example.test:8080/v1?alt=sse")
    assert dict(request.headers) == {"host": "example.test:8080", "content-length": "5", "x-a": "b"}
