"""Whoever asks looks first whether anybody is to be asked, and what breaks has said nothing."""

from __future__ import annotations

from sapwood import Extension
from sapwood.actors.asking import Questions
from sapwood.actors.extensions.extension import Registered
from sapwood.actors.kernel import Actor, Reply, Ring, open_system
from sapwood.events.hooks import AnyQuestion, Cancel, SessionBeforeFork, SessionStart

FORK = SessionBeforeFork(entry_id=None, whole_tree=True)


class Answering(Actor[AnyQuestion]):
    """In the place of the extensions."""

    def __init__(self, seen: list[object], *, breaks: bool) -> None:
        self._seen = seen
        self._breaks = breaks

    def handle(self, message: AnyQuestion) -> Reply:
        self._seen.append(message)
        if self._breaks:
            raise ValueError("poison")
        return Reply(Cancel(reason="no"))


async def answered(*, breaks: bool) -> tuple[object, object, list[object]]:
    seen: list[object] = []
    guard = Extension("guard")
    guard.on(SessionBeforeFork)(lambda question, context: None)
    async with open_system("test", ring=Ring(64)) as system:
        extensions = system.spawn("extensions", lambda: Answering(seen, breaks=breaks))
        questions = Questions(has=Registered([guard]).has, extensions=extensions)
        return await questions.ask(FORK), await questions.ask(SessionStart(reason="new")), seen


async def test_who_has_a_handler_is_asked_and_nobody_else() -> None:
    assert await answered(breaks=False) == (Cancel(reason="no"), None, [FORK])


async def test_what_breaks_has_said_nothing() -> None:
    assert await answered(breaks=True) == (None, None, [FORK])
