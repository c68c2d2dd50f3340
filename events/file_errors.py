"""What is wrong with a file that a person wrote for a session: its settings, an extension. No I/O."""

from __future__ import annotations

from sapwood.events.errors import Refused, SapwoodError


class CannotLoadExtension(SapwoodError):
    """An extension cannot be had from where it is to be: its file or its package is at fault. Nothing was registered."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"the extension {where} cannot be loaded: {why}")
        self.where = where
        """The file, or the entry point."""
        self.why = why


class BadSettings(Refused):
    """A settings file that cannot be read, or what it says is no setting (C2). Nothing of it is in effect, nor of the others beside it."""

    def __init__(
        self, path: str, message: str, *, key: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        where = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__("bad-input", f"{where}: {message}")
        self.path = path
        self.message = message
        """The sentence behind the place; Pi's own, where Pi has one."""
        self.key = key
        """As `compaction.reserveTokens`; None where it is the file that is wrong."""
        self.line = line
        """From 1, where the text is wrong and not a value; `column` too, in characters."""
        self.column = column
