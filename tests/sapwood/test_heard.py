"""Nobody hears a session that is not recorded."""

from __future__ import annotations

import trio

from sapwood.heard import Heard, Unheard


async def given(number: int) -> int:
    return number


async def test_who_is_not_recorded_waits_for_nobody_and_has_no_number() -> None:
    heard: Heard = Unheard()

    await heard.rest()
    with heard.hosting():
        assert heard.host("a prompt") == 0
    assert heard.lent("a label") == 0
    assert await heard.doing("a compaction", lambda: given(5)) == 5
    assert heard.beside("work 1", trio.sleep_forever) is trio.sleep_forever
