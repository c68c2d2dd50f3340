"""Recordings: all that came into a live session, in its order, and what it did with that; and playing them again (Z3).

`recorder` writes one, `replaying` plays one, and both stand at the same places of a session, where `wrapping` puts them. `tape` is what
a file of a recording says.
"""
