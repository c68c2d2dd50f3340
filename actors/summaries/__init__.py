"""What compaction and navigation share: no actor, a pure library. A stretch of the log as text, the request for its summary, what comes of it."""
