"""A fork, from what a host names to what is to be written (S15)."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

import attrs

from sapwood.actors.environment import Environment
from sapwood.events.commands import Forked
from sapwood.events.errors import CannotWrite, Refused
from sapwood.events.ids import EntryId, new_entry_id
from sapwood.opening import new_header, open_store
from sapwood.store.copying import Copy, Extent, Lines, as_text, copy_of_path, copy_of_tree, header_of
from sapwood.store.fork import place_to_fork, steps
from sapwood.store.memory import WHERE
from sapwood.store.naming import file_name
from sapwood.store.new_file import NewFile
from sapwood.taking import take_flag, take_folder, take_path, take_text


@attrs.frozen(kw_only=True)
class ForkWanted:
    """What a host wants forked."""

    entry_id: EntryId | None
    extent: Extent
    to: str | None
    cwd: str | None


@attrs.frozen(kw_only=True)
class ForkPlan:
    """A fork of which nothing is written yet."""

    copy: Copy
    file: NewFile
    outcome: Forked

    @contextmanager
    def writing(self) -> Generator[None]:
        """What the disk says of the new file, as `CannotWrite`."""
        try:
            yield
        except OSError as error:
            raise CannotWrite(self.outcome.path, error) from error
        except ValueError as error:  # a NUL in the path, or what the file system's encoding has not
            raise CannotWrite(self.outcome.path, OSError(errno.EINVAL, str(error))) from error


def wanted(entry_id: object, whole_tree: object, to: object, cwd: object) -> ForkWanted:
    """What a host asked for, checked. `Refused` for what is none."""
    return ForkWanted(
        entry_id=None if entry_id is None else EntryId(take_text(entry_id, "the entry to fork at")),
        extent="tree" if take_flag(whole_tree, "whole_tree") else "path",
        to=None if to is None else take_path(to, "where a fork goes"),
        cwd=take_folder(cwd),
    )


def planned(source: Lines, parent: str, want: ForkWanted, environment: Environment) -> ForkPlan:
    """What is to be written. `parent` is where the session is, from the root of the file system, or `:memory:`.

    Raises what `place_to_fork` does, and `Refused` where nobody says where a fork of a session without a file goes.
    """
    place = place_to_fork(source, want.entry_id, want.extent, parent)
    path = None if parent == WHERE else as_text(parent)
    cwd = source.header.cwd if want.cwd is None else want.cwd
    header = header_of(source.header, new_header(environment, cwd=cwd), path)
    marker_id = new_entry_id(environment.random, source.tree.ids)
    whole = want.extent == "tree"
    copy = (
        copy_of_tree(source, header, marker_id, path) if whole else copy_of_path(source, place, header, marker_id, path)
    )
    target = _target(want.to, parent, file_name(header))
    outcome = Forked(path=target, session_id=header.id, entries=copy.entries)
    return ForkPlan(copy=copy, file=NewFile(environment.disk, target), outcome=outcome)


def _target(to: str | None, parent: str, name: str) -> str:
    """The path of the new file: as given, in the folder that was given (it may end with a slash), or beside the parent."""
    if to is None:
        if parent == WHERE:
            raise Refused("bad-input", "this session has no file to put a fork beside: say where it goes with to=…")
        return os.path.join(os.path.dirname(parent), name)  # noqa: PTH118, PTH120 - paths are plain text
    if to.endswith(os.sep) or os.path.isdir(to):  # noqa: PTH112 - as above
        return os.path.join(to, name)  # noqa: PTH118 - as above
    return to


def rooted(path: str, folder: str | None = None) -> str:
    """A path from the root of the file system; a relative one is taken from `folder`, or from the present one."""
    if path == WHERE or os.path.isabs(path):  # noqa: PTH117 - as above
        return path
    return os.path.join(os.getcwd() if folder is None else folder, path)  # noqa: PTH109, PTH118 - as above


def fork(
    path: str | os.PathLike[str],
    entry_id: EntryId | None = None,
    *,
    whole_tree: bool = False,
    to: str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    environment: Environment | None = None,
) -> Forked:
    """Copy a session file to a new session, without trio; the file is only read, and somebody may be writing it.

    The arguments are those of `Session.fork`, and so is what it raises; `NotASession` and `CannotOpen` besides, for a file that is none or
    is not there.
    """
    want = wanted(entry_id, whole_tree, to, cwd)
    world = Environment() if environment is None else environment
    name = take_path(path)
    store = open_store(name, world, read_only=True)
    try:
        plan = planned(store, rooted(name), want, world)
        with plan.writing():
            try:
                for step in steps(plan.copy, plan.file):
                    step()
            finally:
                plan.file.end()
    finally:
        store.close()
    return plan.outcome
