"""Owns the inputs that were accepted, and their handles until each has its one outcome (R3).

Asked: `Accept` and `Resolve`. Hears `turn_end`, `agent_end` and `agent_settled`, and resolves handles by them. Announces nothing, asks
nobody, and runs no foreign code. What it cannot know from the news it takes from the log: whether an input was delivered is
whether its entry is there.
"""

from sapwood.actors.inbox.shelf import Handle, Shelf

__all__ = ["Handle", "Shelf"]
