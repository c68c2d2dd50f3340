"""Owns the inputs that were accepted, the queues in which they wait, and their handles until each has its one outcome (R3).

Asked: `Accept`, `Withdraw` and `Resolve`. Hears `message_end`, `turn_end`, `agent_end` and `agent_settled`, and resolves handles by them.
Announces `queue_update`, asks nobody, and runs no foreign code. A run takes the next input by a plain call, so that nothing comes between
its last look and its end. What the inbox cannot know from the news it takes from the log: whether an input was delivered is whether its
entry is there.
"""

from sapwood.actors.inbox.shelf import Handle, Shelf

__all__ = ["Handle", "Shelf"]
