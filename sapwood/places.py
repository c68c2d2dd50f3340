"""Where sessions stand on this machine (S14). What is asked here reads the environment and HOME; nothing else does (E3)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import attrs

from sapwood.actors.environment import Environment
from sapwood.events.ids import SessionId
from sapwood.opening import new_header
from sapwood.store.naming import file_name, project_name
from sapwood.taking import take_folder, take_path

SESSIONS: Final = "sessions"
PI_FOLDER: Final = "PI_CODING_AGENT_DIR"
PI_SESSIONS: Final = "PI_CODING_AGENT_SESSION_DIR"
"""Pi's own environment variables."""


def sessions_folder(cwd: str | os.PathLike[str] | None = None) -> str:
    """The folder for sessions in the platform's data folder, or that of one working folder in it, by Pi's rule. It need not be there."""
    from platformdirs import user_data_dir  # noqa: PLC0415 - who names a place needs no default one

    root = os.path.join(user_data_dir("sapwood", appauthor=False), SESSIONS)  # noqa: PTH118 - paths are plain text
    if cwd is None:
        return root
    return os.path.join(root, project_name(os.path.abspath(take_path(cwd, "a working folder"))))  # noqa: PTH100, PTH118 - as above


@attrs.frozen
class NewPlace:
    """Where a new session is to stand: `open_session(place.path, session_id=place.session_id)`."""

    path: str
    session_id: SessionId


def new_place(
    cwd: str | os.PathLike[str] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    environment: Environment | None = None,
) -> NewPlace:
    """A place for a new session of a working folder (the present one if None), under a name by Pi's rule. Nothing is made.

    It stands in `folder`, or else where sessions stand by default.
    """
    header = new_header(Environment() if environment is None else environment, cwd=take_folder(cwd))
    root = sessions_folder(header.cwd) if folder is None else take_path(folder, "a folder of sessions")
    return NewPlace(os.path.join(root, file_name(header)), header.id)  # noqa: PTH118 - as above


def pi_sessions_folder(environ: Mapping[str, str] | None = None) -> str:
    """The folder in which Pi keeps its sessions, by Pi's own variables or else by its default."""
    environ = os.environ if environ is None else environ
    if named := environ.get(PI_SESSIONS):
        return os.path.expanduser(named)  # noqa: PTH111 - as above
    return os.path.join(os.path.expanduser(environ.get(PI_FOLDER) or "~/.pi/agent"), SESSIONS)  # noqa: PTH111, PTH118 - as above
