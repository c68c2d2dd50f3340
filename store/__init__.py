"""Where entries are kept: the log, its tree, its files. Imports events and nothing else of ours.

`port` is what every store promises and `testing.check_store` holds it to; `jsonl` keeps a session in a file, `memory` keeps it nowhere
else. `tree`, `scan`, `admitting` and `upcast` are pure; `disk` is the few system calls, `growing` the one file they are made on.
"""
