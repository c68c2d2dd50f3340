"""Owns the session's front desk and the run. Every command of a host enters here and is put in order here.

Asked: `Prompt` (runs it; the reply comes when all has settled) and `Abort`. Announces the run: `agent_start`, `turn_start`, `message_*`,
`turn_end`, `agent_end`, `agent_settled`. Its operations ask exclusion, inbox, session_log, projection and model. What to do next is decided
in `run`, a pure reducer; what the system prompt is to be, in `prepare`, from what `sections` asked.
"""
