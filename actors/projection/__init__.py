"""Owns the fold of the active branch: what the model sees, and how full its window is.

Asked: `Select` (what the model is sent, uncounted), `Project` (the selection by entry, counted) and `Measure` (how full the context is);
told `PrepareCounting`. What nobody has counted yet is counted before a count is answered, and what is large as it comes, beside
everything else. Announces a `diagnostic` for what it could not follow, and for a counter that
is not to be had. Hears `entry_appended`, a hint to pull from the log; it asks nobody and never raises for what a log holds.
"""
