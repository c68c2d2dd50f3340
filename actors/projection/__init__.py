"""Owns the fold of the active branch: what the model sees, and how full its window is.

Asked: `Project` (the selection at the leaf) and `Measure` (the usage of a model's window); told `PrepareCounting`. What nobody has counted
yet is counted first, beside everything else where it is much. Announces a `diagnostic` for what it could not follow, and for a counter that
is not to be had. Hears `entry_appended`, a hint to pull from the log; it asks nobody and never raises for what a log holds.
"""
