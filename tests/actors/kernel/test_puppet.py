from __future__ import annotations

import pytest

from sapwood.actors.kernel import Reply
from tests.actors.kernel.puppet import Do, Note, Notes, Puppet, crash


def test_a_puppet_does_what_it_is_told_and_notes_the_rest() -> None:
    puppet = Puppet()
    assert puppet.handle(Do(lambda: Reply(1))) == Reply(1)
    assert puppet.handle(Note("a")) is None
    assert puppet.handle("b") is None
    assert puppet.handle(Notes()) == Reply(["a", "b"])
    with pytest.raises(ValueError, match="poison"):
        puppet.handle(crash())
