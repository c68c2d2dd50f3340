"""Moves the leaf to another entry, and leaves behind a summary of the branch that was left, if one is asked for (N).

Its settings are its own: what a compaction goes by, for a model or for all, changes nothing here (C2).
"""
