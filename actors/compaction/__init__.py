"""Owns one compaction at a time (C)."""
