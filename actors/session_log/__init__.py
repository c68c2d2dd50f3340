"""Owns the open store, the leaf and the only append.

Asked: `Append` (cleaned, checked against the leaf, idempotent, one write), `Withdraw` (of what waits for a disk that refuses), `Restore`
(of a file that somebody took away). Announces: `entry_appended` for each entry, after it is in the log; `store_degraded` and
`store_recovered`; `damage_found` in what somebody else wrote; `session_moved` when a version 1 file is left for a version 3 one beside it.
What is committed is read through a `View`, which anybody may hold a cursor on.
"""
