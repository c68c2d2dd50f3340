"""Owns the session's front desk and the run. Every command of a host enters here and is put in order here.

Asked: `Prompt` (runs it; the reply comes when all has settled), `Steer` and `FollowUp` (the reply comes when it waits in a queue), `Abort`,
and what is set and marked: `SetModel`, `SetThinkingLevel`, `SetTools`, `Edit`, `SetLabel`, `AppendCustom`. Announces the run (`agent_*`,
`turn_*`, `message_*`, `queue_update`, `auto_retry_*`, `diagnostic`) and what was set (`model_changed`, `thinking_level_changed`). Its
operations ask exclusion, inbox, session_log, projection, model and tools. What to do next is decided in `run`, a pure reducer; what the
system prompt is to be, in `prepare`, from what `sections` asked; what a host sets is done in `setting`.
"""
