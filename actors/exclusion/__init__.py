"""Owns who may change the tree: nobody, a run, a compaction or a navigation.

Asked: `Acquire`, granted or refused with the words of the table. Announces nothing; asks nobody. The lease is given back by a plain call
with the key that it was asked for with, so that it comes back however the operation ends, even one that never learned that it had it.
"""
