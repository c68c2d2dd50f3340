"""From settings files to `Settings` (C2). Reads the files that it is given, and nothing else (E3); writes nothing.

1. A file is JSON or TOML, by the end of its name. Pi's `settings.json` is one.
2. Each is checked whole and by itself, before any is merged: what is wrong is told with its file, whether or not another file hides it.
3. A file that is not there is an error: whoever names one wants it to be read.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from functools import reduce
from typing import Any, Final, cast

from sapwood.events.file_errors import BadSettings
from sapwood.settings import Settings
from sapwood.settings_keys import faults_in, merged, settings_of, taken
from sapwood.store.disk import RealDisk
from sapwood.taking import take_path
from sapwood.words.paths import missing
from sapwood.words.wording import one_line

MOST_BYTES: Final = 2**20
"""Of one file: a thousand times what people write. What is larger was named by mistake, and would only be slow to be refused."""

TOO_LONG: Final = "a number has more digits than can be read"
_BOM: Final = b"\xef\xbb\xbf"
_AT: Final = re.compile(r" \(at line (\d+), column (\d+)\)$")
"""How tomllib ends its sentence, before Python 3.14 gave it attributes."""


def load_settings(*paths: str | os.PathLike[str]) -> Settings:
    """The settings that these files say together, later ones over earlier ones; without any, the defaults.

    They are JSON (`.json`) or TOML (`.toml`), with Pi's names. Raises `BadSettings`, with file and key, for the first file that
    cannot be read, is not one of these, or says what is no setting; `Refused` for what is no path.
    """
    files = [_taken(take_path(path, "a settings file")) for path in paths]
    nothing: dict[str, object] = {}
    return settings_of(reduce(merged, files, nothing))


def _taken(path: str) -> dict[str, object]:
    value = _parsed(path)
    for fault in faults_in(value):
        raise BadSettings(path, fault.message, key=fault.key or None)
    return taken(cast("Mapping[str, object]", value))


def _parsed(path: str) -> object:
    match os.path.splitext(path)[1].lower():  # noqa: PTH122 - the path may be any text
        case ".json":
            return _json(path, _text(path))
        case ".toml":
            return _toml(path, _text(path))
        case _:
            raise BadSettings(path, "a settings file is JSON or TOML: its name must end in .json or .toml")


def _text(path: str) -> str:
    why = missing(path)
    if why is not None:
        raise BadSettings(path, f"cannot be read: {why}")
    data = _bytes(path)
    if len(data) > MOST_BYTES:
        raise BadSettings(path, f"has more than {MOST_BYTES:,} bytes: these are no settings")
    if data.startswith(_BOM):
        raise BadSettings(path, "begins with a byte order mark: save it as UTF-8 without one", line=1, column=1)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadSettings(path, "this is not UTF-8 text", line=data.count(b"\n", 0, error.start) + 1) from error


def _bytes(path: str) -> bytes:
    """The file's content, or of what is too long one byte more than it may have. Never waits for a pipe."""
    disk = RealDisk()
    try:
        descriptor = disk.open_read(path)
        try:
            return disk.read(descriptor, 0, MOST_BYTES + 1)
        finally:
            disk.close(descriptor)
    except OSError as error:
        raise BadSettings(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from error


def _json(path: str, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number, parse_int=_integer)
    except json.JSONDecodeError as error:
        words = f"this is not JSON: {one_line(error.msg)}"
        raise BadSettings(path, words, line=error.lineno, column=error.colno) from error
    except ValueError as error:
        raise BadSettings(path, f"this is not JSON: {one_line(str(error))}") from error
    except RecursionError as error:
        raise BadSettings(path, "it is nested too deeply") from error


def _no_number(word: str) -> object:
    raise ValueError(f"it has no {word}")


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # its own words advise on Python's settings
        raise ValueError(TOO_LONG) from None


def _toml(path: str, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        words = f"this is not TOML: {one_line(_AT.sub('', str(error)))}"
        line, column = (None, None) if at is None else (int(at[1]), int(at[2]))
        raise BadSettings(path, words, line=line, column=column) from error
    except ValueError as error:
        raise BadSettings(path, f"this is not TOML: {TOO_LONG}") from error
    except RecursionError as error:
        raise BadSettings(path, "it is nested too deeply") from error
