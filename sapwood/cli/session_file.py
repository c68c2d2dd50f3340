"""The session at a path, or with an id, for reading. What is wrong with the file is one line that says what to do: `Unreadable`."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

from sapwood.cli.finding import looked_in, may_be_id, path_of
from sapwood.cli.progress import said_if_slow
from sapwood.cli.trouble import NoSession, Unreadable
from sapwood.events.context import DEFAULT_COUNTER, CounterName
from sapwood.events.errors import CannotOpen, NotASession, StoreError
from sapwood.reading import ReadSession, read
from sapwood.words.paths import NOT_THERE, missing
from sapwood.words.wording import named


@contextmanager
def session_at(path: str, counter: CounterName = DEFAULT_COUNTER) -> Generator[ReadSession]:
    """The session at a path, or with an id, for reading; whatever is wrong with it is `Unreadable`."""
    path = path_of(path)
    with readable(path):
        with said_if_slow(f"reading {named(path)}"):
            opened = read(path, counter=counter)
        with opened as session:
            yield session


@contextmanager
def readable(path: str) -> Generator[None]:
    """What reads the session at a path stands in it: whatever is wrong with the file is `Unreadable`."""
    try:
        yield
    except NotASession as error:
        raise NoSession(path) from error
    except CannotOpen as error:
        raise Unreadable(_spoken(path, error)) from error
    except StoreError as error:
        raise Unreadable(str(error)) from error


def _spoken(path: str, error: CannotOpen) -> str:
    why, name = missing(path), named(path)
    if not path:
        return "the name of the file is empty: name a .jsonl file"
    if os.path.isdir(path):  # noqa: PTH112 - the path may be any text
        return f"{name} is a folder: name one of the .jsonl files in it"
    if why == NOT_THERE and may_be_id(path):
        folders = " or ".join(map(named, looked_in()))
        return f"{name} is not there, and no session in {folders} has an id that begins so: give its path (sapwood ls FOLDER)"
    if why == NOT_THERE:
        return f"{name} is not there: check the spelling, or give the path from here"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"{name} may not be read: ask its owner, or copy it to where you may (chmod u+r)"
    return f"{name} cannot be read: {why or error}"
