"""Owns the open store, the leaf and the only append.

Asked: `Append` (checked against the leaf, idempotent, one write). Announces: `entry_appended` for each entry, after it is in the
log; `session_moved` when a version 1 file is left for a version 3 one beside it. What is committed is read through a `View`, which
anybody may hold a cursor on.
"""
