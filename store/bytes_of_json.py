"""How JSON looks to who looks at bytes, and may not read them whole: patterns for a line that is no entry as it stands. No I/O."""

from __future__ import annotations

import re
from typing import Final

B: Final = rb"[ \t\r]*+"
TEXT: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
GROUP: Final = rb"(" + TEXT + rb")"
OR_NULL: Final = rb"(" + TEXT + rb"|null)"
COLON: Final = B + rb":" + B
RECORD: Final = rb"\{" + B + rb'"(?:type|id|parentId|timestamp)"' + B + rb":"
bracket: Final = re.compile(TEXT + rb"?|((?=" + RECORD + rb")\{)|[\[{]|[\]}]" + B)
"""A text, the start of a record, another opening, or a closing with the blanks behind it."""
field: Final = re.compile(B + GROUP + COLON + rb"(" + TEXT + rb"|[-+.\w]++)" + B + rb",?")
opened: Final = re.compile(B + rb"\{")
