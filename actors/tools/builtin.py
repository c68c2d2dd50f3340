"""The tools that are ready for whoever wants them. No session has them unless it asks."""

from __future__ import annotations

import attrs

from sapwood.actors.tools.bash import run_bash
from sapwood.actors.tools.editing import edit_file
from sapwood.actors.tools.pi_names import edit_as_ours
from sapwood.actors.tools.reading import read_file
from sapwood.actors.tools.tool import Tool
from sapwood.actors.tools.writing import write_file


def builtin_tools() -> tuple[Tool, ...]:
    """`read`, `write`, `edit` and `bash`: files and commands of this machine, with the rights of the user that runs this."""
    return (read_file, write_file, attrs.evolve(edit_file, adapted=edit_as_ours), run_bash)
