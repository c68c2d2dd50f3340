"""What compaction and navigation share: no actor, a pure library.

A stretch of the log as text, the requests for its summary, and what comes of them. It begins with `flatten`, and `job` is the reducer.
"""
