"""Owns who may change the tree: nobody, a run, a compaction or a navigation.

Asked: `Acquire`, answered with a lease or refused with the words of the table. Announces nothing; asks nobody. A lease is returned by a
plain call, so that it comes back however the operation that holds it ends.
"""
