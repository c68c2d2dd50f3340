"""Owns the handlers of a session's extensions while they are asked.

Asked: any question of `sapwood.events.hooks`; the reply is the one answer that its handlers' answers come to, or None. Announces
`extension_error` for each handler that failed, and `diagnostic` where an answer was overridden unseen. Its operations ask `handlers`, the
actor beside it (`handling`): each call of a handler is an operation of that one, so that one which does not heed its cancellation is left
behind and holds nobody up. What a host hands in is in `extension`, what may be answered in `answers`, how answers come to one in `merging`.
Whoever asks looks at `Registered.has` first: what nobody is to be asked costs nothing then.
"""
