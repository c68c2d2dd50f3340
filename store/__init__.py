"""Where entries are kept: one session's log, its tree, its files. Imports the vocabulary and nothing else of ours.

`port` is what a store is; `jsonl` and `memory` are the two there are, both held to `testing.check_store`. `tree`, `scan` and `upcast` are
pure; `disk` is the few system calls, as a port.
"""
