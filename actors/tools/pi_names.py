"""Arguments as Pi's tools of the same names take them, put into ours. No I/O, and total: what fits nothing stays as it is.

A session of Pi that is gone on with has shown its model Pi's names, and the model goes on with what it has seen.
"""

from __future__ import annotations

from typing import Final

from sapwood.events.base import Json, is_array, is_object

_NAMES: Final = {"oldText": "old_text", "newText": "new_text"}


def edit_as_ours(given: dict[str, Json]) -> dict[str, Json]:
    """`oldText` and `newText` for `old_text` and `new_text`: in each of the edits, or, as an older Pi has them, beside the path."""
    if "edits" not in given and _NAMES.keys() <= given.keys():
        rest = {key: value for key, value in given.items() if key not in _NAMES}
        return {**rest, "edits": [{ours: given[theirs] for theirs, ours in _NAMES.items()}]}
    edits = given.get("edits")
    return {**given, "edits": [*map(_renamed, edits)]} if is_array(edits) else given


def _renamed(edit: Json) -> Json:
    if not is_object(edit):
        return edit
    return {key if _NAMES.get(key, key) in edit else _NAMES.get(key, key): value for key, value in edit.items()}
