"""The wires: one file each. `base` is the port that a host's own provider implements."""
