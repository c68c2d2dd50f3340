"""How JSON looks to who looks at bytes: patterns for a line that cannot be read whole. No I/O."""

from __future__ import annotations

import re
from typing import Final

B: Final = rb"[ \t\r]*+"
"""Blanks, if there are any."""
TEXT: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
COLON: Final = B + rb":" + B
RECORD: Final = rb"\{" + B + rb'"(?:type|id|parentId|timestamp)"' + B + rb":"
"""How a record begins, and many a nested object. No text can hold these bytes: its quotes are escaped."""

OBJECT: Final = re.compile(B + rb"\{")
FIELD: Final = re.compile(B + rb"(" + TEXT + rb")" + COLON + rb"(" + TEXT + rb"|[-+.\w]++)" + B + rb",?")
"""A field whose value is a text, a number or a word, with the comma behind it."""
BRACKET: Final = re.compile(TEXT + rb"?|((?=" + RECORD + rb")\{)|[\[{]|[\]}]" + B)
"""A text, the start of a record, another opening, or a closing with the blanks behind it."""
