"""Who acts: one folder an actor, a pure core beside a thin shell.

`outgoing` is no actor but a pure library: what goes to a provider, whoever asks for it. `environment` is the only way to the
clock, to randomness, to threads, to the disk and to the network.
"""
