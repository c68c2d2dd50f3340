"""Owns the model calls that are under way: single attempts, streaming.

Asked: `Generate` (one attempt; the answer is always a message, a failure one whose `stop_reason` says so) and `StopCall` (ends an attempt;
its asker gets what came until then, as aborted). Announces `message_start` and `message_update` while an answer streams. Asks nobody.
`providers/` has one file a wire.
"""
